//! Heaps in the format of V8's snapshots (`.heapsnapshot`), which Chrome's DevTools and others read.
//!
//! What roots hold is a node each, with edges for its references; roots are synthetic nodes below the first one. The
//! numbers of nodes and edges come in rows without names, as `meta` lists them.

use std::io::{self, Write};

use lifetrace_snapshot::graph::BlockId;
use lifetrace_trace::lth::Form;
use rustc_hash::FxHashMap;

use crate::opened::Opened;
use crate::steps::fields;

/// What nodes and edges consist of. Of types the first list has names, by number.
const META: &str = r#"{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint"],"string","number","number","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"],"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],"trace_node_fields":["id","function_info_index","count","size","children"],"sample_fields":["timestamp_us","last_assigned_id"],"location_fields":["object_index","script_id","line","column"]}"#;

const NODE_FIELDS: u64 = 7;
const SYNTHETIC: u8 = 9;
const ELEMENT: u8 = 1;
const PROPERTY: u8 = 2;

/// Writes what roots hold.
///
/// # Errors
/// The output's.
pub fn write_heapsnapshot(of: &Opened, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    let nodes = Nodes::of(of);
    let edges: usize = nodes.ids.iter().map(|&id| of.heap.graph.references(id).count()).sum();
    let (count, mut strings) = (nodes.ids.len(), Strings::default());
    write!(out, r#"{{"snapshot":{{"meta":{META},"node_count":{count},"edge_count":{edges},"#)?;
    write!(out, "\"trace_function_count\":0}},\n\"nodes\":[")?;
    for (index, &id) in nodes.ids.iter().enumerate() {
        let separator = if index > 0 { ",\n" } else { "" };
        let (sort, name) = (sort(of, id), strings.number(&name(of, id)));
        let (number, bytes) = (2 * index + 1, of.heap.graph.bytes(id));
        let edges = of.heap.graph.references(id).count();
        write!(out, "{separator}{sort},{name},{number},{bytes},{edges},0,0")?;
    }
    write!(out, "],\n\"edges\":[")?;
    let mut separator = "";
    for &id in &nodes.ids {
        let mut fields = fields(of, id).into_iter();
        for (at, to) in of.heap.graph.references(id).enumerate() {
            let field = fields.next().unwrap_or(at as u32);
            let (sort, name) = edge(of, id, to, field, &mut strings);
            write!(out, "{separator}{sort},{name},{}", nodes.place(to))?;
            separator = ",\n";
        }
    }
    write!(
        out,
        "],\n\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],\"locations\":[],\n"
    )?;
    strings.write(&mut out)?;
    writeln!(out, "}}")?;
    out.flush()
}

/// What is written, in its order.
struct Nodes {
    ids: Vec<BlockId>,
    /// By block, its place among these.
    places: Vec<u32>,
}

impl Nodes {
    fn of(of: &Opened) -> Nodes {
        let graph = &of.heap.graph;
        let all = [BlockId::ALL_ROOTS].into_iter().chain(graph.roots()).chain(graph.blocks());
        let ids: Vec<_> = all.filter(|&id| of.dominators.is_reachable(id)).collect();
        let mut places = vec![0; graph.len()];
        for (place, id) in ids.iter().enumerate() {
            places[id.index()] = place as u32;
        }
        Nodes { ids, places }
    }

    /// Where a node begins among the numbers of all.
    fn place(&self, id: BlockId) -> u64 {
        u64::from(self.places[id.index()]) * NODE_FIELDS
    }
}

/// Strings by their numbers.
#[derive(Default)]
struct Strings {
    numbers: FxHashMap<String, usize>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> usize {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        self.numbers.insert(text.to_owned(), self.all.len());
        self.all.push(text.to_owned());
        self.all.len() - 1
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "\"strings\":")?;
        serde_json::to_writer(out, &self.all).map_err(io::Error::from)
    }
}

/// The number of a node's type.
fn sort(of: &Opened, id: BlockId) -> u8 {
    let kind = of.heap.kind(id);
    let Some(form) = kind.and_then(|kind| of.heap.forms.get(kind.0 as usize)) else {
        return SYNTHETIC;
    };
    match form {
        Form::String => 2,
        Form::Float => 7,
        Form::FloatArray => 1,
        Form::Closure => 5,
        Form::Abstract | Form::Custom | Form::Continuation => 8,
        Form::Internal => 0,
        _ => 3,
    }
}

fn name(of: &Opened, id: BlockId) -> String {
    match id {
        BlockId::ALL_ROOTS => String::new(),
        id if of.heap.graph.is_root(id) => format!("({})", of.heap.name(id)),
        id => of.heap.name(id).to_owned(),
    }
}

/// The type of an edge, and its name or number.
fn edge(of: &Opened, from: BlockId, to: BlockId, field: u32, strings: &mut Strings) -> (u8, usize) {
    let slot = of.heap.slot(from, to).and_then(|slot| slot.name.as_deref());
    match slot {
        Some(name) => (PROPERTY, strings.number(name)),
        None => (ELEMENT, field as usize),
    }
}
