use crate::{MemoryState, shortage};

#[track_caller]
fn check(available_mb: Option<u64>, stalled_percent: Option<f64>, expected: Option<&str>) {
    let found = shortage(MemoryState { available_mb, stalled_percent }, 700);
    assert_eq!(found.map(|shortage| shortage.to_string()).as_deref(), expected);
}

#[test]
fn a_client_is_started_only_with_memory_for_it() {
    check(None, None, None);
    check(Some(700), Some(9.9), None);
    check(Some(699), None, Some("only 699 MB of memory are available, and 700 MB are wanted for each session"));
    check(Some(9000), Some(10.0), Some("the machine has waited for memory 10 % of the last ten seconds"));
}
