//! Parses, changes and prints a generated JSON document, as often as the argument says: small
//! strings, tree nodes, and a string that grows.

use serde_json::{Value, json};

/// A document of megabytes would fragment glibc's heap by chance, which costs more than recording.
const RECORDS: u64 = 500;

/// Does so.
pub fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let mut text = document().to_string();
    for round in 0..rounds {
        let mut value: Value = serde_json::from_str(&text).expect("we have printed it");
        change(&mut value, round);
        text = value.to_string();
    }
    println!("{}", text.len());
}

fn document() -> Value {
    (0..RECORDS)
        .map(|number| {
            json!({
                "id": number,
                "name": format!("name {number}"),
                "tags": ["a", format!("b{number}")],
                "place": {"row": number % 97, "column": number % 89},
            })
        })
        .collect()
}

fn change(value: &mut Value, round: u64) {
    for record in value.as_array_mut().into_iter().flatten() {
        record["name"] = format!("name {} of round {round}", record["id"]).into();
        if let Some(tags) = record["tags"].as_array_mut() {
            tags.rotate_left(1);
        }
    }
}
