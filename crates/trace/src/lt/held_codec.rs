//! What points to blocks, as bytes: who, then the blocks, each as the difference to the one before.

use std::sync::Arc;

use crate::fact::{Held, Holder};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain, cut};
use crate::ids::AllocationId;

const NOTHING: u8 = 0;
const LOST: u8 = 1;
const VARIABLE: u8 = 2;
const BLOCK: u8 = 3;
const KERNEL: u8 = 4;
const THREAD: u8 = 5;
const FILE: u8 = 6;
/// Also what later versions tell apart.
const MEMORY: u8 = 7;

/// Longest name, in bytes; longer ones are cut.
const MAX_NAME: usize = 1 << 10;

pub(super) fn put(held: &Held, out: &mut Vec<u8>) {
    match &held.by {
        Holder::Nothing => out.push(NOTHING),
        Holder::Lost => out.push(LOST),
        Holder::Variable(name) => put_named(VARIABLE, name, out),
        Holder::Block(id) => {
            out.push(BLOCK);
            out.put_varint(id.0);
        }
        Holder::Kernel => out.push(KERNEL),
        Holder::Thread(name) => put_named(THREAD, name, out),
        Holder::File(name) => put_named(FILE, name, out),
        Holder::Memory => out.push(MEMORY),
    }
    let mut last = 0;
    out.put_varint(held.blocks.len() as u64);
    for id in &held.blocks {
        out.put_signed(id.0.wrapping_sub(last) as i64);
        last = id.0;
    }
}

pub(super) fn take(plain: &mut Plain<'_>) -> Result<Held, Fault> {
    let by = match plain.take(1)?[0] {
        NOTHING => Holder::Nothing,
        LOST => Holder::Lost,
        VARIABLE => Holder::Variable(name(plain)?),
        BLOCK => Holder::Block(AllocationId(plain.varint()?)),
        KERNEL => Holder::Kernel,
        THREAD => Holder::Thread(name(plain)?),
        FILE => Holder::File(name(plain)?),
        _ => Holder::Memory,
    };
    let count = plain.varint()?;
    let mut last = 0_u64;
    let mut block = || {
        last = last.wrapping_add(plain.signed()? as u64);
        Ok(AllocationId(last))
    };
    let blocks = (0..count).map(|_| block()).collect::<Result<_, _>>()?;
    Ok(Held { by, blocks })
}

fn put_named(kind: u8, name: &str, out: &mut Vec<u8>) {
    out.push(kind);
    out.put_bytes(cut(name, MAX_NAME).as_bytes());
}

fn name(plain: &mut Plain<'_>) -> Result<Arc<str>, Fault> {
    Ok(plain.string()?.into())
}
