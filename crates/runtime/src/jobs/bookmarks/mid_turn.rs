//! A bookmark during a turn: typed from inside the PostToolUse hook, with a note for the model.
//!
//! Claude Code waits for its hooks, so a dialog of the turn can rarely open between the inspection and Enter. Parallel
//! calls can still open one, so the screen and Claude Code's record are checked again before Enter. Subagents open
//! dialogs at any time: while one runs, only a chord that no dialog reacts to is pressed.

use std::time::Duration;

use longhaul_activity_log::{LogLine, Situation};
use longhaul_core::event::predicates::asks_nothing;
use longhaul_core::event::{HookEvent, PostToolUse};
use longhaul_inject::{Terminal, TypeWhen, TypingDecision};

use crate::typing::{Typist, is_received, shows_another_session};
use crate::{ActivityLog, Error, Hook, Order, Receipt, Ticket, running_subagents, waiting_times};

/// The note for the model when the marker is received during its turn.
pub(super) const NOTE: &str = "This message is an automatic bookmark set by the user's tooling as a rewind point. It asks \
                               for nothing and needs no reply; the work in progress goes on unchanged.";

/// Types a bookmark if the pane allows it now. Otherwise the next call tries again. Where nothing can be typed, the files get a
/// snapshot without a bookmark.
pub(super) fn bookmark(hook: &mut Hook<PostToolUse<'static>>, log: &ActivityLog) -> Result<(), Error> {
    if hook.deadline.left() < waiting_times::MID_TURN_NEEDED {
        return Ok(());
    }
    let Some(order) = order(hook) else { return hook.snapshot_instead(Situation::ToolCall, log, None) };
    let typist = Typist::new(&hook.env, &hook.home, &order);
    if !may_submit(&order, &typist) {
        return Ok(());
    }
    let Some(_lock) = typist.lock()? else { return Ok(()) };
    let decision = match typist.decide() {
        Ok(decision @ (TypingDecision::Type | TypingDecision::TypedAlready)) => decision,
        Ok(TypingDecision::Stash { .. } | TypingDecision::Wait(_)) => return Ok(()),
        Err(problem) => {
            if may_be_unreadable(&order.terminal) {
                return hook.snapshot_instead(Situation::ToolCall, log, Some(&problem));
            }
            // The terminal is gone or does not answer. The cooldown prevents the next calls from trying it again.
            if log.claim(hook.env.now, |metrics| hook.decide(Situation::ToolCall, true, metrics))?.is_ok() {
                log.append(&[LogLine::GivenUp { at: hook.env.now }])?;
                hook.log.write(&format!("session {}: no bookmark: {problem}", order.session));
            }
            return Ok(());
        }
    };
    // The turn may have begun before the part of the log that is read.
    if let Some(id) = &hook.event.common().prompt_id {
        log.append(&[LogLine::turn(hook.env.now, id)])?;
    }
    let claim = log.claim(hook.env.now, |metrics| hook.decide(Situation::ToolCall, true, metrics))?;
    let Ok(ticket) = claim else { return Ok(()) };
    if let Err(problem) = submit(&order, &typist, &decision, log, ticket)? {
        if !typist.has_typed() {
            log.append(&[LogLine::GivenUp { at: hook.env.now }])?;
        }
        hook.log.write(&format!("session {}: no bookmark: {problem}", order.session));
    } else if is_received(&order, Receipt::Bookmark, log, ticket, waiting_times::MID_TURN_RECEIPT)? {
        typist.note_received();
    } else {
        typist.note_not_received();
        hook.log.write(&format!("session {}: bookmark typed, not yet confirmed", order.session));
    }
    Ok(())
}

/// Returns whether a problem with the terminal may mean that its screen cannot be read, now or later.
pub(super) fn may_be_unreadable(terminal: &Terminal) -> bool {
    terminal.pane().is_none() || terminal.may_be_blind()
}

/// Returns what is to be typed, and where; `None` without a terminal.
pub(super) fn order<E: HookEvent<'static>>(hook: &Hook<E>) -> Option<Order> {
    let common = hook.event.common();
    let (terminal, client_pid) = hook.place();
    let agents_may_ask = !asks_nothing(common.permission_mode.as_deref());
    Some(Order {
        session: common.session.clone(),
        terminal: terminal?,
        client_pid,
        text: hook.config.bookmarks.marker.as_str().to_owned(),
        want: TypeWhen::MidTurn,
        want_by_chord: None,
        agents_may_ask,
        agents_run: agents_may_ask && running_subagents::any_running(&hook.home, &common.session),
        patience: Duration::ZERO,
        deadline: Some(hook.deadline),
        allow_blind: hook.config.inject.allow_blind,
    })
}

/// Returns whether the text may be submitted: not with a key that a dialog of a running subagent would react to.
fn may_submit(order: &Order, typist: &Typist<'_>) -> bool {
    !(order.agents_run && typist.could_answer_a_dialog())
}

/// Types the bookmark and submits it: with the chord, or with Enter if the client has ignored the chord.
///
/// The inner error says why it was not submitted.
fn submit(
    order: &Order,
    typist: &Typist<'_>,
    decision: &TypingDecision,
    log: &ActivityLog,
    ticket: Ticket,
) -> Result<Result<(), String>, Error> {
    let by_chord = !typist.could_answer_a_dialog();
    let is_over = || Ok(shows_another_session(typist.env, typist.home, order));
    let submitted = typist.submit(decision, &is_over);
    if submitted.is_err()
        && typist.has_pressed_chord()
        && is_received(order, Receipt::Bookmark, log, ticket, Duration::ZERO)?
    {
        // A slow client has accepted the chord after all.
        return Ok(Ok(()));
    }
    if submitted.is_err()
        && by_chord
        && typist.could_answer_a_dialog()
        && may_submit(order, typist)
        && let Ok(decision @ TypingDecision::Type) = typist.decide()
    {
        // The client has ignored the chord, so Enter is used.
        return Ok(typist.submit(&decision, &is_over));
    }
    Ok(submitted)
}
