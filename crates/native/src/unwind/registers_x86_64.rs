//! Where a walk begins, on x86-64. \[UNSAFE\]

use framehop::x86_64::UnwindRegsX86_64;

use super::frame_registers::FrameRegisters;

/// framehop's registers.
pub type Registers = UnwindRegsX86_64;

/// The registers that a walk needs, here.
#[inline(always)]
pub fn here() -> (u64, Registers) {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        core::arch::asm!(
            "lea {ip}, [rip]",
            "mov {sp}, rsp",
            "mov {bp}, rbp",
            ip = out(reg) ip,
            sp = out(reg) sp,
            bp = out(reg) bp,
            options(nomem, nostack, preserves_flags),
        );
    }
    (ip, Registers::new(ip, sp, bp))
}

/// framehop's registers of a frame that is known by our two.
pub fn of(ip: u64, frame: FrameRegisters) -> Registers {
    Registers::new(ip, frame.sp, frame.bp)
}

/// The frame pointer.
pub fn frame_pointer(registers: &Registers) -> u64 {
    registers.bp()
}
