//! The project's own commands: `cargo xtask` and one of the words in [`USAGE`].
//!
//! What CI runs is here and nowhere else, so a laptop can run it too. Each command is one file;
//! [`shell`] runs programs and says which, [`tools`] knows the programs that are not cargo's.
#![forbid(unsafe_code)]

mod aarch64;
mod archive;
mod arrows;
mod bench;
mod book;
mod checkers;
mod ci;
mod circles;
mod dist;
mod fleet;
mod foreign;
mod fuzz;
mod ocaml_versions;
mod python_programs;
mod python_versions;
mod readers;
mod ruby_versions;
mod shell;
mod soak;
mod synth;
mod tools;
mod versions;
mod viewer;
mod words;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test            install what the tests need (as root; else say what is missing), run them
  ci              formatting, lints, dependency arrows, circles, words, no_std, documentation, tests,
                  aarch64, OCaml 5, the viewer, and where npm and pip are, readers
  arrows          refuse dependencies between crates that ARCHITECTURE.md does not have
  circles         refuse circles between the files of a crate
  words           refuse comments of items that lean on their neighbours'
  fmt             format all code
  clippy          lint all code, warnings being errors
  aarch64         lint for aarch64, and test there what depends on the processor, under emulation; where
                  that target's standard library is, or rustup can fetch it
  ocaml-versions [VERSION]...
                  the hazards of OCaml by its versions 4.11, 4.14, 5.3 and 5.4, which are
                  fetched from apt's mirror, or from those that LIFETRACE_DEBIAN_ARCHIVE and
                  LIFETRACE_UBUNTU_ARCHIVE name
  ruby-versions [VERSION]...
                  the hazards of Ruby by its versions 3.2 and 3.3, which are fetched likewise
  python-versions [VERSION]...
                  the hazards of Python by its versions 3.12, 3.13 and 3.14, which are fetched likewise
  python-programs tests with programs and packages of other people's: gunicorn and Flask, numpy and pandas, pytest,
                  gevent, a kernel of Jupyter's, pip, which pip fetches
  book            check the links of all pages, and make the book of docs/ in the target folder, by mdBook, which is
                  built if it is not there
  viewer          check, build and test the viewer's browser half, where Node is, and Chromium; refuses a built
                  file that is not the committed one
  fleet           format, lint and test `lifetrace-fleet`, which is built apart as it takes a query engine to be
                  built (40 minutes of processor time), and where pip is, have DuckDB and pyarrow read its datasets
  dist [--check | --twice]
                  the packages, in target/dist: an archive, Debian's, the gem; tried in clean systems of Debian's,
                  old and new, where we are root; or built in another folder, too, and compared
  package         build the crates that can be published from what would be published
  bench native [--workload NAME]... [--variant NAME]... [--rounds N] [--no-record]
                  cost of `record`, and of its peers, on whole programs; appends to
                  benchmarks/record/native-2 and writes the table of docs/costs.md
  bench ruby [--workload NAME]... [--variant NAME]... [--rounds N] [--no-record]
                  cost of `record` on Ruby programs: objects and malloc
  bench python [--workload NAME]... [--variant NAME]... [--rounds N] [--no-record]
                  cost of `record` on Python programs, beside memray's (after `cargo xtask python-programs`) and
                  tracemalloc's; appends to benchmarks/record/python
  bench ocaml [--workload NAME]... [--variant NAME]... [--rounds N] [--no-record] [--at-once]
                  cost of `record`, of the runtime's sampler alone, and of Memtrace where ocamlfind knows
                  it, on OCaml programs, one run at a time or those of a round at once; appends to
                  benchmarks/record/ocaml or ocaml-at-once
  bench inside [--workload NAME]... [--variant NAME]... [--rounds N] [--no-record]
                  cost of the crate `lifetrace` to Rust programs, idle and recording, and of other
                  allocators that record; appends to benchmarks/record/inside
  bench table     write the table of docs/costs.md again from that record
  bench instructions
                  what `record` adds to whole programs, in instructions, and where; appends to
                  benchmarks/record/instructions
  bench pair      instructions of an unsampled malloc and free; appends to benchmarks/record/pair
  bench attached  what it costs redis-server to be attached to, and to have been; appends to
                  benchmarks/record/attached
  bench held      what a look for lost blocks costs: a row in benchmarks/record/held
  bench snapshots what a snapshot of a Ruby program's heap costs, beside a dump by the machine itself: rows in
                  benchmarks/record/snapshots
  bench ocaml-snapshots
                  what a snapshot of an OCaml program's heap costs; rows in benchmarks/record/ocaml-snapshots
  bench churn [PAIRS]
                  resident memory after long use, under four allocators; appends to
                  benchmarks/record/churn
  bench arena     instructions of the fast paths of arenas, with sampling and without; appends to
                  benchmarks/record/arena
  bench draws     cost of drawing a gap between samples; appends to benchmarks/record/draws
  bench sample    cost of a sample and of a frame; appends to benchmarks/record/sample
  bench trace [FILE]
                  speed of reading and writing a trace; appends to benchmarks/record/trace
  bench report [--large]
                  time and memory of `report` on synthetic traces of up to 10 million events (or one
                  of 100 million); appends to benchmarks/record/report
  bench fleet [RUNS]...
                  how fast traces become a dataset, how large it is, and how long answers take, of fleets of so many
                  runs; appends to benchmarks/record/fleet
  bench live      processor time that the live page costs, of 100,000 live samples; appends to
                  benchmarks/record/live
  bench viewer    how long the viewer's page takes to answer, of 100,000 and of a million samples, in
                  Chromium; appends to benchmarks/record/viewer
  loom            model checking of the ring and of the agent's phases
  miri            Miri on the transport crate, where a toolchain has it
  semver COMMIT   whether what uses the crate `lifetrace` as it was then still compiles, where there
                  is cargo-semver-checks
  readers         exports as Go's pprof and Mozilla's profiler understand them, which come from PyPI
                  (by python3 with pip) and npm
  soak NAME       a long run that must pass: cpython [TEST]..., sqlite, stress [--minutes N], kills,
                   killers [NAME]..., friends [NAME]..., snapshots [NAME]..., attach [ROUNDS] [NAME]...,
                   collector [--minutes N | --sessions N];
                  see docs/verification.md
  synth --events 10M [--seed N] [--stacks json|server|mixed] [--threads N] [--gc] [-f] -o OUT.lt
                  write a synthetic trace, the same for the same words
  fuzz [SECONDS]  coverage-guided fuzzing of the trace reader, 60 seconds by default";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    std::env::set_current_dir(shell::root())?;
    match words[..] {
        ["test"] => ci::test(),
        ["ci"] => ci::ci(),
        ["arrows"] => arrows::check(),
        ["circles"] => circles::check(),
        ["words"] => words::check(),
        ["fmt"] => ci::fmt(),
        ["clippy"] => ci::clippy(),
        ["book"] => book::build(),
        ["viewer"] => viewer::check(),
        ["fleet"] => fleet::check(),
        ["package"] => ci::package(),
        ["dist", ref words @ ..] => dist::run(words),
        ["aarch64"] => aarch64::check(),
        ["ruby-versions", ref versions @ ..] => ruby_versions::RUBY.test(versions),
        ["python-programs"] => python_programs::test(),
        ["python-versions", ref versions @ ..] => python_versions::PYTHON.test(versions),
        ["ocaml-versions", ref versions @ ..] => ocaml_versions::OCAML.test(versions),
        ["bench", "native", ref options @ ..] => bench::native::run(options),
        ["bench", "ocaml", ref options @ ..] => bench::ocaml::run(options),
        ["bench", "python", ref options @ ..] => bench::python::run(options),
        ["bench", "ruby", ref options @ ..] => bench::ruby::run(options),
        ["bench", "inside", ref options @ ..] => bench::inside::run(options),
        ["bench", "table"] => bench::table::write(),
        ["bench", "instructions"] => bench::instructions::run(),
        ["bench", "arena"] => bench::arena::run(),
        ["bench", "draws"] => bench::draws::run(),
        ["bench", "sample"] => bench::sample::run(),
        ["bench", "pair"] => bench::pair::run(),
        ["bench", "attached"] => bench::attached::run(),
        ["bench", "held"] => bench::held::run(),
        ["bench", "fleet", ref sizes @ ..] => bench::fleet::run(sizes),
        ["bench", "snapshots"] => bench::snapshots::run(),
        ["bench", "ocaml-snapshots"] => bench::ocaml_snapshots::run(),
        ["bench", "churn"] => bench::churn::run(None),
        ["bench", "churn", pairs] => bench::churn::run(Some(pairs)),
        ["bench", "trace"] => bench::trace::run(None),
        ["bench", "trace", file] => bench::trace::run(Some(file.as_ref())),
        ["bench", "report"] => bench::report::run(false),
        ["bench", "report", "--large"] => bench::report::run(true),
        ["bench", "viewer"] => bench::viewer::run(),
        ["bench", "live"] => bench::live::run(),
        ["loom"] => checkers::loom(),
        ["miri"] => checkers::miri(),
        ["semver", since] => checkers::semver(since),
        ["readers"] => readers::run(),
        ["soak", ref words @ ..] => soak::run(words),
        ["synth", ref words @ ..] => synth::run(words),
        ["fuzz"] => fuzz::run(60),
        ["fuzz", seconds] => fuzz::run(seconds.parse()?),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("no such command: {}\n{USAGE}", words.join(" ")),
    }
}
