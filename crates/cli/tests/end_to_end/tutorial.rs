//! The book's tutorial: its commands are run as somebody would type them, and have to print what the page says.
//!
//! Blocks of the kind `console` have commands behind `$ `, and below each what it printed on standard output and standard
//! error; `console 9` shows the first nine lines of it, and `…` if there are more. Numbers differ from run to run, and with
//! them the ends of lines; all else has to be the same. `LIFETRACE_BLESS=1` writes what was printed into the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::support::run::lifetrace;

const MORE: &str = "…";

#[test]
fn the_tutorial_prints_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let text = fs::read_to_string(&page).unwrap();
    let shell = Shell::new();
    let printed = retold(&text, &shell);
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        fs::write(&page, &printed).unwrap();
    }
    let (said, printed) = (blocks(&text), blocks(&printed));
    assert!(said.len() > 5, "{said:?}");
    for (said, printed) in said.iter().zip(&printed) {
        assert_eq!(essence(said), essence(printed), "\n{said}\n  but it printed\n{printed}");
    }
}

/// A folder with the tutorial's program.
struct Shell {
    folder: tempfile::TempDir,
    path: std::ffi::OsString,
}

impl Shell {
    fn new() -> Shell {
        let folder = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial/shop.rb");
        fs::copy(program, folder.path().join("shop.rb")).unwrap();
        let own = Path::new(lifetrace()).parent().unwrap().to_owned();
        let paths =
            std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<PathBuf>>();
        let path = std::env::join_paths(std::iter::once(own).chain(paths)).unwrap();
        Shell { folder, path }
    }

    /// What a terminal would show.
    fn run(&self, line: &str) -> String {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("exec 2>&1; {line}")]).current_dir(self.folder.path());
        command.env("PATH", &self.path).env("COLUMNS", "100");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }
}

/// The page with what its commands print now.
fn retold(page: &str, shell: &Shell) -> String {
    let mut retold = String::new();
    let mut shown = None;
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            shown =
                kind.strip_prefix("console").map(|most| most.trim().parse().unwrap_or(usize::MAX));
        }
        match (shown, line.strip_prefix("$ ")) {
            (Some(most), Some(command)) => {
                retold += &format!("{line}\n{}", beginning(&shell.run(command), most));
            }
            // What was printed the last time.
            (Some(_), None) if !line.starts_with("```") => {}
            _ => retold += &format!("{line}\n"),
        }
    }
    retold
}

fn beginning(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let more = if lines.len() > most { format!("{MORE}\n") } else { String::new() };
    lines.iter().take(most).map(|line| format!("{line}\n")).collect::<String>() + &more
}

fn blocks(page: &str) -> Vec<&str> {
    page.split("```console").skip(1).map(|block| block.split("\n```").next().unwrap()).collect()
}

/// What has to be the same: the words, and that there is a number.
fn essence(block: &str) -> Vec<String> {
    static SEVERAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#(\s*#)+").unwrap());
    static HOST: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"on \S+, from").unwrap());
    static RESIDENT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("Resident at the end:.*? (Nothing is lost)").unwrap());
    static VERDICT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("(allocated|objects)# % (?:may be noise|significant)( live|$)").unwrap()
    });
    static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
        // A number with its unit, with an interval around or behind it, or as the upper end of one.
        let number = r"(0x[0-9a-f]+|[0-9][0-9,.:/-]*)( ?(%|[KMG]iB/h|[KMG]?i?B·?s?|million|[µm]?s|min|h)( UTC)?\b)?";
        Regex::new(&format!(r"[<+-]?\s*{number}( ± {number}| [–-] {number})?|[▁▂▃▄▅▆▇█]+")).unwrap()
    });
    // The last lines that are shown may be broken elsewhere, or be of another list.
    let whole = block.trim_end_matches(MORE).trim_end();
    let whole =
        if block.ends_with(MORE) { whole.rsplit_once('\n').map_or("", |it| it.0) } else { whole };
    let whole = NUMBERS.replace_all(whole, "#").replace(" (#–#)", "").replace(" (#)", "");
    // `1 min 13 s`, and the machine's name.
    let whole = SEVERAL.replace_all(&whole, "#");
    let whole = HOST.replace_all(&whole, "on a machine, from");
    let words = whole.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    // Mending a leak changes little of what is allocated: whether that can be told from noise is chance.
    let words = VERDICT.replace_all(&words, "$1# %$2");
    // How much of its memory lives is as it is.
    RESIDENT.replace(&words, "$1").split(' ').map(str::to_owned).collect()
}

#[test]
fn what_is_chance_makes_no_difference() {
    let check = |said: &str, printed: &str| assert_eq!(essence(said), essence(printed));
    check(
        "Resident at the end: 50.7 MiB, of which 46 ± 5 MiB (90.3 %) lives.\nNothing is lost: something",
        "Resident at the end: 50.7 MiB, 51 ± 5 MiB lives, which is about all of it. Nothing\nis lost: something",
    );
    check(
        "allocated        189 MiB     196 MiB   < 25 MiB       +4.4 %   may be noise\nlive at end     45.8 MiB\n…\n…",
        "allocated        178 MiB     193 MiB   +25 ± 20 MiB   -8.0 %   significant\nlive at end     47.8 MiB\n…\n…",
    );
    let [sure, unsure] = ["significant", "may be noise"]
        .map(|it| format!("live at end  -39 ± 7 MiB  -84.9 %  {it}\nx\n"));
    assert_ne!(essence(&sure), essence(&unsure));
}
