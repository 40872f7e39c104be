//! The allocator that a program wraps around its own. \[UNSAFE\]
//!
//! As long as there is no session, `alloc` and `dealloc` are the inner allocator's, and one instruction
//! more ([`crate::detour`]). Otherwise, and `alloc_zeroed` and `realloc` always, they are jumps through
//! pointers ([`crate::hooks`]): during a session to functions that count down the words, as the preload
//! library's do, and that look a block up which may be a sample. Every block is the inner allocator's.
//!
//! The inner allocator of most programs is a type without contents. Then nobody has to be told where it
//! is, and no instruction is spent on it: see [`AllocPointer`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::mem::{MaybeUninit, transmute};
use std::ptr::NonNull;

use lifetrace_agent::sampler::{WORD, words};
use lifetrace_agent::tls;
use lifetrace_native::live::filter;

use crate::detour;
use crate::hooks::{self, Hooks, Table, Tables};
use crate::listening::CallListener;
use crate::sampled;

/// A program's allocator, and around it what a session hears of it.
///
/// Made a program's global allocator, it costs nothing measurable as long as no session runs. See the
/// [crate's description](crate) for what one costs.
///
/// ```
/// #[global_allocator]
/// static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();
/// # fn main() {}
/// ```
///
/// Any other allocator can be inside, a static one with contents, too:
///
/// ```
/// # use std::alloc::System as MiMalloc;
/// #[global_allocator]
/// static ALLOC: lifetrace::Alloc<MiMalloc> = lifetrace::Alloc::new(MiMalloc);
/// # fn main() {}
/// ```
#[repr(C)]
pub struct Alloc<A = System> {
    hooks: Hooks,
    inner: A,
}

/// A pointer to the allocator; nothing, which takes no instruction to pass on, if it has no contents.
type AllocPointer<A> = MaybeUninit<*const Alloc<A>>;

type Allocate<A> = unsafe fn(usize, usize, AllocPointer<A>) -> *mut u8;
type Deallocate<A> = unsafe fn(*mut u8, usize, usize, AllocPointer<A>);
type Zeroed<A> = unsafe fn(usize, usize, &Alloc<A>) -> *mut u8;
type Reallocate<A> = unsafe fn(*mut u8, usize, usize, usize, &Alloc<A>) -> *mut u8;

impl Alloc<System> {
    /// Around the system's allocator.
    pub const fn system() -> Alloc<System> {
        Alloc::new(System)
    }
}

impl<A: GlobalAlloc> Alloc<A> {
    /// Around any other.
    pub const fn new(inner: A) -> Alloc<A> {
        Alloc { hooks: Hooks::new(Self::TABLES), inner }
    }

    const TABLES: &Tables = &Tables {
        plain: Table {
            alloc: Self::plain_alloc as Allocate<A> as *mut (),
            dealloc: Self::plain_dealloc as Deallocate<A> as *mut (),
            alloc_zeroed: Self::plain_zeroed as Zeroed<A> as *mut (),
            realloc: Self::plain_realloc as Reallocate<A> as *mut (),
        },
        counting: Table {
            alloc: Self::counting_alloc as Allocate<A> as *mut (),
            dealloc: Self::knowing_dealloc as Deallocate<A> as *mut (),
            alloc_zeroed: Self::counting_zeroed as Zeroed<A> as *mut (),
            realloc: Self::counting_realloc as Reallocate<A> as *mut (),
        },
    };

    #[inline(always)]
    fn pointer(&self) -> AllocPointer<A> {
        match size_of::<A>() {
            0 => MaybeUninit::uninit(),
            _ => MaybeUninit::new(self),
        }
    }

    /// # Safety
    /// `pointer` is that of a living `Alloc<A>`.
    #[inline(always)]
    unsafe fn inner<'a>(pointer: AllocPointer<A>) -> &'a A {
        // SAFETY: a value without contents is anywhere, and there is one; others are where the pointer says.
        unsafe {
            match size_of::<A>() {
                0 => NonNull::dangling().as_ref(),
                _ => &(*pointer.assume_init()).inner,
            }
        }
    }
}

/// Functions without a session, or for blocks that are no samples. Arguments are those of
/// [`GlobalAlloc`]'s.
impl<A: GlobalAlloc> Alloc<A> {
    #[inline(never)]
    unsafe fn plain_alloc(size: usize, align: usize, pointer: AllocPointer<A>) -> *mut u8 {
        // SAFETY: the caller's contract.
        unsafe { Self::allocate(size, align, pointer) }
    }

    #[inline(always)]
    unsafe fn allocate(size: usize, align: usize, pointer: AllocPointer<A>) -> *mut u8 {
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe {
            let inner = Self::inner(pointer);
            // Of what the usual block is like, most allocators make use; so it is settled once.
            if align <= 16 && align <= size {
                return inner.alloc(layout(size, align));
            }
            unusual(|| inner.alloc(layout(size, align)))
        }
    }

    unsafe fn plain_dealloc(block: *mut u8, size: usize, align: usize, pointer: AllocPointer<A>) {
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { Self::inner(pointer).dealloc(block, layout(size, align)) }
    }

    unsafe fn plain_zeroed(size: usize, align: usize, this: &Self) -> *mut u8 {
        hooks::answer_call(&this.hooks);
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { this.inner.alloc_zeroed(layout(size, align)) }
    }

    unsafe fn plain_realloc(
        block: *mut u8,
        size: usize,
        align: usize,
        new_size: usize,
        this: &Self,
    ) -> *mut u8 {
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { this.inner.realloc(block, layout(size, align), new_size) }
    }
}

/// Functions during a session.
impl<A: GlobalAlloc> Alloc<A> {
    unsafe fn counting_alloc(size: usize, align: usize, pointer: AllocPointer<A>) -> *mut u8 {
        // SAFETY: the caller's contract, which is the inner allocator's.
        unsafe {
            if tls::take_of(hooks::epoch(), bytes_of_words(size)) {
                return Self::hit_alloc(size, align, pointer);
            }
            Self::allocate(size, align, pointer)
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn hit_alloc(size: usize, align: usize, pointer: AllocPointer<A>) -> *mut u8 {
        let listener = CallListener::new();
        // SAFETY: the caller's contract, which is the inner allocator's.
        sampled::born(&listener, size, || unsafe { Self::plain_alloc(size, align, pointer) })
    }

    unsafe fn knowing_dealloc(block: *mut u8, size: usize, align: usize, pointer: AllocPointer<A>) {
        // SAFETY: the caller's contract, which is the inner allocator's.
        unsafe {
            if filter::may_be_sampled(block) {
                return Self::known_dealloc(block, size, align, pointer);
            }
            Self::inner(pointer).dealloc(block, layout(size, align));
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn known_dealloc(block: *mut u8, size: usize, align: usize, pointer: AllocPointer<A>) {
        sampled::freed(block, size);
        // SAFETY: the caller's contract, which is the inner allocator's.
        unsafe { Self::inner(pointer).dealloc(block, layout(size, align)) }
    }

    unsafe fn counting_zeroed(size: usize, align: usize, this: &Self) -> *mut u8 {
        if tls::take_of(hooks::epoch(), bytes_of_words(size)) {
            // SAFETY: of a layout.
            return this.hit_zeroed(unsafe { layout(size, align) });
        }
        // SAFETY: the caller's contract, which is the inner allocator's.
        unsafe { this.inner.alloc_zeroed(layout(size, align)) }
    }

    #[cold]
    #[inline(never)]
    fn hit_zeroed(&self, layout: Layout) -> *mut u8 {
        let listener = CallListener::new();
        // SAFETY: the caller's contract, which is the inner allocator's.
        sampled::born(&listener, layout.size(), || unsafe { self.inner.alloc_zeroed(layout) })
    }

    unsafe fn counting_realloc(
        block: *mut u8,
        size: usize,
        align: usize,
        new_size: usize,
        this: &Self,
    ) -> *mut u8 {
        let added = words(new_size).saturating_sub(words(size));
        // SAFETY: the caller's contract, which is the inner allocator's.
        unsafe {
            if filter::may_be_sampled(block) {
                return this.known_realloc(block, layout(size, align), new_size);
            }
            if added != 0 && tls::take_of(hooks::epoch(), (added * WORD) as usize) {
                return this.hit_realloc(block, layout(size, align), new_size);
            }
            this.inner.realloc(block, layout(size, align), new_size)
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn hit_realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let listener = CallListener::new();
        // SAFETY: the caller's contract, which is the inner allocator's.
        let next = || unsafe { self.inner.realloc(block, layout, new_size) };
        sampled::grown(&listener, layout.size(), new_size, next)
    }

    #[cold]
    #[inline(never)]
    unsafe fn known_realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let listener = CallListener::new();
        // SAFETY: the caller's contract, which is the inner allocator's.
        let next = || unsafe { self.inner.realloc(block, layout, new_size) };
        sampled::resized(&listener, block, layout.size(), new_size, next)
    }
}

// SAFETY: every pointer in `hooks` leads to one of the functions above, of the type that is called here.
// Every block is the inner allocator's, as it was asked for.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        unsafe {
            if detour::is_open() {
                let alloc = transmute::<*mut (), Allocate<A>>(self.hooks.alloc());
                return alloc(layout.size(), layout.align(), self.pointer());
            }
            self.inner.alloc(layout)
        }
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe {
            if detour::is_open() {
                let dealloc = transmute::<*mut (), Deallocate<A>>(self.hooks.dealloc());
                return dealloc(block, layout.size(), layout.align(), self.pointer());
            }
            self.inner.dealloc(block, layout);
        }
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        unsafe {
            let zeroed = transmute::<*mut (), Zeroed<A>>(self.hooks.alloc_zeroed());
            zeroed(layout.size(), layout.align(), self)
        }
    }

    #[inline(always)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: see above.
        unsafe {
            let realloc = transmute::<*mut (), Reallocate<A>>(self.hooks.realloc());
            realloc(block, layout.size(), layout.align(), new_size, self)
        }
    }
}

impl<A: fmt::Debug> fmt::Debug for Alloc<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alloc").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// The words of a block, which has some, in bytes.
#[inline(always)]
const fn bytes_of_words(size: usize) -> usize {
    (size + 7) & !7
}

/// # Safety
/// Those of a layout.
#[inline(always)]
unsafe fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: by contract.
    unsafe { Layout::from_size_align_unchecked(size, align) }
}

#[cold]
fn unusual<T>(work: impl FnOnce() -> T) -> T {
    work()
}
