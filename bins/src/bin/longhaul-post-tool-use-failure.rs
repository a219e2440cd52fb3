//! `PostToolUseFailure`: a call failed, and the session continues to work.

use longhaul_core::event::PostToolUseFailure;
use longhaul_runtime::{Hook, jobs, tracker};

fn main() {
    Hook::<PostToolUseFailure<'static>>::run(&[tracker::on_tool_failure, jobs::memory::on_tool_failure]);
}
