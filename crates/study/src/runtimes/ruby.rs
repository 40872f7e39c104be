//! Ruby.

use super::Runtime;

pub(super) const RUBY: Runtime = Runtime { name: "ruby", notice, young_heap: None };

fn notice(code: &str) -> Option<&'static str> {
    Some(match code {
        "ruby-unknown" => {
            "has a Ruby that lacks what its objects are sampled by: they are not in the trace"
        }
        "ruby-hidden" => "has a Ruby that it does not export: its objects are not in the trace",
        "no-ruby" => "has no Ruby: nothing was sampled (--sources native samples malloc)",
        _ => return None,
    })
}
