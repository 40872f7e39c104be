//! A profile as `gzip` and `protoc` read it, which know nothing of us.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a profile has, with names for numbers.
#[derive(Debug, Default)]
pub struct Profile {
    pub types: Vec<String>,
    pub shown_first: String,
    pub samples: Vec<Sample>,
    pub duration_nanos: i64,
    pub period: i64,
}

#[derive(Debug, Default)]
pub struct Sample {
    pub values: Vec<i64>,
    /// Innermost first.
    pub functions: Vec<String>,
}

impl Profile {
    pub fn decode(bytes: &[u8]) -> Profile {
        let plain = fed(Command::new("gzip").arg("-dc"), bytes);
        let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/readers");
        let mut protoc = Command::new("protoc");
        protoc.args(["--decode=Profile", "profile.proto"]).current_dir(schema);
        Message::parse(&String::from_utf8(fed(&mut protoc, &plain)).unwrap()).profile()
    }

    /// The sum of a column, of the samples in which a function of that name is.
    pub fn sum(&self, column: &str, function: &str) -> i64 {
        let column = self.types.iter().position(|name| name == column).expect("a column");
        let has = |sample: &&Sample| sample.functions.iter().any(|name| name.contains(function));
        self.samples.iter().filter(has).map(|sample| sample.values[column]).sum()
    }
}

fn fed(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    let feeder = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success(), "{command:?}");
    output.stdout
}

/// A message as protoc prints it.
#[derive(Debug, Default)]
struct Message {
    fields: Vec<(String, String)>,
    messages: Vec<(String, Message)>,
}

impl Message {
    fn parse(text: &str) -> Message {
        let mut open = vec![(String::new(), Message::default())];
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_suffix(" {") {
                open.push((name.to_owned(), Message::default()));
            } else if line == "}" {
                let done = open.pop().unwrap();
                open.last_mut().unwrap().1.messages.push(done);
            } else {
                let (name, value) = line.split_once(": ").unwrap();
                open.last_mut()
                    .unwrap()
                    .1
                    .fields
                    .push((name.into(), value.trim_matches('"').into()));
            }
        }
        open.pop().unwrap().1
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Message> {
        self.messages.iter().filter(move |(it, _)| it == name).map(|(_, message)| message)
    }

    fn texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(it, _)| it == name).map(|(_, value)| &**value)
    }

    fn numbers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = i64> + 'a {
        self.texts(name).map(|text| text.parse().unwrap())
    }

    fn number(&self, name: &str) -> i64 {
        self.numbers(name).next().unwrap_or(0)
    }

    fn profile(&self) -> Profile {
        let strings: Vec<&str> = self.texts("string_table").collect();
        let text = |index: i64| strings[index as usize].to_owned();
        let functions: HashMap<i64, i64> =
            self.all("function").map(|it| (it.number("id"), it.number("name"))).collect();
        let lines = |location: &Message| -> Vec<String> {
            location.all("line").map(|line| text(functions[&line.number("function_id")])).collect()
        };
        let locations: HashMap<i64, Vec<String>> =
            self.all("location").map(|it| (it.number("id"), lines(it))).collect();
        let sample = |sample: &Message| Sample {
            values: sample.numbers("value").collect(),
            functions: sample
                .numbers("location_id")
                .flat_map(|id| locations[&id].clone())
                .collect(),
        };
        Profile {
            types: self.all("sample_type").map(|it| text(it.number("type"))).collect(),
            shown_first: text(self.number("default_sample_type")),
            samples: self.all("sample").map(sample).collect(),
            duration_nanos: self.number("duration_nanos"),
            period: self.number("period"),
        }
    }
}
