//! A standing recorder with programs that allocate, end and start again: all are recorded, none notices, its memory does
//! not grow, and when it is replaced in the middle of it the programs that run find the next one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::stress::growth;
use super::workshop::Workshop;
use super::{fixture, smaps};

/// Programs at a time.
const PROGRAMS: u64 = 50;

/// Each lives so long, and up to a few seconds longer.
const LIFE: Duration = Duration::from_secs(20);

/// After so long sessions in which nothing is born have given their memory back.
const RESTING: Duration = Duration::from_secs(35);

const MOMENT: Duration = Duration::from_secs(1);

/// Where the collector is, and what programs are told of it.
struct Scene {
    workshop: Workshop,
    program: PathBuf,
    variables: Vec<(String, String)>,
    is_over: AtomicBool,
    ends: AtomicU64,
    /// Seconds that all programs together have lived.
    seconds: AtomicU64,
}

/// Runs it for so many minutes.
///
/// # Errors
/// If it fails, or cannot be run.
pub fn run(minutes: u64) -> Result<()> {
    let workshop = Workshop::open("collector")?;
    let (folder, log) = (workshop.fresh_folder("traces")?, workshop.path("log"));
    let program = fixture::program(&workshop.path("."), "collected", "c/collected.c", &[])?;
    let scene = Scene::new(workshop, program)?;
    thread::scope(|scope| -> Result<()> {
        let first = scene.collect(&folder, &log)?;
        let scene = &scene;
        let workers: Vec<_> =
            (0..PROGRAMS).map(|number| scope.spawn(move || scene.live(number))).collect();
        let half = Duration::from_secs(minutes * 30);
        let memory = watch(&first, half);
        end(first)?;
        let second = scene.collect(&folder, &log)?;
        let later = watch(&second, half);
        scene.is_over.store(true, Ordering::Relaxed);
        workers.into_iter().try_for_each(|it| it.join().expect("it does not panic"))?;
        end(second)?;
        growth("first collector", memory.into_iter())?;
        growth("second collector", later.into_iter())
    })?;
    scene.conclude(&folder, &log)
}

/// Memory and processor time of a collector with so many sessions in which something was sampled, and that rest then.
///
/// # Errors
/// If it fails, or cannot be run.
pub fn run_crowd(sessions: u64) -> Result<()> {
    let workshop = Workshop::open("collector")?;
    let (folder, log) = (workshop.fresh_folder("traces")?, workshop.path("log"));
    let program = fixture::program(&workshop.path("."), "crowd", "c/crowd.c", &[])?;
    let scene = Scene::new(workshop, program)?;
    let collector = scene.collect(&folder, &log)?;
    let mut command = Command::new(&scene.program);
    command.arg(sessions.to_string()).envs(scene.variables.iter().cloned());
    let mut crowd = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut said = BufReader::new(crowd.stdout.take().context("it has an output")?).lines();
    ensure!(said.next().context("it says something")?? == "ready", "the crowd suffers");
    let look = |when: &str| {
        let each = smaps::resident_bytes(collector.id()) / sessions.max(1) / 1024;
        println!("{sessions} sessions, {when}: {each} KiB of resident memory each");
    };
    look("at work");
    thread::sleep(RESTING);
    look("at rest");
    let before = smaps::processor_ticks(collector.id());
    thread::sleep(Duration::from_secs(10));
    let ticks = smaps::processor_ticks(collector.id()) - before;
    println!("at rest: {:.1} % of a processor for all together", ticks as f64 / 10.0);
    drop(crowd.stdin.take());
    ensure!(said.next().context("it says something")?? == "done", "the crowd suffers");
    crowd.wait()?;
    end(collector)?;
    let names = fs::read_dir(&folder)?.flatten().map(|entry| entry.file_name());
    let files = names.filter(|name| name.to_string_lossy().starts_with("lifetrace.")).count();
    ensure!(files as u64 >= sessions, "{files} files");
    Ok(())
}

impl Scene {
    fn new(workshop: Workshop, program: PathBuf) -> Result<Scene> {
        let (is_over, ends, seconds) =
            (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let mut scene = Scene { workshop, program, variables: Vec::new(), is_over, ends, seconds };
        scene.variables = scene.told()?;
        Ok(scene)
    }

    fn socket(&self) -> PathBuf {
        self.workshop.path("run/socket")
    }

    fn told(&self) -> Result<Vec<(String, String)>> {
        let mut command = Command::new(self.workshop.lifetrace());
        let told = command.arg("env").arg("--socket").arg(self.socket()).output()?;
        let told = String::from_utf8(told.stdout)?;
        let pairs = told.lines().filter_map(|line| line.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn collect(&self, folder: &Path, log: &Path) -> Result<Child> {
        let mut command = Command::new(self.workshop.lifetrace());
        command.args(["collect", "-q", "--rotate-every", "30s", "--dir"]).arg(folder);
        command.arg("--socket").arg(self.socket()).stdin(Stdio::null());
        let log = File::options().create(true).append(true).open(log)?;
        let collector = command.stderr(log).spawn()?;
        let begun = Instant::now();
        while !self.socket().exists() {
            ensure!(begun.elapsed() < Duration::from_secs(60), "the collector does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(collector)
    }

    /// One program after the other.
    fn live(&self, number: u64) -> Result<()> {
        while !self.is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let mut command = Command::new(&self.program);
            command.envs(self.variables.iter().cloned());
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let until = begun + LIFE + Duration::from_millis(number * 97);
            while Instant::now() < until && !self.is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
            }
            drop(child.stdin.take());
            let said = BufReader::new(child.stdout.take().context("it has an output")?).lines();
            let said: Vec<_> = said.collect::<Result<_, _>>()?;
            ensure!(
                said == ["ready", "done"] && child.wait()?.success(),
                "a program suffered: {said:?}"
            );
            self.ends.fetch_add(1, Ordering::Relaxed);
            self.seconds.fetch_add(begun.elapsed().as_secs(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn conclude(&self, folder: &Path, log: &Path) -> Result<()> {
        let (mut files, mut bytes, mut samples) = (0, 0, 0);
        for entry in fs::read_dir(folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            ensure!(!name.ends_with(".part"), "{name} was not finished");
            if name.starts_with("lifetrace.") {
                files += 1;
                bytes += entry.metadata()?.len();
                samples += self.workshop.info(&entry.path())?.samples;
            }
        }
        let (ends, seconds) =
            (self.ends.load(Ordering::Relaxed), self.seconds.load(Ordering::Relaxed));
        let a_day = bytes as f64 / seconds.max(1) as f64 * 86_400.0 / f64::from(1 << 20);
        println!("{ends} programs, {PROGRAMS} at a time; {files} files with {samples} samples");
        println!("{a_day:.1} MiB for each program and day");
        let said = fs::read_to_string(log)?;
        ensure!(said.is_empty(), "{said}");
        ensure!(files >= ends, "{ends} programs have left {files} files");
        Ok(())
    }
}

/// The memory of a process, every second.
fn watch(process: &Child, time: Duration) -> Vec<u64> {
    let (begun, mut memory) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        memory.push(smaps::resident_bytes(process.id()));
        thread::sleep(MOMENT);
    }
    memory
}

fn end(mut collector: Child) -> Result<()> {
    let mut kill = Command::new("kill");
    ensure!(kill.arg(collector.id().to_string()).status()?.success(), "it cannot be ended");
    let status = collector.wait()?;
    ensure!(status.success(), "the collector ended with {status}");
    Ok(())
}
