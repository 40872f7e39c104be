//! Frames whose place the unwind table tells by an expression that reads memory.
//!
//! Where code goes on on another stack, as OCaml 5 does where it calls C and is called by it, the caller's frame is where
//! a word of the stack says, and that may be below as well as above (DWARF 5, 6.4.2: `DW_CFA_def_cfa_expression`).

use addr2line::gimli::{
    BaseAddresses, CfaRule, EhFrame, Encoding, EndianSlice, Evaluation, EvaluationResult,
    Expression, LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindSection,
    Value, X86_64,
};
use framehop::x86_64::UnwindRegsX86_64;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The unwind table of one module.
pub(super) struct Table {
    /// Where `bytes` lie in the process.
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Table {
    /// Where the frame returns to that is amid the code at `address`, if an expression says where its caller's frame is;
    /// then the registers are the caller's.
    pub(super) fn unwind(
        &self,
        address: u64,
        registers: &mut UnwindRegsX86_64,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<u64> {
        let section = EhFrame::new(&self.bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(self.start);
        let mut context = UnwindContext::new();
        let description =
            section.fde_for_address(&bases, address, EhFrame::cie_from_offset).ok()?;
        let encoding = description.cie().encoding();
        let row =
            description.unwind_info_for_address(&section, &bases, &mut context, address).ok()?;
        let CfaRule::Expression(expression) = row.cfa() else { return None };
        let expression = expression.get(&section).ok()?;
        let frame = evaluate(expression, encoding, registers, read)?;
        let mut saved = |register, otherwise: Option<i64>| {
            let offset = match row.register(register) {
                Some(RegisterRule::Offset(offset)) => Some(offset),
                _ => otherwise,
            };
            read(frame.checked_add_signed(offset?)?).ok()
        };
        let caller = saved(X86_64::RA, Some(-8))?;
        let pointer = saved(X86_64::RBP, None).unwrap_or(registers.bp());
        registers.set_ip(caller);
        registers.set_bp(pointer);
        registers.set_sp(frame);
        Some(caller)
    }
}

fn evaluate(
    expression: Expression<Bytes<'_>>,
    encoding: Encoding,
    registers: &UnwindRegsX86_64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    let mut evaluation: Evaluation<Bytes<'_>> = expression.evaluation(encoding);
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = Value::Generic(known(register, registers)?);
                evaluation.resume_with_register(value).ok()?
            }
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                evaluation.resume_with_memory(Value::Generic(read(address).ok()?)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result().last()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}

fn known(register: Register, registers: &UnwindRegsX86_64) -> Option<u64> {
    match register {
        X86_64::RSP => Some(registers.sp()),
        X86_64::RBP => Some(registers.bp()),
        _ => None,
    }
}
