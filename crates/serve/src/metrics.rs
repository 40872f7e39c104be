//! What Prometheus is told: of each process that is recorded, of the collector, of requests.
//!
//! Labels are a process's number and name, and reasons, of which there are few. Callsites are no labels: there may be any
//! number of them; profiles have them.

use lifetrace_recorder::{FolderFigures, ListedSession};

use crate::exposition::{Family, Kind, Sample};
use crate::figures::{Counted, Own};
use crate::follower::Holding;

/// A process that is recorded; what is known of its trace, if that is followed.
pub type Row = (ListedSession, Option<Holding>);

type Labels = Vec<(&'static str, String)>;

/// All there is to tell.
pub fn families(
    rows: &[Row],
    begun: u64,
    folder: FolderFigures,
    own: &Own,
    counted: &Counted,
) -> Vec<Family> {
    let mut all = of_processes(rows);
    all.extend(of_collector(rows, begun, folder, own));
    all.extend(of_requests(counted));
    all
}

fn of_processes(rows: &[Row]) -> Vec<Family> {
    let told = |name, help, kind, of: &dyn Fn(&ListedSession) -> f64| {
        let samples = rows.iter().map(|(session, _)| one(labels(session), of(session)));
        Family { name, help, kind, samples: samples.collect() }
    };
    let held = |name, help, kind, of: &dyn Fn(&Holding) -> f64| {
        let known = rows.iter().filter_map(|(session, held)| Some((session, held.as_ref()?)));
        let samples = known.map(|(session, held)| one(labels(session), of(held)));
        Family { name, help, kind, samples: samples.collect() }
    };
    use Kind::{Counter, Gauge};
    vec![
        held("lifetrace_live_bytes", "Bytes that live, an estimate", Gauge, &|it| {
            it.live.bytes.value
        }),
        held(
            "lifetrace_live_bytes_low95",
            "Lower end of the 95 % interval of the bytes that live",
            Gauge,
            &|it| it.live.bytes_interval(&it.sampling).low,
        ),
        held(
            "lifetrace_live_bytes_high95",
            "Upper end of the 95 % interval of the bytes that live",
            Gauge,
            &|it| it.live.bytes_interval(&it.sampling).high,
        ),
        held("lifetrace_live_objects", "Blocks that live, an estimate", Gauge, &|it| {
            it.live.objects.value
        }),
        held("lifetrace_allocated_bytes", "Bytes allocated, an estimate", Counter, &|it| {
            it.allocated.bytes.value
        }),
        held("lifetrace_allocated_objects", "Blocks allocated, an estimate", Counter, &|it| {
            it.allocated.objects.value
        }),
        held(
            "lifetrace_missing_files",
            "Files of the process that were gone before they were read: what was allocated in \
              their time is not counted",
            Counter,
            &|it| it.gaps as f64,
        ),
        told("lifetrace_samples", "Allocations sampled", Counter, &|it| it.samples as f64),
        told(
            "lifetrace_lost_events",
            "Events that should be in the trace and are not",
            Counter,
            &|it| it.lost as f64,
        ),
        of_losses(rows),
        told(
            "lifetrace_process_resident_bytes",
            "Resident memory when it was looked at last",
            Gauge,
            &|it| it.resident as f64,
        ),
        told(
            "lifetrace_trace_written_bytes",
            "Bytes of the process's trace, in all files",
            Counter,
            &|it| it.bytes as f64,
        ),
        told(
            "lifetrace_recorded_since_seconds",
            "When the recording of the process began, in seconds since 1970",
            Gauge,
            &|it| it.since.0 as f64 / 1e6,
        ),
    ]
}

fn of_losses(rows: &[Row]) -> Family {
    let known = rows.iter().filter_map(|(session, held)| Some((session, held.as_ref()?)));
    let samples = known.flat_map(|(session, held)| {
        held.lost.iter().map(|(reason, &count)| {
            let mut labels = labels(session);
            labels.push(("reason", reason.to_string()));
            one(labels, count as f64)
        })
    });
    Family {
        name: "lifetrace_lost_events_by_reason",
        help: "Events that the trace says are missing in it, by reason",
        kind: Kind::Counter,
        samples: samples.collect(),
    }
}

fn of_collector(rows: &[Row], begun: u64, folder: FolderFigures, own: &Own) -> Vec<Family> {
    use Kind::{Counter, Gauge};
    let plain = |name, help, kind, value: Option<f64>| {
        let samples = value.map(|value| one(Labels::new(), value)).into_iter().collect();
        Family { name, help, kind, samples }
    };
    let followed = rows.iter().filter(|(_, held)| held.is_some()).count();
    let whole = |number: u64| Some(number as f64);
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    vec![
        Family {
            samples: vec![one(version, 1.0)],
            ..plain("lifetrace_build_info", "The collector's version", Gauge, None)
        },
        plain(
            "lifetrace_processes",
            "Processes that are being recorded",
            Gauge,
            Some(rows.len() as f64),
        ),
        plain(
            "lifetrace_processes_followed",
            "Processes whose traces are read for these figures",
            Gauge,
            Some(followed as f64),
        ),
        plain("lifetrace_sessions", "Processes whose recording has begun", Counter, whole(begun)),
        plain("lifetrace_traces_finished", "Traces finished", Counter, whole(folder.finished)),
        plain(
            "lifetrace_traces_finished_bytes",
            "Bytes of finished traces",
            Counter,
            whole(folder.bytes),
        ),
        plain(
            "lifetrace_traces_removed",
            "Traces removed, since they were older or more than is kept",
            Counter,
            whole(folder.removed),
        ),
        plain(
            "lifetrace_unwritable_processes",
            "Processes of which nothing can be written, since the disk is full",
            Gauge,
            whole(folder.unwritable),
        ),
        plain(
            "lifetrace_unrecorded_events",
            "Events that were not written for that reason",
            Counter,
            whole(folder.unrecorded),
        ),
        plain("lifetrace_folder_traces", "Traces in the folder", Gauge, whole(own.traces)),
        plain(
            "lifetrace_folder_bytes",
            "Bytes of the traces in the folder",
            Gauge,
            whole(own.trace_bytes),
        ),
        plain(
            "lifetrace_folder_free_bytes",
            "Bytes that are free where the folder is",
            Gauge,
            own.free_bytes.map(|bytes| bytes as f64),
        ),
        plain(
            "lifetrace_collector_resident_bytes",
            "Resident memory of the collector",
            Gauge,
            own.resident.map(|bytes| bytes as f64),
        ),
        plain(
            "lifetrace_collector_processor_seconds",
            "Processor time of the collector",
            Counter,
            own.seconds,
        ),
        plain(
            "lifetrace_collector_open_files",
            "Open files of the collector",
            Gauge,
            own.files.map(|files| files as f64),
        ),
    ]
}

fn of_requests(counted: &Counted) -> [Family; 2] {
    let answered = counted.answered.iter();
    let answered =
        answered.map(|(status, &count)| one(vec![("status", status.to_string())], count as f64));
    let refused = counted.refused.iter();
    let refused =
        refused.map(|(reason, &count)| one(vec![("reason", (*reason).to_owned())], count as f64));
    let family = |name, help, samples| Family { name, help, kind: Kind::Counter, samples };
    [
        family("lifetrace_http_answers", "Answers, by status", answered.collect()),
        family("lifetrace_http_refused", "Requests refused, by reason", refused.collect()),
    ]
}

fn one(labels: Labels, value: f64) -> Sample {
    Sample { labels, value }
}

fn labels(session: &ListedSession) -> Labels {
    vec![("pid", session.pid.to_string()), ("program", session.program.clone())]
}
