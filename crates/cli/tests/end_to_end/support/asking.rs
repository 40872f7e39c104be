//! A collector that answers over HTTP, and who asks it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use lifetrace_pprof::proto::Profile;

use super::collecting::{Collecting, Place, wait_for};
use super::pprof::decoded;

/// A collector that answers.
pub struct Answering {
    pub place: Place,
    pub collecting: Collecting,
    /// `127.0.0.1:PORT`
    pub address: String,
    pub token: String,
}

/// What it says.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answering {
    pub fn new(options: &[&str]) -> Answering {
        let place = Place::new();
        let mut collecting = place.collect(&[&["--listen", "127.0.0.1:0"], options].concat());
        let told = collecting.line();
        let address = told.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{told}")).to_owned();
        let token = fs::read_to_string(token_file(&place)).unwrap().trim().to_owned();
        Answering { place, collecting, address, token }
    }

    /// Asks as one who may.
    pub fn ask(&self, method: &str, target: &str, headers: &str) -> Answer {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", self.token);
        self.say(&format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address))
    }

    /// Says this, whatever it is.
    pub fn say(&self, text: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        Answer::hear(stream)
    }

    /// Asks until there is an answer: what is being read is to be asked for again.
    pub fn get(&self, target: &str) -> Answer {
        let mut answer = self.ask("GET", target, "");
        wait_for(target, || {
            if answer.status == 503 {
                answer = self.ask("GET", target, "");
            }
            answer.status != 503
        });
        answer
    }

    pub fn json(&self, target: &str) -> serde_json::Value {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    pub fn profile(&self, target: &str) -> Profile {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        decoded(&answer.body)
    }

    /// The value of a metric, with these labels as they are written.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics").text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }
}

/// Where the token is, if nobody says.
pub fn token_file(place: &Place) -> PathBuf {
    place.traces_folder().join("http.token")
}

impl Answer {
    pub fn hear(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head[9..12].parse().unwrap();
        Answer { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What all samples of a profile have of a type.
pub fn sum(profile: &Profile, name: &str) -> i64 {
    profile.sample.iter().map(|sample| sample.value[column(profile, name)]).sum()
}

/// The place of a type among a profile's numbers.
pub fn column(profile: &Profile, name: &str) -> usize {
    let mut types = profile.sample_type.iter();
    types.position(|it| profile.string_table[it.kind as usize] == name).unwrap()
}
