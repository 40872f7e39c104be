//! Where the bytes of a `.lt` trace are.

use std::fmt::Write as _;

use lifetrace_trace::lt::{PacketFacts, PacketKind, Summary};

/// Sums over packets.
#[derive(Debug, Default)]
pub(super) struct Totals {
    headers: Sum,
    checkpoints: Sum,
    data: Sum,
    indexes: Sum,
    ends: Sum,
    unknown: Sum,
    damaged: Sum,
    /// Columns of data packets; what else is in these are their heads.
    events: Sum,
    backtraces: Sum,
    frames: Sum,
    facts: Sum,
}

/// How many, and how long together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
    }
}

impl Totals {
    pub(super) fn add(&mut self, packet: &PacketFacts) {
        self.damage(packet.skipped);
        let sum = match packet.kind {
            PacketKind::Header => &mut self.headers,
            PacketKind::Checkpoint => &mut self.checkpoints,
            PacketKind::Index => &mut self.indexes,
            PacketKind::End => &mut self.ends,
            PacketKind::Data(columns) => {
                self.events.add(columns.steps, columns.events);
                self.backtraces.add(0, columns.backtraces);
                self.frames.add(columns.frame_count, columns.frames);
                self.facts.add(0, columns.facts);
                &mut self.data
            }
            _ => &mut self.unknown,
        };
        sum.add(1, packet.len);
    }

    /// So many bytes are in no packet.
    pub(super) fn damage(&mut self, bytes: u64) {
        self.damaged.add(u64::from(bytes > 0), bytes);
    }

    pub(super) fn damaged_bytes(&self) -> u64 {
        self.damaged.bytes
    }

    /// A table, each line with a `#` before it. `summary` is what the index says.
    pub(super) fn text(&self, summary: Option<Summary>) -> String {
        let columns = [self.events, self.backtraces, self.frames, self.facts];
        let in_columns: u64 = columns.iter().map(|column| column.bytes).sum();
        let heads = Sum { count: self.data.count, bytes: self.data.bytes - in_columns };
        let packets = [
            ("headers", self.headers),
            ("checkpoints", self.checkpoints),
            ("data packets", self.data),
            ("  their steps", self.events),
            ("  backtraces", self.backtraces),
            ("  frames", self.frames),
            ("  facts", self.facts),
            ("  heads", heads),
            ("index", self.indexes),
            ("end", self.ends),
            ("unknown", self.unknown),
            ("damaged", self.damaged),
        ];
        let all = packets.iter().filter(|(name, _)| !name.starts_with(' '));
        let all = all.fold(Sum::default(), |sum, (_, other)| Sum {
            count: sum.count + other.count,
            bytes: sum.bytes + other.bytes,
        });
        let mut text = format!("#\n# {:<15}{:>10}{:>14}{:>9}\n", "", "count", "bytes", "share");
        for (name, sum) in packets.iter().chain(&[("all", all)]) {
            if sum.bytes > 0 {
                push_row(&mut text, name, *sum, all.bytes);
            }
        }
        text + &summary.map(|summary| per_event(&summary, all.bytes)).unwrap_or_default()
    }
}

fn push_row(text: &mut String, name: &str, Sum { count, bytes }: Sum, all: u64) {
    let count = if count > 0 { count.to_string() } else { String::new() };
    let share = 100.0 * bytes as f64 / all as f64;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# {name:<15}{count:>10}{bytes:>14}{share:>7.1} %");
}

fn per_event(summary: &Summary, bytes: u64) -> String {
    let Summary { allocations, promotions, collections, .. } = *summary;
    let events = allocations.saturating_add(promotions).saturating_add(collections);
    if allocations == 0 {
        return String::new();
    }
    let per = |count: u64| bytes as f64 / count as f64;
    format!(
        "# {:.2} bytes per allocation with all that follows it ({allocations}), {:.2} per event ({events})\n",
        per(allocations),
        per(events)
    )
}
