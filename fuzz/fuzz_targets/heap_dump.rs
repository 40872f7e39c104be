//! Any lines: they are a dump of Ruby's heap, of which all can be asked; or what is wrong with them is said.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_snapshot::dominators::Dominators;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::paths::Shortest;
use lifetrace_snapshot::retained::Retained;
use lifetrace_snapshot::ruby;
use lifetrace_snapshot::tree::Tree;

fuzz_target!(|bytes: &[u8]| {
    bytes.split(|&byte| byte == b'\n').for_each(|line| drop(ruby::description(line)));
    let Ok(ruby::Dump { heap, .. }) = ruby::read(bytes) else { return };
    let graph = &heap.graph;
    let dominators = Dominators::of(graph);
    let (retained, shortest) =
        (Retained::of(graph, &dominators), Shortest::of(graph, |root| root.0 == 1));
    assert_eq!(Tree::of(graph, &dominators).walk().count(), 2 * dominators.reachable());
    for id in graph.blocks() {
        assert!(!heap.name(id).is_empty());
        assert_eq!(shortest.path(id).is_empty(), !dominators.is_reachable(id));
        assert!(retained.blocks(id) <= retained.blocks(BlockId::ALL_ROOTS));
    }
});
