//! `Notification`: the session waits for an answer. This event comes later than `PermissionRequest`.

use longhaul_core::event::Notification;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<Notification>::run(&[
        jobs::tracker::on_notification,
        jobs::continuation::on_notification,
        jobs::continuation::carry_on,
    ]);
}
