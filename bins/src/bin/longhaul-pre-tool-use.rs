//! `PreToolUse` of `Agent` and `Task`: no new subagents when the context is nearly full.

use longhaul_core::event::PreToolUse;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PreToolUse<'static>>::run(&[jobs::context_guard::on_agent_launch]);
}
