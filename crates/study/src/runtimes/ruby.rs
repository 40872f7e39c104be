//! Ruby.

use super::Runtime;

pub(super) const RUBY: Runtime = Runtime {
    name: "ruby",
    notice,
    young: "it has not survived three collections yet, so some of it may be dead",
    young_heap: None,
};

fn notice(code: &str) -> Option<&'static str> {
    Some(match code {
        "ruby-unknown" => {
            "has a Ruby of a version whose objects are not sampled yet (those of 3.1 to 3.4 are): they are not in \
             the trace"
        }
        "ruby-ractors" => {
            "has made a ractor, which its Ruby does not survive, or hides, while objects are sampled: \
             from then on they are not in the trace"
        }
        "ruby-hidden" => "has a Ruby that it does not export: its objects are not in the trace",
        "no-ruby" => "has no Ruby: nothing was sampled (--sources native samples malloc)",
        _ => return None,
    })
}
