//! A bill of materials, for programs that look for known faults: CycloneDX, as JSON.

use anyhow::Result;
use serde_json::{Value, json};

use super::inventory::Component;
use super::source::Source;

/// # Errors
/// If the time cannot be written.
pub fn of(source: &Source, components: &[Component]) -> Result<String> {
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": source.date("+%Y-%m-%dT%H:%M:%SZ")?,
            "component": {
                "type": "application",
                "bom-ref": format!("pkg:generic/lifetrace@{}", source.version),
                "name": "lifetrace",
                "version": source.version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "properties": [{ "name": "commit", "value": source.commit }],
            },
        },
        "components": components.iter().map(entry).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn entry(one: &Component) -> Value {
    let mut entry = json!({
        "type": "library",
        "bom-ref": one.url,
        "name": one.name,
        "version": one.version,
        "licenses": [{ "expression": one.licence }],
        "purl": one.url,
        "externalReferences": [{ "type": "vcs", "url": one.source }],
    });
    if let Some(sum) = &one.sha256 {
        entry["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    entry
}
