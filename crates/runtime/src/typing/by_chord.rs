//! Submitting by a chord that no dialog knows.
//!
//! The chord cannot approve anything, so nothing has to be checked between the text and the chord for the sake of a dialog.
//! What can still happen is that a dialog opens in between and swallows the chord: then the text stays in the input, which
//! is noted, and the next order submits it.

use std::time::{Duration, Instant};

use longhaul_inject::{ChordResult, Pane, ScreenState, SubmitChord, SubmitKey, UnsafeScreen};

use super::client_notes;
use super::typist::{Superseded, Typist, is_still_wanted};

/// How long a client that has not proven the chord yet may take to empty its input. One that is busy needs its time.
const CHORD_LIMIT: Duration = Duration::from_millis(3_000);

/// What a hook needs after that, in order to take the text back and to press Enter.
const TIME_AFTER: Duration = Duration::from_millis(1_200);

/// A client that was watched for less than this has not shown that it ignores the chord.
const LEAST_WATCHED: Duration = Duration::from_millis(700);

/// How long the input may take to show that the text was taken back.
const ERASE_LIMIT: Duration = Duration::from_millis(1_000);

impl Typist<'_> {
    /// Submits the text that was typed, by the chord.
    ///
    /// The text is waited for: keys that reach the client together with the text are not taken for a chord.
    pub(super) fn submit_by_chord(
        &self,
        pane: &dyn Pane,
        chord: &SubmitChord,
        superseded: Superseded<'_>,
    ) -> Result<(), String> {
        let seen =
            self.wait_for_echo(pane).and_then(|()| is_still_wanted(superseded)).and_then(|()| self.no_turn_began());
        if let Err(problem) = seen {
            self.take_back_or_note(pane);
            return Err(problem);
        }
        self.pressed.replace(Some(self.key.borrow().clone()));
        self.run(&pane.press_chord(&chord.submit))?;
        if chord.proven { Ok(()) } else { self.see_submitted(pane, chord) }
    }

    /// Sees that the chord has emptied the input. A client that ignores it is typed at with Enter from now on.
    fn see_submitted(&self, pane: &dyn Pane, chord: &SubmitChord) -> Result<(), String> {
        let started = Instant::now();
        let limit = self.order.deadline.map_or(CHORD_LIMIT, |deadline| deadline.left().saturating_sub(TIME_AFTER));
        loop {
            match self.look(pane)? {
                // The marker may be shown in the input again, as a suggestion or a queued message: only the draft counts.
                look @ ScreenState::Input { .. } if !look.shows_pasted(&self.order.text) => return Ok(()),
                ScreenState::Unsafe(UnsafeScreen::Dialog) => {
                    // Whether it was submitted before the dialog opened, the receipt says.
                    self.note_left();
                    return Ok(());
                }
                ScreenState::Input { .. } | ScreenState::Unsafe(_) if started.elapsed() < limit => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                ScreenState::Input { .. } | ScreenState::Unsafe(_) => break,
            }
        }
        if started.elapsed() < LEAST_WATCHED {
            self.note_left();
            return Ok(());
        }
        self.note_proof(ChordResult::Ignored);
        self.key.replace(SubmitKey::Enter);
        self.take_back_or_note(pane);
        let erased = Instant::now();
        while erased.elapsed() < ERASE_LIMIT && matches!(self.look(pane), Ok(ScreenState::Input { draft: Some(_), .. }))
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(format!("the client ignores {}: Enter is used instead", chord.submit))
    }

    fn take_back_or_note(&self, pane: &dyn Pane) {
        self.take_back(pane);
        if self.has_typed() {
            self.note_left();
        } else {
            self.note_none_left();
        }
    }

    /// Notes that the text was received, which proves the chord.
    pub(crate) fn note_received(&self) {
        let is_unproven = |key: &SubmitKey| key.chord().is_some_and(|chord| !chord.proven);
        if let Some(key) = self.pressed.borrow().as_ref().filter(|key| is_unproven(key)) {
            self.note_proof_of(key, ChordResult::Received);
        }
        self.note_none_left();
    }

    /// Returns whether a chord was pressed, after which a receipt is this order's own.
    pub(crate) fn has_pressed_chord(&self) -> bool {
        self.pressed.borrow().as_ref().is_some_and(|key| key.chord().is_some())
    }

    /// Notes that nothing has shown that the text was received.
    ///
    /// A dialog that opened just before the chord has swallowed it: the text is behind that dialog, or in the input again. A
    /// chord that fails twice so is no longer believed, and where nothing can be seen, neither is an unproven one.
    pub(crate) fn note_not_received(&self) {
        let Some(is_proven) = self.key.borrow().chord().map(|chord| chord.proven) else { return };
        let (is_left, is_ignored) = match self.visible_pane().map(|pane| self.look(pane)) {
            Some(Ok(ScreenState::Unsafe(UnsafeScreen::Dialog))) => (true, false),
            Some(Ok(look)) if look.shows_pasted(&self.order.text) => (true, self.was_left() || !is_proven),
            Some(_) => (false, false),
            None => (!is_proven, !is_proven),
        };
        if is_ignored {
            self.note_proof(ChordResult::Ignored);
        }
        if is_left {
            self.note_left();
        } else {
            self.note_none_left();
        }
    }

    /// Returns whether a draft may have been stashed in a terminal that cannot be read.
    ///
    /// If a dialog has swallowed the text and the chord, the stash chord would bring the draft back a second time, and it
    /// would be submitted together with the text.
    pub(crate) fn may_have_stashed_unseen(&self) -> bool {
        let pressed = self.pressed.borrow();
        let chord = pressed.as_ref().and_then(|key| key.chord());
        self.visible_pane().is_none() && chord.is_some_and(|chord| chord.proven && chord.stash.is_some())
    }

    /// Returns whether the order's text is in the input because an earlier order left it there.
    pub(super) fn was_left(&self) -> bool {
        self.left.borrow().as_deref() == Some(self.order.text.as_str())
    }

    /// Notes, before anything is typed, that the text may be left in the input.
    ///
    /// A process that is killed between the text and the chord cannot note it any more, and the next order would take the
    /// text for a draft.
    pub(super) fn note_typing(&self) {
        self.noted.set(true);
        if let Some(pid) = self.order.client_pid {
            // Without the note the text is taken for a draft, which costs a bookmark and nothing else.
            let _ = client_notes::note_left(self.home, pid, Some(&self.order.text));
        }
    }

    fn note_left(&self) {
        self.left.replace(Some(self.order.text.clone()));
        self.note_typing();
    }

    pub(super) fn note_none_left(&self) {
        let is_noted = self.left.replace(None).is_some() | self.noted.replace(false);
        if let Some(pid) = self.order.client_pid.filter(|_| is_noted) {
            let _ = client_notes::note_left(self.home, pid, None);
        }
    }

    fn note_proof(&self, proof: ChordResult) {
        self.note_proof_of(&self.key.borrow(), proof);
    }

    fn note_proof_of(&self, key: &SubmitKey, proof: ChordResult) {
        if let Some(pid) = self.order.client_pid {
            // Without the note the chord is tried again, with the same care.
            let _ = client_notes::note_proof(self.env, self.home, pid, key, proof);
        }
    }
}
