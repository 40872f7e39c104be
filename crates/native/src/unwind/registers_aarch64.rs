//! Where a walk begins, on aarch64. \[UNSAFE\]

use framehop::aarch64::UnwindRegsAarch64;

use super::frame_registers::FrameRegisters;

/// framehop's registers.
pub type Registers = UnwindRegsAarch64;

/// The registers that a walk needs, here. The address is behind the instruction that asks for it: the one before
/// that may be the last one of the prologue.
#[inline(always)]
pub fn here() -> (u64, Registers) {
    let (ip, lr, sp, fp): (u64, u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        core::arch::asm!(
            "adr {ip}, . + 4",
            "mov {lr}, x30",
            "mov {sp}, sp",
            "mov {fp}, x29",
            ip = out(reg) ip,
            lr = out(reg) lr,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags),
        );
    }
    (ip, Registers::new(lr, sp, fp))
}

/// framehop's registers of a frame that is known by our two. The link register counts only in the
/// first frame, which is ours and has saved it.
pub fn of(ip: u64, frame: FrameRegisters) -> Registers {
    Registers::new(ip, frame.sp, frame.bp)
}

/// The frame pointer.
pub fn frame_pointer(registers: &Registers) -> u64 {
    registers.fp()
}
