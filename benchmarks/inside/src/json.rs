//! The workload `json`, in a program that may record itself.

mod allocator;
#[path = "../../workloads/json.rs"]
mod workload;

#[allow(clippy::let_unit_value, reason = "without a feature there is nothing to hold")]
fn main() {
    let _recording = allocator::start();
    workload::main();
}
