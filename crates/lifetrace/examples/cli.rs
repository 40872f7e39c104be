//! A command-line program that records itself: counts the words of the files that it is given.
//!
//! ```sh
//! cargo run --release --example cli -- --trace words.lt README.md
//! lifetrace report words.lt
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs::read_to_string;
use std::process::ExitCode;

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cli: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    // Dropped at the end of this function, which ends the session; `process::exit` would, too.
    let mut _session = None;
    if arguments.next_if(|it| it == "--trace").is_some() {
        let path = arguments.next().ok_or("--trace wants a name for the trace")?;
        // Denser than usual, as programs like this are over soon.
        _session = Some(lifetrace::Recording::new(path).interval(4096).start()?);
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for path in arguments {
        let text = read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        count(&text, &mut counts);
    }
    print(counts);
    Ok(())
}

fn count(text: &str, counts: &mut HashMap<String, u64>) {
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
}

fn print(counts: HashMap<String, u64>) {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    for (word, count) in counts.iter().take(10) {
        println!("{count:7} {word}");
    }
}
