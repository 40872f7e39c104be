//! A page with all processes, and where to go from there. It runs no script and asks for nothing.

use lifetrace_human as human;
use lifetrace_recorder::ListedSession;

use crate::follower::Holding;

/// What the page may do: be read.
pub const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:2em;color-scheme:light dark}\
    td,th{padding:.2em 1em;text-align:right}td.name,th.name{text-align:left}";

/// The page. Where the token came with the address, `token` is it, and links have it as well.
pub fn page(rows: &[(ListedSession, Result<Holding, String>)], token: Option<&str>) -> String {
    let query = |more: &str| {
        let token = token.map(|token| format!("token={}", escaped(token)));
        let all: Vec<_> =
            token.into_iter().chain((!more.is_empty()).then(|| more.to_owned())).collect();
        if all.is_empty() { String::new() } else { format!("?{}", all.join("&amp;")) }
    };
    let body: String = rows.iter().map(|(session, held)| row(session, held, &query)).collect();
    let nothing = if rows.is_empty() { "<p>Nothing is being recorded now." } else { "" };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>lifetrace collect</title><style>{STYLE}</style>\
         <h1>Processes that are being recorded</h1><table><tr><th>PID<th class=\"name\">program<th>live<th>allocated<th>\
         samples<th>lost<th class=\"name\"></tr>\n{body}</table>{nothing}\
         <p><a href=\"/metrics{0}\">metrics</a> &middot; <a href=\"/processes{0}\">processes</a> &middot; \
         <a href=\"/processes{1}\">processes that have ended</a></html>\n",
        query(""),
        query("ended=1")
    )
}

fn row(
    session: &ListedSession,
    held: &Result<Holding, String>,
    query: &dyn Fn(&str) -> String,
) -> String {
    let ListedSession { pid, samples, lost, .. } = session;
    let (live, allocated) = match held {
        Ok(held) => (human::estimate(&held.live.bytes), human::estimate(&held.allocated.bytes)),
        Err(why) => (escaped(why), String::new()),
    };
    let link = |text: &str, path: &str, more: &str| {
        format!("<a href=\"/processes/{pid}/{path}{}\">{text}</a>", query(more))
    };
    let links = [
        link("page", "page", ""),
        link("report", "report", ""),
        link("leaks", "report", "view=leaks"),
        link("heap", "pprof/heap", ""),
        link("allocs", "pprof/allocs", ""),
        link("trace", "trace", ""),
    ];
    format!(
        "<tr><td>{pid}<td class=\"name\">{}<td>{live}<td>{allocated}<td>{}<td>{}<td class=\"name\">{}</tr>\n",
        escaped(&session.program),
        human::count(*samples as f64),
        human::count(*lost as f64),
        links.join(" &middot; ")
    )
}

/// Safe between tags and in quotation marks.
fn escaped(text: &str) -> String {
    let printable = human::printable(text);
    let safe = |it: char| match it {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        it => it.to_string(),
    };
    printable.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::ids::Timestamp;

    use super::*;

    #[test]
    fn names_of_programs_are_no_markup() {
        let session = ListedSession {
            pid: 7,
            parent: 1,
            program: "<script>\"x'&".to_owned(),
            trace: "/x".into(),
            since: Timestamp(0),
            samples: 5,
            bytes: 6,
            resident: 7,
            lost: 0,
        };
        let rows = [(session, Err("is being read".to_owned()))];
        let text = page(&rows, None);
        assert!(
            text.contains("&lt;script&gt;&quot;x&#39;&amp;") && !text.contains("<script"),
            "{text}"
        );
        assert!(text.contains("href=\"/processes/7/report?view=leaks\""), "{text}");
        let text = page(&rows, Some("abc\""));
        assert!(text.contains("/processes/7/report?token=abc&quot;&amp;view=leaks\""), "{text}");
        assert!(page(&[], None).contains("Nothing is being recorded"));
    }
}
