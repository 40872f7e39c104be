//! Which first instructions of a function can be put elsewhere, and how they look there.
//!
//! Instructions are copied as they are but for distances, which are worked out anew where they are put.
//! Nothing is moved that another instruction of the function jumps to, nor a call: while it lasts, its
//! return address would be in code that no unwinder knows.

use iced_x86::{ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, Register};
use lifetrace_transport::patch::{
    Fixup, JUMP, MOST_FIXUPS, MOST_MOVED, MOST_ORIGINAL, Patch, Shape,
};

/// What a function begins with where indirect branches are tracked. It stays where it is.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// A function in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function<'a> {
    pub(super) address: u64,
    /// At least as long as the function, which ends at `length`; what follows is padding.
    pub(super) code: &'a [u8],
    pub(super) length: usize,
}

/// Why a function can't be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// There are fewer bytes than a jump takes.
    Short,
    /// Something else of the function jumps among the bytes.
    Target,
    /// An instruction that cannot be put elsewhere, or is none.
    Instruction,
}

/// A patch of a function, which knows nothing yet of what the function does.
pub(super) fn patch(function: Function<'_>) -> Result<Patch, Stuck> {
    let kept = if function.code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
    let first = function.address + kept as u64;
    let code = &function.code[kept..];
    let mut moved = Moved::default();
    if kept > 0 {
        moved.copy(&ENDBR64)?;
    }
    let length = moved.take_from(code, first)?;
    let end = first + length as u64;
    if targets(function).any(|target| (function.address..end).contains(&target)) {
        return Err(Stuck::Target);
    }
    if length > function.length.saturating_sub(kept) && !is_padding(function, kept + length) {
        return Err(Stuck::Short);
    }
    let mut original = [0; MOST_ORIGINAL];
    original[..length].copy_from_slice(&code[..length]);
    Ok(Patch {
        address: first,
        usable_size: 0,
        shape: Shape::Allocate,
        nests: false,
        length: length as u8,
        original,
        moved_length: moved.length as u8,
        moved: moved.code,
        fixup_count: moved.fixup_count as u8,
        fixups: moved.fixups,
    })
}

/// The functions that a function calls, or goes on to, as far as it names them.
pub(super) fn callees(function: Function<'_>) -> impl Iterator<Item = u64> {
    let within = function.address..function.address + function.length as u64;
    let is_elsewhere = move |target: &u64| !within.contains(target) || *target == within.start;
    targets(function).filter(is_elsewhere)
}

/// Whether a function does nothing, on its only path, without calling one that is `known`, or becoming it.
pub(super) fn always_calls(function: Function<'_>, known: impl Fn(u64) -> bool) -> bool {
    let code = &function.code[..function.length.min(function.code.len())];
    let decoder = Decoder::with_ip(64, code, function.address, DecoderOptions::NONE);
    for instruction in decoder {
        let is_known = is_near_branch(&instruction) && known(instruction.near_branch_target());
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch if is_known => return true,
            FlowControl::Next | FlowControl::Call => {}
            _ => return false,
        }
    }
    false
}

/// The word of memory through which the code at an address jumps, if that is all it does.
pub(super) fn stub(address: u64, code: &[u8]) -> Option<u64> {
    let kept = if code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
    let first = address + kept as u64;
    let it = Decoder::with_ip(64, &code[kept..], first, DecoderOptions::NONE).decode();
    let is_jump = it.flow_control() == FlowControl::IndirectBranch && it.is_ip_rel_memory_operand();
    is_jump.then(|| it.ip_rel_memory_address())
}

/// Where the branches and calls of a function lead that say so.
fn targets(function: Function<'_>) -> impl Iterator<Item = u64> {
    let code = &function.code[..function.length.min(function.code.len())];
    let decoder = Decoder::with_ip(64, code, function.address, DecoderOptions::NONE);
    decoder.into_iter().filter(is_near_branch).map(|instruction| instruction.near_branch_target())
}

fn is_near_branch(instruction: &Instruction) -> bool {
    use iced_x86::OpKind::{NearBranch16, NearBranch32, NearBranch64};
    instruction.op_count() > 0
        && matches!(instruction.op0_kind(), NearBranch16 | NearBranch32 | NearBranch64)
}

/// Whether what follows the function up to `end` is there to fill a gap.
fn is_padding(function: Function<'_>, end: usize) -> bool {
    function
        .code
        .get(function.length..end)
        .is_some_and(|gap| gap.iter().all(|byte| matches!(byte, 0x90 | 0xcc)))
}

/// Instructions on their way.
#[derive(Debug)]
struct Moved {
    code: [u8; MOST_MOVED],
    length: usize,
    fixups: [Fixup; MOST_FIXUPS],
    fixup_count: usize,
}

impl Default for Moved {
    fn default() -> Moved {
        let fixups = [Fixup::default(); MOST_FIXUPS];
        Moved { code: [0; MOST_MOVED], length: 0, fixups, fixup_count: 0 }
    }
}

impl Moved {
    /// Takes whole instructions until there is room for a jump, and goes back to what follows them.
    /// Returns the number of bytes that are to be overwritten.
    fn take_from(&mut self, code: &[u8], address: u64) -> Result<usize, Stuck> {
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let mut taken = 0;
        while taken < JUMP {
            let instruction = decoder.decode();
            let bytes = code.get(taken..taken + instruction.len()).ok_or(Stuck::Short)?;
            if instruction.is_invalid() {
                return Err(Stuck::Instruction);
            }
            self.take(&decoder, &instruction, bytes)?;
            taken += instruction.len();
            if ends_function(&instruction) {
                return checked(taken.max(JUMP), code);
            }
        }
        self.branch(&[0xe9], address + taken as u64)?;
        checked(taken, code)
    }

    fn take(&mut self, decoder: &Decoder<'_>, it: &Instruction, bytes: &[u8]) -> Result<(), Stuck> {
        match it.flow_control() {
            FlowControl::Next if it.is_ip_rel_memory_operand() => {
                let offsets = decoder.get_constant_offsets(it);
                let is_known =
                    it.memory_base() == Register::RIP && offsets.displacement_size() == 4;
                let at = self.length + offsets.displacement_offset();
                self.copy(bytes)?;
                let target = it.ip_rel_memory_address();
                if is_known { self.fix(at, target) } else { Err(Stuck::Instruction) }
            }
            FlowControl::Next | FlowControl::Return => self.copy(bytes),
            FlowControl::UnconditionalBranch if is_near_branch(it) => {
                self.branch(&[0xe9], it.near_branch_target())
            }
            FlowControl::ConditionalBranch => {
                let condition = condition(it).ok_or(Stuck::Instruction)?;
                self.branch(&[0x0f, 0x80 | condition], it.near_branch_target())
            }
            // A jump through memory, as to what another object file has.
            FlowControl::IndirectBranch if it.is_ip_rel_memory_operand() => {
                let at = self.length + decoder.get_constant_offsets(it).displacement_offset();
                self.copy(bytes)?;
                self.fix(at, it.ip_rel_memory_address())
            }
            _ => Err(Stuck::Instruction),
        }
    }

    fn copy(&mut self, bytes: &[u8]) -> Result<(), Stuck> {
        let place = self.code.get_mut(self.length..self.length + bytes.len());
        place.ok_or(Stuck::Instruction)?.copy_from_slice(bytes);
        self.length += bytes.len();
        Ok(())
    }

    /// A branch with a distance of four bytes.
    fn branch(&mut self, code: &[u8], target: u64) -> Result<(), Stuck> {
        self.copy(code)?;
        let at = self.length;
        self.copy(&[0; 4])?;
        self.fix(at, target)
    }

    /// Notes that the four bytes at `at` say how far `target` is from the end of what there is.
    fn fix(&mut self, at: usize, target: u64) -> Result<(), Stuck> {
        let fixup = Fixup { at: at as u8, end: self.length as u8, target };
        *self.fixups.get_mut(self.fixup_count).ok_or(Stuck::Instruction)? = fixup;
        self.fixup_count += 1;
        Ok(())
    }
}

/// So many bytes, if the function and a patch have them.
fn checked(length: usize, code: &[u8]) -> Result<usize, Stuck> {
    match length {
        _ if length > code.len() => Err(Stuck::Short),
        _ if length > MOST_ORIGINAL => Err(Stuck::Instruction),
        _ => Ok(length),
    }
}

fn ends_function(instruction: &Instruction) -> bool {
    use FlowControl::{IndirectBranch, Return, UnconditionalBranch};
    matches!(instruction.flow_control(), IndirectBranch | Return | UnconditionalBranch)
}

/// The four bits of a conditional jump that say on what; none of those on a counter.
fn condition(instruction: &Instruction) -> Option<u8> {
    if !instruction.code().is_jcc_short_or_near() {
        return None;
    }
    let number = match instruction.condition_code() {
        ConditionCode::o => 0,
        ConditionCode::no => 1,
        ConditionCode::b => 2,
        ConditionCode::ae => 3,
        ConditionCode::e => 4,
        ConditionCode::ne => 5,
        ConditionCode::be => 6,
        ConditionCode::a => 7,
        ConditionCode::s => 8,
        ConditionCode::ns => 9,
        ConditionCode::p => 10,
        ConditionCode::np => 11,
        ConditionCode::l => 12,
        ConditionCode::ge => 13,
        ConditionCode::le => 14,
        ConditionCode::g => 15,
        _ => return None,
    };
    Some(number)
}
