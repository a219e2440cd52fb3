//! `PermissionRequest`: the session waits for an answer.

use longhaul_core::event::PermissionRequest;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PermissionRequest<'static>>::run(&[jobs::tracker::on_permission]);
}
