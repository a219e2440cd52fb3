//! `PreToolUse` of `Agent` and `Task`: no new subagents when the context is nearly full.

use longhaul_core::event::PreToolUse;
use longhaul_runtime::{Hook, context};

fn main() {
    Hook::<PreToolUse<'static>>::run(&[context::on_agent_launch]);
}
