//! To the recorder, a packet at a time.

use lifetrace_transport::stream::{
    Encoder, Field, Head, Item, MOST_BLOCK, MOST_BYTES, MOST_FIELD, MOST_ITEM,
};

use super::budget::Budget;
use crate::sys;

/// Where the child tells what it finds. When nobody listens any more, it ends.
#[derive(Debug)]
pub struct Output<'a> {
    connection: sys::Descriptor,
    encoder: Encoder<'a>,
}

impl<'a> Output<'a> {
    /// To a recorder that has heard hello; `None` if there is no memory.
    pub fn begin(connection: sys::Descriptor, budget: &'a Budget) -> Option<Output<'a>> {
        let words = budget.words(MOST_BYTES / 8)?;
        // SAFETY: words are bytes.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), MOST_BYTES) };
        Some(Output { connection, encoder: Encoder::new(bytes) })
    }

    /// An item.
    pub fn put(&mut self, item: &Item<'_>) {
        self.make_room(MOST_ITEM);
        self.encoder.put(item);
    }

    /// Begins a block; its fields follow.
    #[inline]
    pub fn block(&mut self, head: &Head) {
        self.make_room(MOST_BLOCK);
        self.encoder.block(head);
    }

    /// A field of the block that was begun last.
    #[inline]
    pub fn field(&mut self, field: Field) {
        self.make_room(MOST_FIELD);
        self.encoder.field(field);
    }

    /// After a block's last field.
    #[inline]
    pub fn end_of_fields(&mut self) {
        self.make_room(MOST_FIELD);
        self.encoder.end_of_fields();
    }

    /// Sends what there is, and waits until the recorder has closed the connection.
    pub fn close(&mut self) -> ! {
        self.send();
        let mut nothing = [0];
        // Nothing comes but the end.
        let _ = sys::receive(&self.connection, &mut nothing);
        sys::exit(0)
    }

    #[inline(always)]
    fn make_room(&mut self, bytes: usize) {
        if self.encoder.room() < bytes {
            self.send();
        }
    }

    #[cold]
    fn send(&mut self) {
        let packet = self.encoder.take();
        if !packet.is_empty() && !sys::send(&self.connection, packet) {
            sys::exit(0);
        }
    }
}
