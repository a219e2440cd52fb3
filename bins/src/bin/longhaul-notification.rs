//! `Notification`: the session waits for an answer. This event comes later than `PermissionRequest`.

use longhaul_core::event::Notification;
use longhaul_runtime::{Hook, continuation, tracker};

fn main() {
    Hook::<Notification>::run(&[tracker::on_notification, continuation::on_notification, continuation::carry_on]);
}
