//! OCaml programs as Debian ships them, stripped: they do what they always do, and what is sampled of them is what
//! their collectors count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lifetrace_trace::event::Source;

use crate::support::births;
use crate::support::profile::assert_complete;
use crate::support::run::{Outcome, Recording, Target, file_name, files};

/// One in two million estimates is further off.
const SIGMAS: f64 = 5.0;

/// Lets the runtime print what its collector has counted, on standard error as the program ends.
const COUNTERS: (&str, &str) = ("OCAMLRUNPARAM", "v=0x400");

/// Modules of the standard library, as it ships them.
const MODULES: &[&str] = &["camlinternalFormat.ml", "scanf.ml", "format.ml"];

const PROOF: &str = "
Require Import Arith List.
Theorem plus_swap : forall n m p, n + (m + p) = m + (n + p).
Proof. intros. rewrite Nat.add_assoc. rewrite (Nat.add_comm n m). rewrite <- Nat.add_assoc. reflexivity. Qed.
Fixpoint sum (l : list nat) : nat := match l with nil => 0 | x :: r => x + sum r end.
Theorem sum_app : forall a b, sum (a ++ b) = sum a + sum b.
Proof. induction a; intros; simpl; auto. rewrite IHa. apply Nat.add_assoc. Qed.
Eval vm_compute in sum (seq 0 200).
";

const MAIN: &str = "let () = print_endline (Numbers.text (List.init 20 Fun.id))\n";
const NUMBERS: &str = "let text numbers = String.concat \" \" (List.map string_of_int numbers)\n";

/// What a program is run on, and what comes of it.
struct Work {
    prepare: fn(&Path),
    words: &'static [&'static str],
    /// Files and folders that it makes or changes.
    results: &'static [&'static str],
}

/// What can be seen of a run: also the contents of its results.
type Seen = (i32, String, BTreeMap<String, Vec<u8>>);

impl Work {
    /// Runs it twice in the same folder, bare and recorded; it must do the same.
    fn check(&self, options: &[&str]) -> (Outcome, Recording) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        let target = Target::new(self.words).folder(&place).environment(&[COUNTERS]);
        let home = folder.path().join("home");
        let target = target.environment(&[("HOME", &home), ("UNISON", &home)]);
        self.begin(&place);
        let bare = target.bare();
        let expected = self.seen(&place, &bare);
        assert_eq!(expected.0, 0, "{bare:?}");
        let _ = std::fs::remove_dir_all(&home);
        self.begin(&place);
        let recording = target.record(options);
        assert_eq!(self.seen(&place, &recording.outcome), expected, "{:?}", recording.outcome);
        let is_trace = |path: &&PathBuf| path.extension().is_some_and(|it| it == "lt");
        recording.traces().iter().filter(is_trace).for_each(|trace| assert_complete(trace));
        (bare, recording)
    }

    fn begin(&self, place: &Path) {
        let _ = std::fs::remove_dir_all(place);
        std::fs::create_dir(place).unwrap();
        (self.prepare)(place);
    }

    fn seen(&self, place: &Path, outcome: &Outcome) -> Seen {
        let mut contents = BTreeMap::new();
        self.results.iter().for_each(|name| read(&place.join(name), &mut contents));
        (outcome.code, outcome.stdout_text(), contents)
    }
}

/// The contents of a file, or of all files of a folder.
fn read(path: &Path, contents: &mut BTreeMap<String, Vec<u8>>) {
    if path.is_dir() {
        files(path).iter().for_each(|file| read(file, contents));
    } else {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        contents.insert(path.display().to_string(), bytes);
    }
}

/// A counter as the runtime prints it: `minor_words: 123`.
fn counter(outcome: &Outcome, name: &str) -> f64 {
    let said = outcome.stderr_text();
    let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {name} in {outcome:?}")).parse().unwrap()
}

/// Compares estimates of the one process with its counters: of what it allocated with those of the bare run, since
/// samples themselves take words of the heap; of what was promoted with those of the recorded run, since what is
/// promoted depends on when the collector runs.
fn compare(bare: &Outcome, recording: &Recording, program: &str) {
    let trace = recording.trace_of(program);
    let rate = crate::support::profile::read_through(&trace).sampling.rate();
    let births = births::without_frames(&trace);
    let inside = |what: &str, counted: f64, wanted: &dyn Fn(&births::Birth) -> bool| {
        let (mut words, mut variance) = (0.0, 0.0);
        for birth in births.iter().filter(|birth| wanted(birth)) {
            let units = (birth.words + 1) as f64;
            let included = 1.0 - (1.0 - rate).powf(units);
            words += units / included;
            variance += (1.0 - included) * (units / included).powi(2);
        }
        // A block that C code allocates may be sampled a little earlier or later.
        let allowed = SIGMAS * variance.sqrt() + 0.005 * counted;
        assert!(
            (words - counted).abs() < allowed,
            "{what}: {words} ± {allowed}, counted {counted}"
        );
    };
    let minor = |birth: &births::Birth| birth.source == Source::Minor;
    inside("minor words", counter(bare, "minor_words"), &minor);
    let promoted = counter(&recording.outcome, "promoted_words");
    inside("promoted words", promoted, &|birth| minor(birth) && birth.is_promoted);
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A grammar of expressions with many operators.
fn grammar() -> String {
    let operators: Vec<String> = (0..40).map(|number| format!("OPERATOR{number}")).collect();
    let tokens = operators.join(" ");
    let levels = operators.iter().map(|name| format!("%left {name}\n")).collect::<String>();
    let rules =
        operators.iter().map(|name| format!("| left = e {name} right = e {{ left + right }}\n"));
    format!(
        "%token <int> INT\n%token {tokens} LEFT RIGHT END\n{levels}%start <int> main\n%type <int> e\n%%\n\
         main: e END {{ $1 }}\ne: INT {{ $1 }}\n| LEFT e RIGHT {{ $2 }}\n{}",
        rules.collect::<String>()
    )
}

fn compiler() -> Work {
    Work {
        prepare: |place| {
            for name in MODULES {
                std::fs::copy(Path::new("/usr/lib/ocaml").join(name), place.join(name)).unwrap();
            }
        },
        words: &[
            "ocamlopt.opt",
            "-w",
            "-a",
            "-c",
            "camlinternalFormat.ml",
            "scanf.ml",
            "format.ml",
        ],
        results: &["camlinternalFormat.o", "scanf.o", "format.o", "format.cmx"],
    }
}

#[test]
fn the_compiler_does_what_it_always_does() {
    let (bare, recording) = compiler().check(&["--rate", "1e-4"]);
    compare(&bare, &recording, "ocamlopt.opt");
}

fn coq() -> Work {
    Work {
        prepare: |place| write(place, &[("proof.v", PROOF)]),
        words: &["coqc", "-q", "proof.v"],
        results: &["proof.vo", "proof.glob"],
    }
}

#[test]
fn coq_does_what_it_always_does() {
    let (bare, recording) = coq().check(&["--rate", "1e-5"]);
    compare(&bare, &recording, "coqc");
}

fn menhir() -> Work {
    Work {
        prepare: |place| write(place, &[("grammar.mly", &grammar())]),
        words: &["menhir", "grammar.mly"],
        results: &["grammar.ml", "grammar.mli"],
    }
}

#[test]
fn menhir_does_what_it_always_does() {
    let (bare, recording) = menhir().check(&["--rate", "1e-4"]);
    compare(&bare, &recording, "menhir");
}

/// It starts the compilers; each leaves a trace.
#[test]
fn dune_does_what_it_always_does() {
    let work = Work {
        prepare: |place| {
            let stanza = "(executable (name main))";
            let project = "(lang dune 2.9)";
            let files = [
                ("dune", stanza),
                ("dune-project", project),
                ("main.ml", MAIN),
                ("numbers.ml", NUMBERS),
            ];
            write(place, &files);
        },
        words: &["dune", "exec", "--root", ".", "--display", "quiet", "./main.exe"],
        results: &["_build/default/main.exe"],
    };
    let (_, recording) = work.check(&["--rate", "1e-4"]);
    let traces = recording.traces();
    for program in ["dune.", "ocamlopt", "ocamlc", "main.exe"] {
        assert!(
            traces.iter().any(|trace| file_name(trace).starts_with(program)),
            "{program}: {traces:?}"
        );
    }
}

fn unison() -> Work {
    Work {
        prepare: |place| {
            for number in 0..300 {
                let (root, text) = (["a", "b"][number % 2], "text\n".repeat(number));
                write(place, &[(&format!("{root}/{}/file{number}", number % 7), &text)]);
            }
        },
        words: &["unison", "a", "b", "-batch", "-ui", "text", "-silent"],
        results: &["a", "b"],
    }
}

#[test]
fn unison_does_what_it_always_does() {
    unison().check(&["--rate", "1e-4"]);
}
