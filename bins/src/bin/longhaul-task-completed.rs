//! `TaskCompleted`: a task is done.

use longhaul_core::event::TaskCompleted;
use longhaul_runtime::{Hook, tracker};

fn main() {
    Hook::<TaskCompleted>::run(&[tracker::on_task_completed]);
}
