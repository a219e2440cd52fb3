//! `PermissionRequest`: the session waits for an answer.

use longhaul_core::event::PermissionRequest;
use longhaul_runtime::{Hook, tracker};

fn main() {
    Hook::<PermissionRequest<'static>>::run(&[tracker::on_permission]);
}
