//! What other profilers write of programs, imported with names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::fixture;
use crate::support::run::{Outcome, files, lifetrace_verb};

/// Bytes that the program keeps.
const KEPT: f64 = 20_000_000.0;

/// The profile that jemalloc writes of a program in `folder` when it ends.
fn profile_of(program: &Path, folder: &Path) -> PathBuf {
    let options = "prof:true,prof_final:true,lg_prof_sample:14";
    let status =
        Command::new(program).current_dir(folder).env("MALLOC_CONF", options).status().unwrap();
    assert!(status.success());
    let profile = files(folder).into_iter().find(|file| file.extension() == Some("heap".as_ref()));
    profile.expect("jemalloc has written one")
}

/// What is said, and the page of the callsites.
fn imported(profile: &Path, more: &[&str]) -> (String, Value) {
    let trace = profile.with_extension("lt").into_os_string().into_string().unwrap();
    let import = ["import", profile.to_str().unwrap(), "-f", "-o", &trace];
    let Outcome { code, stderr, .. } = lifetrace_verb(&[&import, more].concat());
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(code, 0, "{said}");
    let page = lifetrace_verb(&["report", &trace, "--view", "hot", "--metric", "live", "--json"]);
    (said, serde_json::from_slice(&page.stdout).unwrap())
}

fn first(page: &Value) -> &str {
    page["callsites"][0]["function"].as_str().unwrap()
}

/// What the crate `jemalloc_pprof` makes of a dump, within the program.
fn as_pprof(dump: &Path) -> PathBuf {
    let profile = dump.with_extension("pb.gz");
    let mut writer = Command::new(fixture::rust_that_profiles());
    writer.stdin(File::open(dump).unwrap()).stdout(File::create(&profile).unwrap());
    assert!(writer.status().unwrap().success());
    profile
}

#[test]
fn a_profile_without_names_has_those_of_the_files() {
    // Its mappings are of all memory, and its addresses those that the file states.
    for program in [
        fixture::c_with_installed_library("keeps_blocks", "jemalloc"),
        fixture::c_with_installed_library_fixed("keeps_blocks", "jemalloc"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let moved = folder.path().join("keeps_blocks");
        fs::copy(&program, &moved).unwrap();
        let profile = as_pprof(&profile_of(&moved, folder.path()));
        let (said, page) = imported(&profile, &[]);
        assert_eq!(first(&page), "keep_block", "{said}");
        let live = page["callsites"][0]["live_at_end"]["bytes"].as_f64().unwrap();
        // 1,200 samples or so: five standard deviations.
        assert!((live - KEPT).abs() < 0.15 * KEPT, "{live}");
        // The crate does not write how often was sampled.
        assert!(said.contains("how it was sampled is not told"), "{said}");
        let lacks = page["trace"]["import"]["lacks"].as_array().unwrap();
        assert!(lacks.contains(&"sampling".into()) && page["trace"]["exact"] != true, "{page}");
        // Where the program is not any more.
        fs::remove_file(&moved).unwrap();
        let (said, page) = imported(&profile, &[]);
        assert!(first(&page).starts_with("keeps_blocks+0x"), "{page}");
        assert!(said.contains("places in the code have no names"), "{said}");
        assert!(said.contains("keeps_blocks (build id"), "{said}");
    }
}

#[test]
fn a_dump_of_jemalloc_has_names_and_what_lives() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixture::c_with_installed_library("keeps_blocks", "jemalloc");
    let (elsewhere, moved) = (folder.path().join("symbols"), folder.path().join("keeps_blocks"));
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(&program, &moved).unwrap();
    let profile = profile_of(&moved, folder.path());
    let (said, page) = imported(&profile, &[]);
    assert_eq!(first(&page), "keep_block", "{said}");
    let live = &page["callsites"][0]["live_at_end"];
    let number = |field: &str| live[field].as_f64().unwrap();
    // Two and a half times its interval.
    let bound = 2.5 * number("bytes_interval95");
    assert!((number("bytes") - KEPT).abs() < bound && bound < 0.3 * KEPT, "{live}");
    // Where the program is not any more, and where the user says.
    fs::rename(&moved, elsewhere.join("keeps_blocks")).unwrap();
    let (said, page) = imported(&profile, &[]);
    assert!(first(&page).starts_with("keeps_blocks+0x"), "{page}");
    assert!(said.contains("keeps_blocks, which was not found"), "{said}");
    let (said, page) = imported(&profile, &["--symbols", elsewhere.to_str().unwrap()]);
    assert_eq!(first(&page), "keep_block", "{said}");
}
