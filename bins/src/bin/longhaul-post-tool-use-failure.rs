//! `PostToolUseFailure`: a call failed, and the session works on.

use longhaul_core::event::PostToolUseFailure;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PostToolUseFailure>::run(&[jobs::tracker::on_tool_failure]);
}
