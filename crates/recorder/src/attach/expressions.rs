//! Functions that go on on another stack, as OCaml 5's do where OCaml code calls C and is called by it.
//!
//! The caller's frame is where a word of the stack says, and that may be below as well as above. The unwind table tells it
//! by an expression that reads memory (DWARF 5, 6.4.2: `DW_CFA_def_cfa_expression`), which the unwinder does not: it would
//! go on by a frame pointer that is none.

use std::ops::Range;

use addr2line::gimli::{
    self, BaseAddresses, CfaRule, EhFrame, Encoding, EndianSlice, Evaluation, EvaluationResult,
    Expression, LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindSection,
    Value, X86_64,
};
use framehop::x86_64::UnwindRegsX86_64;

use super::memory::{Memory, Module};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Their names, in the table of symbols that each executable of OCaml keeps.
const SWITCHES: [&[u8]; 4] =
    [b"caml_c_call", b"caml_c_call_stack_args", b"caml_start_program", b"caml_runstack"];

/// Those of one module.
pub(super) struct Switches {
    functions: Vec<Range<u64>>,
    /// Where the unwind table lies in the process.
    start: u64,
    table: Vec<u8>,
}

impl Switches {
    /// `None` if it has none, or no unwind table.
    pub(super) fn of(memory: &Memory, module: &Module) -> Option<Switches> {
        let found = module.symbols.iter().filter(|it| SWITCHES.contains(&&*it.name));
        let functions: Vec<_> = found.map(|it| it.address..it.address + it.size.max(1)).collect();
        let [_, start, end] = module.unwind.filter(|_| !functions.is_empty())?;
        let table = memory.read(start, (end - start) as usize)?;
        Some(Switches { functions, start, table })
    }

    /// Whether one of them has the code at `address`.
    pub(super) fn has(&self, address: u64) -> bool {
        self.functions.iter().any(|it| it.contains(&address))
    }

    /// Where the frame returns to that is amid the code at `address`; then the registers are the caller's. `None` if no
    /// expression says where that is, as in OCaml 4, which has no other stacks.
    ///
    /// # Errors
    /// If an expression does, and cannot be worked out.
    pub(super) fn unwind(
        &self,
        address: u64,
        registers: &mut UnwindRegsX86_64,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> Result<Option<u64>, Unclear> {
        let section = EhFrame::new(&self.table, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(self.start);
        let mut context = UnwindContext::new();
        let description = section.fde_for_address(&bases, address, EhFrame::cie_from_offset)?;
        let row = description.unwind_info_for_address(&section, &bases, &mut context, address)?;
        let CfaRule::Expression(expression) = row.cfa() else { return Ok(None) };
        let (expression, encoding) = (expression.get(&section)?, description.cie().encoding());
        let frame = evaluate(expression, encoding, registers, read).ok_or(Unclear)?;
        let mut saved = |register, otherwise: Option<i64>| {
            let offset = match row.register(register) {
                Some(RegisterRule::Offset(offset)) => Some(offset),
                _ => otherwise,
            };
            read(frame.checked_add_signed(offset?)?).ok()
        };
        let caller = saved(X86_64::RA, Some(-8)).ok_or(Unclear)?;
        let pointer = saved(X86_64::RBP, None).unwrap_or(registers.bp());
        registers.set_ip(caller);
        registers.set_bp(pointer);
        registers.set_sp(frame);
        Ok(Some(caller))
    }
}

/// What the table says of a frame cannot be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclear;

impl From<gimli::Error> for Unclear {
    fn from(_: gimli::Error) -> Unclear {
        Unclear
    }
}

fn evaluate(
    expression: Expression<Bytes<'_>>,
    encoding: Encoding,
    registers: &UnwindRegsX86_64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    /// More than any compiler writes; it might go round in circles.
    const MOST_STEPS: u32 = 256;
    let mut evaluation: Evaluation<Bytes<'_>> = expression.evaluation(encoding);
    evaluation.set_max_iterations(MOST_STEPS);
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
