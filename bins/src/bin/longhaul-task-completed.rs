//! `TaskCompleted`: a task is done.

use longhaul_core::event::TaskCompleted;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<TaskCompleted>::run(&[jobs::tracker::on_task_completed]);
}
