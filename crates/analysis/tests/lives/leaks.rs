//! Leaks are told from what only looks like them.

use lifetrace_analysis::Observer;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::history;
use lifetrace_analysis::leaks::{Holding, Judgement, Kind, Leaks};
use lifetrace_trace::ids::Timestamp;

use crate::program::{Block, Book, Program, Random, SECOND, START, number, replay, sites};

const END: u64 = 3600 * SECOND;
const WORDS: u64 = 64;
/// One hit in 8 KiB: a sixteenth of the blocks.
const RATE: f64 = 1.0 / 1024.0;
const LEAK: u64 = 1;
const CACHE: u64 = 2;
const TABLES: u64 = 3;
const CHURN: u64 = 4;
const CHURN_WITH_LEAK: u64 = 5;
const SESSIONS: u64 = 6;
const FREED_AT_EXIT: u64 = 7;
/// Blocks that are leaked in an hour, at each of two places.
const LEAKED: u64 = 4000;

fn server(seed: u64) -> Program {
    let mut random = Random(seed);
    let mut blocks = Vec::new();
    let mut add = |site, born: u64, died: Option<u64>| {
        blocks.push(Block { born, died: died.filter(|&died| died < END), words: WORDS, site });
    };
    for number in 0..LEAKED {
        let mut at = |from, to| (from + (to - from) * random.unit()) as u64;
        let [end, early] = [END as f64, END as f64 / 50.0];
        add(LEAK, at(0.0, end), None);
        add(CHURN_WITH_LEAK, at(0.0, end), None);
        add(TABLES, at(0.0, early), None);
        let born = at(0.0, end);
        add(CHURN, born, Some(born + at(0.0, 1e6)));
        add(CHURN_WITH_LEAK, born, Some(born + at(0.0, 1e6)));
        add(FREED_AT_EXIT, born, Some(END - 1));
        add(CACHE, number * END / LEAKED, Some((number + 500) * END / LEAKED));
    }
    for _ in 0..LEAKED {
        let born = (END as f64 * random.unit()) as u64;
        let age = random.log_uniform(1e6, 1.5 * END as f64) as u64;
        add(SESSIONS, born, Some(born + age));
    }
    Program { blocks, cycles: Vec::new(), end: END }
}

struct Live(Vec<NodeId>);

impl Observer for Live {
    fn survived(&mut self, block: &history::Block, _end: Timestamp) {
        self.0.push(block.backtrace);
    }
}

/// Judges as a report does, and gives the kinds by the numbers of callsites.
fn judge(program: &Program, rate: f64, seed: u64) -> (Judgement, Vec<(u64, Kind)>) {
    let book = Book::new();
    let mut live = Live(Vec::new());
    let tree = replay(program, rate, seed, &mut live);
    let sites = sites(&tree, &book);
    let holders = live.0.iter().filter_map(|&node| sites.of(node));
    let start = Timestamp(START);
    let mut observed = Leaks::new(&sites, start, holders);
    replay(program, rate, seed, &mut observed);
    let judgement = observed.judge(program.end());
    let kind = |it: &Holding| (number(&sites, it.site), it.kind);
    let kinds = judgement.holdings.iter().map(kind).collect();
    (judgement, kinds)
}

#[test]
fn leaks_are_found_and_what_looks_like_them_is_not() {
    const RUNS: u64 = 40;
    let (mut found, mut false_alarms, mut filling, mut rates) = (0, 0, 0, 0);
    for seed in 0..RUNS {
        let (judgement, kinds) = judge(&server(seed), RATE, seed);
        let is = |site, kind| kinds.contains(&(site, kind));
        found += usize::from(is(LEAK, Kind::Leak)) + usize::from(is(CHURN_WITH_LEAK, Kind::Leak));
        let innocent = [CACHE, TABLES, SESSIONS, CHURN];
        false_alarms += innocent.iter().filter(|&&site| is(site, Kind::Leak)).count();
        filling += usize::from(is(SESSIONS, Kind::Filling));
        assert!(is(TABLES, Kind::StartUp), "{kinds:?}");
        assert!(!kinds.iter().any(|&(site, _)| site == FREED_AT_EXIT), "{kinds:?}");
        let together = judgement.together.unwrap();
        let truth = (2 * LEAKED * WORDS * 8) as f64;
        rates += usize::from((together.low..=together.high).contains(&truth));
        assert!(!judgement.is_too_short);
    }
    let runs = RUNS as usize;
    assert!(found >= 2 * runs - 2, "{found} of {}", 2 * runs);
    assert!(false_alarms <= 1, "{false_alarms}");
    assert!(filling >= 4, "{filling}");
    assert!(rates >= runs - 6, "{rates}");
}

#[test]
fn the_leaks_come_first_and_their_past_is_told() {
    let (judgement, kinds) = judge(&server(7), 1.0, 0);
    let [first, second] = [0, 1].map(|at| &judgement.holdings[at]);
    assert_eq!([first.kind, second.kind], [Kind::Leak; 2]);
    for (holding, (site, _)) in [first, second].into_iter().zip(&kinds) {
        assert_eq!(holding.live.bytes.value, (LEAKED * WORDS * 8) as f64);
        assert!(holding.oldest > END * 99 / 100, "{}", holding.oldest);
        match *site {
            LEAK => assert!(holding.past.is_none() && holding.never_freed.value == 1.0),
            _ => {
                let past = holding.past.unwrap();
                assert_eq!(holding.never_freed.value, 0.5);
                assert!((0.9e6..=1.1e6).contains(&past.most_lived), "{past:?}");
                assert!(past.outliving.value > 0.99, "{past:?}");
            }
        }
        let middle = holding.heights[holding.heights.len() / 2] / holding.live.bytes.value;
        assert!((0.45..0.55).contains(&middle), "{middle}");
    }
}

#[test]
fn a_few_old_blocks_that_are_freed_after_all_excuse_no_leak() {
    let block = |born, died| Block { born, died, words: WORDS, site: LEAK };
    let mut blocks: Vec<_> = (0..LEAKED).map(|it| block(it * END / LEAKED, None)).collect();
    blocks.extend((0..20).map(|it| block(it * SECOND, Some(END - 60 * SECOND))));
    let (judgement, kinds) = judge(&Program { blocks, cycles: Vec::new(), end: END }, 1.0, 0);
    assert!(judgement.holdings[0].past.unwrap().outliving.value < 0.05);
    assert_eq!(kinds, [(LEAK, Kind::Leak)]);
}

#[test]
fn a_short_trace_says_so_and_an_empty_one_has_nothing() {
    let block = |born| Block { born, died: None, words: 8, site: LEAK };
    let blocks = (0..9000).map(|number| block(number * 1000)).collect();
    let (judgement, _) = judge(&Program { blocks, cycles: Vec::new(), end: 9 * SECOND }, 1.0, 0);
    assert!(judgement.is_too_short);
    let (empty, _) = judge(&Program { end: END, ..Program::default() }, 1.0, 0);
    assert!(empty.holdings.is_empty() && empty.together.is_none());
}
