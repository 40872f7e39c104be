//! What is asked about a whole trace: itself, a view of it, the viewer's page.

use std::fs::File;
use std::io::Seek;
use std::path::Path;

use lifetrace_report::style::Width;
use lifetrace_report::{Options, Report};
use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::watch::unwatched;
use lifetrace_viewer::{Bundle, MOST_SAMPLES, Page, Question as Shown, Template};

use crate::chain::{self, Whole};
use crate::http::{Body, Response};
use crate::route::Question;

/// The trace itself, of the last so many minutes or as far as it is there.
pub fn trace(folder: &Path, pid: u32, minutes: Option<u32>) -> Response {
    with_trace(folder, pid, minutes, |whole| {
        let file = File::open(&whole.path)?;
        let length = file.metadata()?.len();
        let name = format!("attachment; filename=\"lifetrace.{pid}.lt\"");
        let body = Body::File(file, length);
        Ok(Response::new(200, "application/octet-stream", body).with("Content-Disposition", name))
    })
}

/// What `report --json` says of it.
pub fn report(folder: &Path, pid: u32, minutes: Option<u32>, question: Question) -> Response {
    with_trace(folder, pid, minutes, |whole| {
        let Question { view, top, metric: asked_metric, inverted, choice } = question;
        let mut study = Study::of(&whole.path, choice, unwatched)?;
        // Where it can be had: the file itself is gone when this is read.
        study.reading.trace.path = format!("/processes/{pid}/trace").into();
        let origin = study.reading.origin();
        let metric = asked_metric.unwrap_or_else(|| origin.usual_metric());
        let options =
            Options { view, top, asked_metric, metric, inverted, json: true, ..Options::default() };
        Ok(Response::json(Report::new(&study, &options, Width::ENDLESS)?.json(&[])?))
    })
}

/// The viewer's page of it.
pub fn page(folder: &Path, pid: u32) -> Response {
    with_trace(folder, pid, None, |whole| {
        let mut study = Study::of(&whole.path, Choice::default(), unwatched)?;
        // Snapshots lie beside the process's own files.
        study.reading.trace.path = folder.join(whole.path.file_name().unwrap_or_default());
        let earlier = study.reading.profile.replay().counts().earlier;
        if earlier > 0 {
            return Ok(Response::refusal(
                409,
                &format!(
                    "process {pid}: its first files have been removed, and {earlier} blocks are from their time: a page has whole \
                     traces. /processes/{pid}/report answers the same questions"
                ),
            ));
        }
        let bundle = Bundle::of(&study, MOST_SAMPLES)?;
        let (title, template) = (bundle.program().to_owned(), Template::built_in()?);
        let policy = template.policy().as_str().to_owned();
        let page = Page { title, bundles: vec![bundle], question: Shown::default(), template };
        let mut file = tempfile::tempfile_in(whole.path.parent().unwrap_or(folder))?;
        page.write(&mut file)?;
        let length = file.stream_position()?;
        file.rewind()?;
        let mut response = Response::new(200, "text/html", Body::File(file, length));
        response.policy = policy;
        Ok(response)
    })
}

fn with_trace(
    folder: &Path,
    pid: u32,
    minutes: Option<u32>,
    answer: impl FnOnce(&Whole) -> anyhow::Result<Response>,
) -> Response {
    match chain::whole(folder, pid, minutes) {
        Ok(Some(whole)) => answer(&whole).unwrap_or_else(|error| failed(pid, &error)),
        Ok(None) => Response::refusal(
            404,
            &format!(
                "there is no trace of process {pid}: /processes and /processes?ended=1 list those that there are"
            ),
        ),
        Err(error) => failed(pid, &error),
    }
}

fn failed(pid: u32, error: &anyhow::Error) -> Response {
    Response::refusal(409, &format!("process {pid}: {error:#}"))
}
