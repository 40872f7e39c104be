//! A page: the application, the first question, and the data.

use std::io::{BufWriter, Write};

use serde::Serialize;

use crate::bundle::Bundle;
use crate::template::Template;

/// Readers of another number cannot read the page.
const FORMAT: u32 = 1;

/// What a page shows first. What is empty is left to the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Which blocks, as `--filter` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Frames that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Only what goes through this path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Whether a function that calls itself appears once only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub collapse_recursion: bool,
    /// The name of a view of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The name of a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// A page of some traces.
#[derive(Debug)]
pub struct Page<'a> {
    /// Shown by the browser.
    pub title: String,
    /// The traces, in their order.
    pub bundles: Vec<Bundle>,
    /// What is shown first.
    pub question: Question,
    /// The application.
    pub template: Template<'a>,
}

#[derive(Serialize)]
struct Head<'a> {
    format: u32,
    title: &'a str,
    traces: usize,
    options: &'a Question,
}

impl Page<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, output: impl Write) -> anyhow::Result<()> {
        let mut output = BufWriter::new(output);
        let [before, after] = self.template.parts();
        let head = Head {
            format: FORMAT,
            title: &self.title,
            traces: self.bundles.len(),
            options: &self.question,
        };
        let head = for_markup(&serde_json::to_string(&head)?);
        write!(
            output,
            "{before}<script type=\"application/json\" id=\"lifetrace-page\">{head}</script>"
        )?;
        for bundle in &self.bundles {
            output.write_all(b"\n<script type=\"text/plain\" class=\"lifetrace-trace\">")?;
            bundle.write(&mut output)?;
            output.write_all(b"</script>")?;
        }
        output.write_all(after.as_bytes())?;
        Ok(output.flush()?)
    }
}

/// JSON that no reader of markup can take for any. Outside of strings it has no such character.
fn for_markup(json: &str) -> String {
    json.replace('<', "\\u003c")
}
