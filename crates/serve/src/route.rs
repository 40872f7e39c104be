//! What is asked for: a request's path and query, understood.

use lifetrace_analysis::Metric;
use lifetrace_analysis::filter::{ByteSize, Filter, Focus, FramePattern, View};
use lifetrace_human::named::Named;
use lifetrace_study::choice::Choice;
use lifetrace_study::question::ViewName;

use crate::http::{Method, Request};

/// The longest time over which a difference is taken, in seconds.
pub const MOST_SECONDS: u32 = 300;

/// The most rows of a view.
const MOST_ROWS: usize = 100_000;

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Route {
    /// The page with all processes.
    Index,
    /// Figures for Prometheus.
    Metrics {
        /// Whether OpenMetrics is understood.
        open: bool,
    },
    /// The processes, as a document.
    Processes {
        /// Whether those that have ended are asked for.
        ended: bool,
    },
    /// A profile of a process.
    Profile {
        /// The process.
        pid: u32,
        /// What is shown first.
        first: First,
        /// Over so many seconds from now on; nothing if it is about all so far.
        seconds: Option<u32>,
    },
    /// The trace of a process.
    Trace {
        /// The process.
        pid: u32,
        /// Of the last so many minutes; nothing for all there is.
        minutes: Option<u32>,
    },
    /// A view of a process's trace.
    Report {
        /// The process.
        pid: u32,
        /// Of the last so many minutes; nothing for all there is.
        minutes: Option<u32>,
        /// What of it.
        question: Box<Question>,
    },
    /// The viewer's page of a process's trace.
    Page {
        /// The process.
        pid: u32,
    },
    /// Sample malloc's blocks of a process at another rate.
    Rate {
        /// The process.
        pid: u32,
        /// One hit in so many bytes, on average.
        interval: u64,
    },
    /// Take a snapshot of a process's heap.
    Snapshot {
        /// The process.
        pid: u32,
        /// Whether the file itself is to be the answer.
        file: bool,
    },
}

/// Which of a profile's numbers is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Bytes in use.
    InUse,
    /// Bytes ever allocated.
    Allocated,
}

/// What is asked about a trace, as `report` has it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which view.
    pub view: ViewName,
    /// Most rows.
    pub top: usize,
    /// What it is about.
    pub metric: Option<Metric>,
    /// Whether a tree begins at the callsites.
    pub inverted: bool,
    /// What is looked at.
    pub choice: Choice,
}

/// Why nothing is asked for that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// There is nothing at that path.
    NotFound,
    /// That is done by other methods: these.
    Method(&'static str),
    /// A value in the query means nothing: why.
    Query(String),
}

/// What a request is about.
///
/// # Errors
/// [`Wrong`].
pub fn of(request: &Request) -> Result<Route, Wrong> {
    let parts = request.parts();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    if !request.path.starts_with('/') {
        return Err(Wrong::NotFound);
    }
    match parts[..] {
        ["processes", pid, "snapshot"] => {
            only(request, &[Method::Post], "POST")?;
            Ok(Route::Snapshot { pid: number_of(pid)?, file: flag(request, "file")? })
        }
        ["processes", pid, "rate"] => {
            only(request, &[Method::Post], "POST")?;
            Ok(Route::Rate { pid: number_of(pid)?, interval: interval(request)? })
        }
        [""] => read(request, Route::Index),
        ["metrics"] => read(request, Route::Metrics { open: wants_open(request) }),
        ["processes"] => read(request, Route::Processes { ended: flag(request, "ended")? }),
        ["processes", pid, "pprof", "heap"] => profile(request, pid, First::InUse),
        ["processes", pid, "pprof", "allocs"] => profile(request, pid, First::Allocated),
        ["processes", pid, "trace"] => {
            read(request, Route::Trace { pid: number_of(pid)?, minutes: minutes(request)? })
        }
        ["processes", pid, "report"] => {
            let (pid, minutes) = (number_of(pid)?, minutes(request)?);
            let question = Box::new(Question::of(request)?);
            read(request, Route::Report { pid, minutes, question })
        }
        ["processes", pid, "page"] => read(request, Route::Page { pid: number_of(pid)? }),
        _ => Err(Wrong::NotFound),
    }
}

fn profile(request: &Request, pid: &str, first: First) -> Result<Route, Wrong> {
    let pid = number_of(pid)?;
    let seconds = number(request, "seconds", 1, MOST_SECONDS)?;
    if request.value("debug").is_some_and(|level| !matches!(level, "" | "0")) {
        return Err(Wrong::Query(
            "debug: there is no text; `go tool pprof -top` makes one of what comes without debug"
                .to_owned(),
        ));
    }
    read(request, Route::Profile { pid, first, seconds })
}

impl Question {
    fn of(request: &Request) -> Result<Self, Wrong> {
        let explain = |error: &dyn std::fmt::Display| Wrong::Query(error.to_string());
        let filter = Filter::parse_all(request.values("filter")).map_err(|it| explain(&it))?;
        let hide = request.values("hide").map(FramePattern::parse).collect::<Result<_, _>>();
        let focus = request.value("focus").map(Focus::parse).transpose();
        let view = View {
            hide: hide.map_err(|it| explain(&it))?,
            focus: focus.map_err(|it| explain(&it))?,
            ..View::default()
        };
        let top = number(request, "top", 1, MOST_ROWS as u32)?;
        Ok(Self {
            view: named(request, "view", ViewName::ALL.iter().map(|it| (it.name(), *it)))?
                .unwrap_or_default(),
            top: top.map_or(10, |top| top as usize),
            metric: named(request, "metric", Metric::ALL.into_iter().map(|it| (it.name(), it)))?,
            inverted: flag(request, "inverted")?,
            choice: Choice { filter, view },
        })
    }
}

/// One of these values, by its name; nothing if none is named.
fn named<T>(
    request: &Request,
    name: &str,
    known: impl Iterator<Item = (&'static str, T)> + Clone,
) -> Result<Option<T>, Wrong> {
    let Some(wanted) = request.value(name) else { return Ok(None) };
    match known.clone().find(|(name, _)| *name == wanted) {
        Some((_, value)) => Ok(Some(value)),
        None => {
            let names: Vec<_> = known.map(|(name, _)| name).collect();
            Err(Wrong::Query(format!("{name}: is one of {}", names.join(", "))))
        }
    }
}

fn read(request: &Request, route: Route) -> Result<Route, Wrong> {
    only(request, &[Method::Get, Method::Head], "GET, HEAD").map(|()| route)
}

fn only(request: &Request, methods: &[Method], names: &'static str) -> Result<(), Wrong> {
    if methods.contains(&request.method) { Ok(()) } else { Err(Wrong::Method(names)) }
}

/// A process's number, as the kernel writes it.
fn number_of(text: &str) -> Result<u32, Wrong> {
    let is_plain = !text.starts_with(['+', '0']);
    let number = text.parse().ok().filter(|number| is_plain && i32::try_from(*number).is_ok());
    number.ok_or(Wrong::NotFound)
}

fn minutes(request: &Request) -> Result<Option<u32>, Wrong> {
    const YEAR: u32 = 366 * 24 * 60;
    number(request, "minutes", 1, YEAR)
}

fn number(request: &Request, name: &str, least: u32, most: u32) -> Result<Option<u32>, Wrong> {
    let Some(text) = request.value(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Wrong::Query(format!("{name}: is a whole number from {least} to {most}"))),
    }
}

/// A size, as filters have it.
fn interval(request: &Request) -> Result<u64, Wrong> {
    let size = request.value("interval").and_then(|text| text.parse::<ByteSize>().ok());
    let size = size.map(|size| size.0.0).filter(|&bytes| bytes > 0);
    size.ok_or_else(|| Wrong::Query("interval: is a size such as 512KiB, 1 or more".to_owned()))
}

fn flag(request: &Request, name: &str) -> Result<bool, Wrong> {
    match request.value(name) {
        None | Some("0" | "false") => Ok(false),
        Some("" | "1" | "true") => Ok(true),
        Some(_) => Err(Wrong::Query(format!("{name}: is 1 or 0"))),
    }
}

/// Whether OpenMetrics is asked for by name: what takes anything gets the older format.
fn wants_open(request: &Request) -> bool {
    request.accept.as_deref().is_some_and(|it| it.contains("application/openmetrics-text"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http::request::{Head, read as read_head};

    fn route(method: &str, target: &str) -> Result<Route, Wrong> {
        let text = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        match read_head(text.as_bytes()) {
            Head::Whole(request) => of(&request),
            other => panic!("{other:?}"),
        }
    }

    fn check(target: &str, expected: &str) {
        let found = format!("{:?}", route("GET", target).unwrap());
        assert!(found.starts_with(expected), "{target}: {found}");
    }

    #[test]
    fn all_that_there_is() {
        check("/", "Index");
        check("/?token=x", "Index");
        check("/metrics", "Metrics { open: false }");
        check("/processes?ended", "Processes { ended: true }");
        check(
            "/processes/7/pprof/heap?gc=1&debug=0",
            "Profile { pid: 7, first: InUse, seconds: None }",
        );
        check(
            "/processes/7/pprof/heap?seconds=",
            "Profile { pid: 7, first: InUse, seconds: None }",
        );
        check(
            "/processes/7/pprof/allocs?seconds=300",
            "Profile { pid: 7, first: Allocated, seconds: Some(300) }",
        );
        check("/processes/7/trace?minutes=5", "Trace { pid: 7, minutes: Some(5) }");
        check("/processes/7/page", "Page { pid: 7 }");
        check(
            "/processes/7/report?view=hot&filter=size+%3E+1KiB&top=3",
            "Report { pid: 7, minutes: None, question: Question { view: Hot, top: 3",
        );
        let post = format!("{:?}", route("POST", "/processes/7/rate?interval=64KiB").unwrap());
        assert_eq!(post, "Rate { pid: 7, interval: 65536 }");
        for wrong in ["", "?interval=", "?interval=0", "?interval=-1", "?interval=fast", "?rate=1"]
        {
            let refused = route("POST", &format!("/processes/7/rate{wrong}")).unwrap_err();
            assert!(matches!(refused, Wrong::Query(_)), "{wrong}");
        }
        assert_eq!(route("GET", "/processes/7/rate").unwrap_err(), Wrong::Method("POST"));
        let post = format!("{:?}", route("POST", "/processes/7/snapshot?file=1").unwrap());
        assert_eq!(post, "Snapshot { pid: 7, file: true }");
    }

    #[test]
    fn all_else_is_refused_with_a_reason() {
        let not_found = [
            "/x",
            "/processes/",
            "/processes/x/page",
            "/processes/07/page",
            "/processes/0/page",
            "/processes/-1/page",
            "/processes/4294967295/page",
            "//",
            "/processes/7/pprof/heap/",
            "/processes/../metrics",
            "/%6detrics",
            "http://localhost/metrics",
            "*",
        ];
        for target in not_found {
            assert_eq!(route("GET", target).unwrap_err(), Wrong::NotFound, "{target}");
        }
        for target in [
            "/processes/7/pprof/heap?seconds=0",
            "/processes/7/pprof/heap?seconds=301",
            "/processes/7/pprof/heap?seconds=1.5",
            "/processes/7/pprof/heap?debug=1",
            "/processes?ended=2",
            "/processes/7/trace?minutes=0",
            "/processes/7/report?view=x",
            "/processes/7/report?filter=%3E%3E",
            "/processes/7/report?top=0",
            "/processes/7/report?metric=x",
        ] {
            assert!(matches!(route("GET", target), Err(Wrong::Query(_))), "{target}");
        }
        assert_eq!(route("POST", "/metrics").unwrap_err(), Wrong::Method("GET, HEAD"));
        assert_eq!(route("DELETE", "/processes/7/trace").unwrap_err(), Wrong::Method("GET, HEAD"));
        assert_eq!(route("GET", "/processes/7/snapshot").unwrap_err(), Wrong::Method("POST"));
    }

    proptest! {
        /// The fuzz target `request` does the same with more patience.
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..400), path in "[a-z0-9/?=&%.+]{0,60}") {
            for text in [bytes, format!("GET /processes/{path} HTTP/1.1\r\n\r\n").into_bytes()] {
                if let Head::Whole(request) = read_head(&text) {
                    let _ = of(&request);
                }
            }
        }
    }
}
