//! Sends by several ways at once, so that one that hangs delays no other.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use longhaul_core::Env;
use longhaul_core::config::{Notify, NotifyWay};
use longhaul_runtime::waiting_times::NOTIFICATION_WAY;
use longhaul_runtime::{ProgramLines, waiting_times};

use crate::outgoing::{Outgoing, SendError};

/// Sends by every way, and calls `ended` with each result as soon as it is there.
///
/// Returns the program that waits for a click on the notification, if there is one.
pub(crate) fn send(
    outgoing: &Outgoing,
    ways: &[NotifyWay],
    config: &Notify,
    env: &Env,
    mut ended: impl FnMut(NotifyWay, Result<(), SendError>),
) -> Option<ProgramLines> {
    let (sender, results) = mpsc::channel();
    for way in ways.iter().copied() {
        let (sender, outgoing, config, env) = (sender.clone(), outgoing.clone(), config.clone(), env.clone());
        // A thread that hangs in spite of its own limit ends with the process, and then its result is not received.
        thread::spawn(move || drop(sender.send((way, outgoing.send(way, &config, &env)))));
    }
    drop(sender);
    let limit = NOTIFICATION_WAY + waiting_times::ALL_WAYS_LONGER;
    let deadline = Instant::now() + limit;
    let mut open = ways.to_vec();
    let mut click = None;
    while let Ok((way, result)) = results.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        open.retain(|other| *other != way);
        let result = result.map(|waiting| click = waiting.or(click.take()));
        ended(way, result);
    }
    for way in open {
        ended(way, Err(SendError::TooLate(limit.as_secs())));
    }
    click
}
