//! What holds whatever allocator is inside.

use lifetrace::Recording;

use super::Trace;
use super::workload::{workload_kept, workload_of_all_kinds, workload_short_lived};

/// Records exactly and sampled, with blocks that live from one session to the next, and compares with what
/// was allocated.
pub fn check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inside.lt");
    let kept_before = workload_kept(300);
    let session = Recording::new(&path).interval(1).start().unwrap();
    let account = workload_short_lived(3000);
    let kept = workload_kept(300);
    drop(kept_before);
    workload_of_all_kinds(1000);
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let short: Vec<_> = trace.by("workload_short_lived").collect();
    assert_eq!(short.len() as u64, account.blocks);
    assert_eq!(short.iter().map(|block| block.bytes).sum::<u64>(), account.bytes);
    assert_eq!(trace.by("workload_one_kept").filter(|block| block.is_live).count(), 300);
    assert_eq!(trace.by("workload_of_all_kinds").filter(|block| block.is_growth).count(), 1000);

    let session = Recording::new(&path).interval(4096).overwrite(true).seed(3).start().unwrap();
    drop(kept);
    let account = workload_short_lived(200_000);
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let (estimate, deviation) = trace.estimate("workload_short_lived");
    let off = (estimate - account.bytes as f64).abs() / deviation;
    assert!(off < 4.0, "{estimate} of {} bytes, {off} standard deviations", account.bytes);
    assert_eq!(trace.by("workload_one_kept").count(), 0);
}
