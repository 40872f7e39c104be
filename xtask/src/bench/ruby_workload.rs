//! What `bench ruby` runs: a loop that does nothing but make objects, and Debian's programs on generated inputs.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::inputs;
use super::workload::{Plan, Share, Workload, workload};

/// Where Debian has its gems.
const GEMS: &str = "/usr/share/rubygems-integration/all/gems";

/// All workloads. Each takes about a second of processor time.
pub const PLANS: &[Plan] = &[
    Plan { name: "objects", needs: &[("ruby", "ruby")], make: objects },
    Plan { name: "asciidoctor", needs: &[("asciidoctor", "asciidoctor")], make: asciidoctor },
    Plan { name: "jekyll", needs: &[("jekyll", "jekyll")], make: jekyll },
    Plan { name: "rubocop", needs: &[("rubocop", "rubocop")], make: rubocop },
];

/// A million objects take a tenth of a second: what is added to a run's time is ten times what is added to an object.
fn objects(_: &Path, share: Share) -> Result<Workload> {
    let code = format!("i = 0; while i < {}; Object.new; i += 1; end", share.of(10_000_000));
    Ok(workload("objects", vec!["ruby".into(), "--disable-gems".into(), "-e".into(), code.into()]))
}

fn asciidoctor(folder: &Path, share: Share) -> Result<Workload> {
    let document = folder.join("long.adoc");
    fs::write(&document, inputs::asciidoc(share.of(1_500)))?;
    let words: [OsString; 4] =
        ["asciidoctor".into(), "-o".into(), folder.join("long.html").into(), document.into()];
    Ok(workload("asciidoctor", words.into()))
}

fn jekyll(folder: &Path, share: Share) -> Result<Workload> {
    let site = folder.join("site");
    fs::create_dir_all(site.join("_posts"))?;
    for (name, text) in inputs::posts(share.of(200)) {
        fs::write(site.join("_posts").join(name), text)?;
    }
    let words: [OsString; 7] = [
        "jekyll".into(),
        "build".into(),
        "-q".into(),
        "--disable-disk-cache".into(),
        "-s".into(),
        site.into(),
        "-d".into(),
    ];
    let output = folder.join("site-output").into();
    Ok(workload("jekyll", [&words[..], &[output]].concat()))
}

/// On some of its own files.
fn rubocop(_: &Path, share: Share) -> Result<Workload> {
    let gems = fs::read_dir(GEMS)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_own = |gem: &std::path::PathBuf| {
        let name = gem.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix("rubocop-")
            .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    };
    let own = gems.into_iter().find(is_own).context("there is no gem rubocop")?;
    let cops = fs::read_dir(own.join("lib/rubocop/cop/style"))?;
    let mut files: Vec<_> = cops.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.truncate(usize::try_from(share.of(8))?);
    let words: Vec<OsString> =
        ["rubocop", "--cache", "false", "-f", "q", "--fail-level", "F"].map(OsString::from).into();
    let files = files.into_iter().map(OsString::from);
    Ok(workload("rubocop", words.into_iter().chain(files).collect()))
}
