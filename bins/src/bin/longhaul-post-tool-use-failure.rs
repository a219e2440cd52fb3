//! `PostToolUseFailure`: a call failed, and the session continues to work.

use longhaul_core::event::PostToolUseFailure;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PostToolUseFailure<'static>>::run(&[jobs::tracker::on_tool_failure, jobs::memory::on_tool_failure]);
}
