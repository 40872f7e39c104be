//! What trackers are told, and what they may do.

mod support;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lifetrace::tracker::{Allocation, Release, Source, Tracker, untracked};
use lifetrace::{Alloc, Backtrace, Error, Recording};
use support::workload::{workload_kept, workload_of_all_kinds, workload_short_lived};
use support::{Trace, child, success, turn};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

/// Follows the blocks of one thread, and what becomes of what it remembers.
#[derive(Default)]
struct Book {
    /// Another thread's are passed over.
    thread: u32,
    births: AtomicU64,
    growths: AtomicU64,
    bytes: AtomicU64,
    estimate: Mutex<f64>,
    deaths: AtomicU64,
    longest: AtomicU64,
    metas: Arc<AtomicI64>,
    leaves: Mutex<HashMap<Vec<u64>, (u64, Backtrace)>>,
}

struct Meta(Arc<AtomicI64>, #[expect(dead_code, reason = "metadata of any size")] [u64; 100]);

impl Drop for Meta {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Tracker for Book {
    type Meta = Meta;

    fn alloc(&self, allocation: &Allocation) -> Option<Meta> {
        if self.thread != 0 && self.thread != allocation.thread {
            return None;
        }
        assert_eq!(allocation.source, Source::Heap);
        self.births.fetch_add(u64::from(!allocation.is_growth), Relaxed);
        self.growths.fetch_add(u64::from(allocation.is_growth), Relaxed);
        self.bytes.fetch_add(allocation.size as u64, Relaxed);
        *self.estimate.lock().unwrap() += allocation.stands_for.bytes;
        // Trackers may allocate, and free what they have.
        let mut leaves = self.leaves.lock().unwrap();
        let key = allocation.backtrace.addresses().to_vec();
        let backtrace = &allocation.backtrace;
        leaves.entry(key).or_insert_with(|| (0, backtrace.clone())).0 += 1;
        self.metas.fetch_add(1, Relaxed);
        Some(Meta(Arc::clone(&self.metas), [0; 100]))
    }

    fn free(&self, _: Meta, release: &Release) {
        self.deaths.fetch_add(1, Relaxed);
        self.longest.fetch_max(release.lived.as_millis() as u64, Relaxed);
    }
}

impl Book {
    fn of_this_thread() -> Arc<Book> {
        Arc::new(Book {
            thread: rustix::thread::gettid().as_raw_nonzero().get() as u32,
            ..Book::default()
        })
    }

    fn functions(&self) -> HashMap<String, u64> {
        let leaves = untracked(|| self.leaves.lock().unwrap().clone());
        let mut by_function = HashMap::new();
        for (count, backtrace) in leaves.values() {
            let frames = backtrace.frames();
            let names = frames.iter().filter_map(|frame| frame.function.as_deref());
            let mut short = names.filter_map(|name| name.rsplit("::").next());
            if let Some(name) = short.find(|name| name.starts_with("workload")) {
                *by_function.entry(name.to_owned()).or_default() += count;
            }
        }
        by_function
    }
}

fn small_steps(book: &Arc<Book>) -> lifetrace::Session {
    Recording::only(Arc::clone(book)).interval(1).start().unwrap()
}

#[test]
fn at_interval_1_it_is_told_of_everything() {
    let _turn = turn();
    let book = Book::of_this_thread();
    let session = small_steps(&book);
    let account = workload_short_lived(2000);
    let short = book.births.load(Relaxed);
    let kept = workload_kept(300);
    std::thread::sleep(Duration::from_millis(20));
    let live = book.metas.load(Relaxed);
    workload_of_all_kinds(500);
    assert_eq!((short, book.growths.load(Relaxed)), (account.blocks, 500));
    // The blocks, and the list of them.
    assert_eq!((live, book.metas.load(Relaxed)), (301, 301));
    std::thread::spawn(move || drop(kept)).join().unwrap();
    assert_eq!(book.metas.load(Relaxed), 0);
    assert!(book.longest.load(Relaxed) >= 20);
    let functions = book.functions();
    assert_eq!(functions["workload_short_lived"], account.blocks);
    assert_eq!(functions["workload_one_kept"], 300);
    // It keeps nothing itself.
    assert!(session.snapshot().is_none());
    let summary = session.stop().unwrap();
    assert_eq!((summary.samples, summary.path.as_deref()), (0, None));
    assert_eq!((summary.tracker_missed, summary.tracker_panics), (0, 0));
    assert_eq!(summary.lost, []);
}

#[test]
fn metadata_ends_with_the_session() {
    let _turn = turn();
    let book = Book::of_this_thread();
    let session = small_steps(&book);
    let kept = workload_kept(100);
    session.stop().unwrap();
    assert_eq!(book.metas.load(Relaxed), 0);
    let deaths = book.deaths.load(Relaxed);
    drop(kept);
    workload_short_lived(100);
    assert_eq!((book.deaths.load(Relaxed), Arc::strong_count(&book)), (deaths, 1));
}

#[test]
fn estimates_are_true() {
    let _turn = turn();
    let book = Book::of_this_thread();
    let session = Recording::only(Arc::clone(&book)).interval(4096).seed(7).start().unwrap();
    let account = workload_short_lived(400_000);
    session.stop().unwrap();
    let (estimate, samples) = (*book.estimate.lock().unwrap(), book.births.load(Relaxed));
    let off = (estimate - account.bytes as f64).abs() / account.bytes as f64;
    assert!(off * (samples as f64).sqrt() < 4.0, "{estimate} of {account:?} by {samples}");
}

#[test]
fn two_and_a_trace_hear_the_same() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.lt");
    let (first, second) = (Book::of_this_thread(), Book::of_this_thread());
    let pair = (Arc::clone(&first), Arc::clone(&second));
    let session = Recording::new(&path).interval(1).tracker(pair).start().unwrap();
    workload_of_all_kinds(300);
    drop(workload_kept(300));
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let heard = trace.by("workload_of_all_kinds").chain(trace.by("workload_kept"));
    let (bytes, growths) = heard.fold((0, 0), |(bytes, growths), block| {
        assert!(!block.is_live);
        (bytes + block.bytes, growths + u64::from(block.is_growth))
    });
    for book in [first, second] {
        assert_eq!((book.bytes.load(Relaxed), book.growths.load(Relaxed)), (bytes, growths));
        assert_eq!(book.births.load(Relaxed) + growths, book.deaths.load(Relaxed));
    }
}

#[test]
fn threads_may_free_each_others_blocks() {
    let _turn = turn();
    let book = Arc::new(Book::default());
    let session = small_steps(&book);
    std::thread::scope(|scope| {
        let (give, take) = std::sync::mpsc::channel();
        let take = Arc::new(Mutex::new(take));
        for _ in 0..4 {
            let (give, take) = (give.clone(), Arc::clone(&take));
            scope.spawn(move || {
                for _ in 0..50 {
                    give.send(workload_kept(20)).unwrap();
                    let others = take.lock().unwrap().recv().unwrap();
                    drop(others);
                }
            });
        }
    });
    let live = book.metas.load(Relaxed);
    let (births, deaths) = (book.births.load(Relaxed), book.deaths.load(Relaxed));
    session.stop().unwrap();
    assert!(births >= 4 * 50 * 21, "{births}");
    // What lives is the machinery's: nothing that grows with the rounds.
    assert!(
        live < 200 && deaths + live as u64 >= births,
        "{live} live, {births} born, {deaths} dead"
    );
}

/// Fills a map that the program has made, and frees blocks that the program has allocated.
struct Careless {
    map: Mutex<HashMap<u64, Vec<u8>>>,
    others: Mutex<Vec<Box<[u8]>>>,
    births: AtomicU64,
    deaths: AtomicU64,
    is_inside: AtomicBool,
}

impl Tracker for Careless {
    type Meta = ();

    fn alloc(&self, _: &Allocation) -> Option<()> {
        assert!(!self.is_inside.swap(true, Relaxed), "called in itself");
        let number = self.births.fetch_add(1, Relaxed);
        self.map.lock().unwrap().insert(number, vec![0; 100]);
        // Dropped under a lock that `free` takes.
        self.others.lock().unwrap().pop();
        self.is_inside.store(false, Relaxed);
        Some(())
    }

    fn free(&self, (): (), _: &Release) {
        let _own = self.others.lock().unwrap();
        self.deaths.fetch_add(1, Relaxed);
    }
}

#[test]
fn what_a_tracker_does_itself_is_not_sampled_and_told_later() {
    let _turn = turn();
    let careless = Arc::new(Careless {
        map: Mutex::default(),
        others: Mutex::default(),
        births: AtomicU64::new(0),
        deaths: AtomicU64::new(0),
        is_inside: AtomicBool::new(false),
    });
    let session = Recording::only(Arc::clone(&careless)).interval(1).start().unwrap();
    let sampled = workload_kept(50);
    *careless.others.lock().unwrap() = sampled;
    // Nothing is told meanwhile, but afterwards.
    untracked(|| {
        let mut others = careless.others.lock().unwrap();
        others.pop();
        others.push(workload_kept(1).remove(0));
    });
    let (births, deaths) = (careless.births.load(Relaxed), careless.deaths.load(Relaxed));
    assert!(deaths >= 1);
    let account = workload_short_lived(200);
    let born = careless.births.load(Relaxed) - births;
    let dead = careless.deaths.load(Relaxed) - deaths;
    assert_eq!((born, dead), (account.blocks, account.blocks + 49));
    assert_eq!(session.stop().unwrap().tracker_panics, 0);
}

struct Panicking;

impl Tracker for Panicking {
    type Meta = ();

    fn alloc(&self, allocation: &Allocation) -> Option<()> {
        assert_ne!(allocation.size, 31_337, "as the test wants it");
        Some(())
    }

    fn free(&self, (): (), _: &Release) {}
}

#[test]
fn a_panic_is_counted_and_reaches_nobody() {
    let _turn = turn();
    let session = Recording::only(Panicking).interval(1).start().unwrap();
    for _ in 0..3 {
        black_box(vec![7u8; 31_337]);
    }
    workload_of_all_kinds(10);
    assert_eq!(session.stop().unwrap().tracker_panics, 3);
}

struct Nosy(Mutex<Vec<String>>);

impl Tracker for Nosy {
    type Meta = ();

    fn alloc(&self, allocation: &Allocation) -> Option<()> {
        if allocation.size == 31_337 {
            let started = Recording::live().start();
            assert!(matches!(started, Err(Error::InTracker)), "{started:?}");
            assert!(lifetrace::snapshot().is_none());
            self.0.lock().unwrap().push(allocation.backtrace.to_string());
        }
        None
    }

    fn free(&self, (): (), _: &Release) {
        unreachable!("of no interest");
    }
}

#[test]
fn sessions_are_not_its_own_and_names_may_be_looked_up() {
    let _turn = turn();
    let nosy = Arc::new(Nosy(Mutex::default()));
    let session = Recording::live().interval(1).tracker(Arc::clone(&nosy)).start().unwrap();
    black_box(vec![7u8; 31_337]);
    assert_eq!(session.stop().unwrap().tracker_panics, 0);
    let said = nosy.0.lock().unwrap().join("\n");
    assert!(said.contains("names_may_be_looked_up") && said.contains("trackers.rs:"), "{said}");
}

/// Takes a lock under which the program allocates.
struct Patient {
    programs: Arc<Mutex<Vec<Box<[u8]>>>>,
    threads: Mutex<Vec<String>>,
    births: AtomicU64,
    deaths: AtomicU64,
}

impl Tracker for Patient {
    type Meta = ();

    fn alloc(&self, _: &Allocation) -> Option<()> {
        let program = self.programs.lock().unwrap();
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        self.threads.lock().unwrap().push(name);
        drop(program);
        self.births.fetch_add(1, Relaxed);
        Some(())
    }

    fn free(&self, (): (), _: &Release) {
        drop(self.programs.lock().unwrap());
        self.deaths.fetch_add(1, Relaxed);
    }
}

fn patient() -> Arc<Patient> {
    Arc::new(Patient {
        programs: Arc::default(),
        threads: Mutex::default(),
        births: AtomicU64::new(0),
        deaths: AtomicU64::new(0),
    })
}

#[test]
fn a_deferred_one_may_wait_for_the_program() {
    let _turn = turn();
    let patient = patient();
    let recording = Recording::only_deferred(Arc::clone(&patient)).interval(1);
    let session = recording.start().unwrap();
    let mut held = patient.programs.lock().unwrap();
    *held = workload_kept(100);
    let account = workload_short_lived(1000);
    assert_eq!(patient.births.load(Relaxed), 0);
    drop(held);
    session.stop().unwrap();
    let (births, deaths) = (patient.births.load(Relaxed), patient.deaths.load(Relaxed));
    assert!(births >= account.blocks + 101, "{births}");
    assert!(deaths >= account.blocks && births - deaths >= 101, "{deaths} of {births}");
    assert!(patient.threads.lock().unwrap().iter().all(|name| name == "lifetrace-tracker"));
}

#[test]
fn what_is_too_much_for_a_deferred_one_is_counted() {
    let _turn = turn();
    let patient = patient();
    let recording = Recording::only_deferred(Arc::clone(&patient)).interval(1);
    let session = recording.start().unwrap();
    let held = patient.programs.lock().unwrap();
    let account = workload_short_lived(100_000);
    drop(held);
    let summary = session.stop().unwrap();
    let births = patient.births.load(Relaxed);
    assert!(summary.tracker_missed > 10_000, "{summary:?}");
    assert!(births > 30_000 && births < account.blocks, "{births}");
}

#[test]
fn a_forked_child_and_exits_do_no_harm() {
    for name in ["child_forks", "child_exits_in_its_tracker", "child_exits_with_a_stuck_tracker"] {
        let folder = tempfile::tempdir().unwrap();
        let said = success(child(name, folder.path()).output().unwrap());
        assert!(said.contains("as planned"), "{name}: {said}");
    }
}

#[test]
#[ignore = "run by its parent"]
fn child_forks() {
    let book = Book::of_this_thread();
    let session = small_steps(&book);
    let kept = workload_kept(100);
    let births = book.births.load(Relaxed);
    // SAFETY: the child does what it does, and leaves without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(kept);
        workload_of_all_kinds(20);
        let own = Book::of_this_thread();
        let is_silent = book.births.load(Relaxed) == births && book.deaths.load(Relaxed) == 0;
        let session = small_steps(&own);
        let account = workload_short_lived(100);
        let has_heard = own.births.load(Relaxed) == account.blocks;
        session.stop().unwrap();
        // SAFETY: the end.
        unsafe { libc::_exit(if is_silent && has_heard { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the child from above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    drop(kept);
    assert_eq!((status, book.metas.load(Relaxed)), (0, 0));
    session.stop().unwrap();
    println!("as planned");
}

struct Quitting;

impl Tracker for Quitting {
    type Meta = ();

    fn alloc(&self, allocation: &Allocation) -> Option<()> {
        if allocation.size == 31_337 {
            println!("as planned");
            std::process::exit(0);
        }
        Some(())
    }

    fn free(&self, (): (), _: &Release) {}
}

#[test]
#[ignore = "run by its parent"]
fn child_exits_in_its_tracker() {
    let _session = Recording::live().interval(1).tracker(Quitting).start().unwrap();
    black_box(vec![7u8; 31_337]);
    unreachable!("it has left");
}

#[test]
#[ignore = "run by its parent"]
fn child_exits_with_a_stuck_tracker() {
    let patient = patient();
    let recording = Recording::live().interval(1).deferred_tracker(Arc::clone(&patient));
    let _session = recording.start().unwrap();
    let _held = patient.programs.lock().unwrap();
    workload_short_lived(10);
    println!("as planned");
    std::process::exit(0);
}
