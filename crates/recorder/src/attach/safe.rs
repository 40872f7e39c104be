//! Whether a thread is where it may call into the C library: where it holds none of that library's locks, nor the dynamic
//! linker's, nor the allocator's.
//!
//! Its stack is walked. Safe is a thread that runs the program's own code, or waits in a system call that the program has
//! made by one of the C library's plain wrappers ([`WAITS`], [`INNER_WAITS`]) or by a stream of its ([`STREAMS`]). Any other
//! frame of the C library, of the dynamic linker, of the allocator, or of code that nobody knows may be amid something.

use std::ops::Range;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module as UnwindModule, Unwinder};
use lifetrace_transport::attach::TABLE;

use super::expressions::Switches;
use super::memory::{Memory, Module, permanent};

/// Functions of the C library's that wait for something outside, and hold nothing meanwhile.
const WAITS: &str = " read write readv writev pread64 pwrite64 recv recvfrom recvmsg recvmmsg send sendto sendmsg poll \
    ppoll epoll_wait epoll_pwait select pselect nanosleep clock_nanosleep usleep sleep pause sigsuspend sigtimedwait \
    sigwaitinfo sigwait wait waitpid wait3 wait4 waitid accept accept4 connect flock fsync fdatasync msgrcv msgsnd semop \
    semtimedop ";

/// Those that wait for other threads: an allocator in the program itself may have called them.
const INNER_WAITS: &str = " pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_mutex_lock sem_wait \
    sem_timedwait sem_clockwait syscall pthread_join sched_yield ";

/// Functions of streams, which hold their stream alone while they wait in one of the [`PLAIN_WAITS`].
const STREAMS: &str = " fgets fgets_unlocked gets getline getdelim fread fread_unlocked fgetc fgetc_unlocked getc \
    getc_unlocked getchar getchar_unlocked getwc fgetwc getwchar fgetws scanf fscanf vscanf vfscanf isoc99_scanf \
    isoc99_fscanf isoc99_vfscanf uflow underflow fputs fputs_unlocked puts fputc putc putchar fputwc putwc fwrite \
    fwrite_unlocked printf fprintf vprintf vfprintf printf_chk fprintf_chk vprintf_chk vfprintf_chk fflush \
    fflush_unlocked ";

const PLAIN_WAITS: &str = " read write ";

/// Deeper stacks are not walked.
const MOST_FRAMES: usize = 4096;

/// Of a stack, so much is read at once.
const CHUNK: usize = 16 << 10;

/// A place that is not safe, for those who want to know why nobody could be borrowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsafe {
    /// A frame of the C library, the dynamic linker or the allocator.
    #[error("they were in {0}")]
    Within(String),
    /// The stack cannot be walked to its end.
    #[error("their stacks could not be walked")]
    Unknown,
}

/// Knows the modules of a process.
pub(super) struct Judge<'a> {
    memory: &'a Memory,
    modules: &'a [Module],
    libc: usize,
    /// Empty if that is the program itself.
    allocator: Range<u64>,
    /// The agent's library, if it is there already.
    ours: Range<u64>,
    /// The program's code is the allocator's as well: only who waits for something outside is safe.
    has_own_malloc: bool,
    /// Where the program begins.
    entry: u64,
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    switches: Vec<Switches>,
    /// Functions in which threads may wait.
    waits: Vec<Range<u64>>,
    streams: Vec<Range<u64>>,
    plain_waits: Vec<Range<u64>>,
}

impl<'a> Judge<'a> {
    /// `libc` is one of the modules, and so is `allocator`, which has malloc; the program begins at `entry`.
    pub(super) fn new(
        memory: &'a Memory,
        modules: &'a [Module],
        [libc, allocator]: [usize; 2],
        entry: u64,
    ) -> Judge<'a> {
        let has_own_malloc = modules[allocator].has(entry);
        let mut unwinder = UnwinderX86_64::new();
        modules.iter().for_each(|module| unwinder.add_module(described(memory, module)));
        let is_wait =
            |name: &[u8]| is_among(WAITS, name) || !has_own_malloc && is_among(INNER_WAITS, name);
        let functions = |is_it: &dyn Fn(&[u8]) -> bool| {
            let found = modules[libc].symbols.iter().filter(|it| is_it(&it.name));
            found.map(|it| it.address..it.address + it.size.max(1)).collect()
        };
        let waits = functions(&is_wait);
        let streams = functions(&|name| is_among(STREAMS, name));
        let plain_waits = functions(&|name| is_among(PLAIN_WAITS, name));
        let ours = modules.iter().find(|it| it.symbol(TABLE).is_some());
        let ours = ours.map_or(0..0, |it| it.range.clone());
        let cache = CacheX86_64::new();
        let switches = modules.iter().filter_map(|it| Switches::of(memory, it)).collect();
        let allocator = if has_own_malloc { 0..0 } else { modules[allocator].range.clone() };
        Judge {
            memory,
            modules,
            libc,
            allocator,
            ours,
            has_own_malloc,
            entry,
            unwinder,
            cache,
            switches,
            waits,
            streams,
            plain_waits,
        }
    }

    /// The modules that stay.
    pub(super) fn permanent(&self) -> Vec<&'a Module> {
        permanent(self.modules, self.entry, self.libc)
    }

    /// Whether a thread with these registers is at a safe place: its next instruction, its stack and its frame pointer.
    ///
    /// # Errors
    /// [`Unsafe`].
    pub(super) fn judge(&mut self, registers: [u64; 3]) -> Result<(), Unsafe> {
        let frames = self.walk(registers).ok_or(Unsafe::Unknown)?;
        let is_start = |at: &&u64| (self.entry..self.entry + 64).contains(*at);
        let inner =
            &frames[..frames.len() - usize::from(frames.last().is_some_and(|it| is_start(&it)))];
        // What begins threads and the program is the C library's.
        let ends = inner.iter().rev().take_while(|&&at| self.is_libc(at)).count();
        let inner = &inner[..inner.len() - ends];
        let waits = inner.iter().take_while(|&&at| self.is_libc(at) || self.is_vdso(at)).count();
        if let Some(&outermost) = inner[..waits].last()
            && !self.may_wait(inner[0], outermost)
        {
            return Err(Unsafe::Within(self.near(outermost)));
        }
        match inner[waits..].iter().find(|&&at| !self.is_programs(at)) {
            Some(&at) => Err(Unsafe::Within(self.near(at))),
            None if inner.len() == waits => Err(Unsafe::Unknown),
            None if self.has_own_malloc && waits == 0 => {
                Err(Unsafe::Within("the program, which has an allocator in itself".into()))
            }
            None => Ok(()),
        }
    }

    /// Whether a thread may wait there, which has called the C library by the outermost function and is in the innermost.
    fn may_wait(&self, innermost: u64, outermost: u64) -> bool {
        let is_in = |functions: &[Range<u64>], at| functions.iter().any(|it| it.contains(&at));
        is_in(&self.waits, outermost)
            || is_in(&self.streams, outermost) && is_in(&self.plain_waits, innermost)
    }

    /// The addresses of the frames, the innermost first; `None` if the walk does not come to the end.
    fn walk(&mut self, [code, stack, frame]: [u64; 3]) -> Option<Vec<u64>> {
        let memory = self.memory;
        let (mut start, mut chunk) = (0, Vec::new());
        let mut read = |address: u64| {
            let is_in = |at: u64, chunk: &Vec<u8>| {
                at <= address && address.saturating_add(8) <= at + chunk.len() as u64
            };
            if !is_in(start, &chunk) {
                (start, chunk) = (address & !15, memory.read_up_to(address & !15, CHUNK));
            }
            let at = address.wrapping_sub(start) as usize;
            let word = chunk.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            word.try_into().map(u64::from_le_bytes).map_err(|_| ())
        };
        let mut registers = UnwindRegsX86_64::new(code, stack, frame);
        let mut at = FrameAddress::from_instruction_pointer(code);
        let mut frames = vec![code];
        loop {
            let place = at.address_for_lookup();
            let switches = self.switches.iter().find(|it| it.has(place));
            let told = switches.map(|it| it.unwind(place, &mut registers, &mut read)).transpose();
            let caller = match told.ok()?.flatten() {
                Some(caller) => Some(caller),
                None => {
                    let (unwinder, cache) = (&self.unwinder, &mut self.cache);
                    unwinder.unwind_frame(at, &mut registers, cache, &mut read).ok()?
                }
            };
            let Some(caller) = caller else { return Some(frames) };
            at = FrameAddress::from_return_address(caller)?;
            frames.push(at.address_for_lookup());
            if frames.len() > MOST_FRAMES {
                return None;
            }
        }
    }

    fn is_libc(&self, address: u64) -> bool {
        self.modules[self.libc].has(address)
    }

    fn is_vdso(&self, address: u64) -> bool {
        self.module(address).is_some_and(|it| it.name() == "[vdso]")
    }

    fn is_programs(&self, address: u64) -> bool {
        let is_known = self.module(address).is_some_and(|it| !it.name().starts_with("ld-"));
        is_known
            && !self.is_libc(address)
            && !self.allocator.contains(&address)
            && !self.ours.contains(&address)
    }

    fn module(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|it| it.has(address))
    }

    fn near(&self, address: u64) -> String {
        let Some(module) = self.module(address) else { return format!("{address:#x}") };
        let below = module.symbols.iter().filter(|it| it.address <= address);
        let symbol = below.max_by_key(|it| it.address);
        let name = symbol.map_or("?".into(), |it| String::from_utf8_lossy(&it.name).into_owned());
        format!("{name} ({})", module.name())
    }
}

fn is_among(names: &str, name: &[u8]) -> bool {
    let start = name.iter().position(|&byte| byte != b'_').unwrap_or(0);
    let name = str::from_utf8(&name[start..]).unwrap_or_default();
    !name.is_empty() && names.contains(&format!(" {name} "))
}

/// A module as the unwinder wants it.
fn described(memory: &Memory, module: &Module) -> UnwindModule<Vec<u8>> {
    let base = module.range.start;
    let stated = |start: u64, end: u64| Some(start - base..end - base);
    let mut sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: module.text.first().and_then(|text| stated(text.start, text.end)),
        ..ExplicitModuleSectionInfo::default()
    };
    if let Some([table, frames, end]) = module.unwind.filter(|[table, ..]| *table >= base) {
        let table_end = if table < frames { frames } else { end };
        sections.eh_frame_svma = stated(frames, end);
        sections.eh_frame = memory.read(frames, (end - frames) as usize);
        sections.eh_frame_hdr_svma = stated(table, table_end);
        sections.eh_frame_hdr = memory.read(table, (table_end - table) as usize);
    }
    let name = module.name().to_owned();
    UnwindModule::new(name, module.range.clone(), base, sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_go_by_several_names() {
        for name in ["read", "__read", "epoll_wait", "__nanosleep"] {
            assert!(is_among(WAITS, name.as_bytes()), "{name}");
        }
        assert!(is_among(INNER_WAITS, b"__pthread_mutex_lock"));
        for name in ["malloc", "_", "", "dlopen", "_IO_getc", "fork", "pthread_mutex_lock"] {
            assert!(!is_among(WAITS, name.as_bytes()), "{name}");
        }
    }
}
