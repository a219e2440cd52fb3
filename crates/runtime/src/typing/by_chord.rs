//! Submits by a chord that no dialog reacts to.
//!
//! The chord cannot approve anything, so that no dialog has to be excluded between the text and the chord. But a dialog
//! that opens in between can swallow the chord. Then the text stays in the input, which is recorded, and the next order
//! submits it.

use std::time::{Duration, Instant};

use longhaul_inject::{ChordResult, Pane, ScreenState, SubmitChord, SubmitKey, UnsafeScreen};

use super::client_notes;
use super::typist::{Superseded, Typist, is_still_wanted};
use crate::waiting_times;

impl Typist<'_> {
    /// Submits the typed text by the chord.
    ///
    /// The text must be visible first: the client does not recognise a chord in keys that arrive together with the
    /// text.
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

    /// Checks that the chord has emptied the input. If the client ignores the chord, Enter is used from then on.
    fn see_submitted(&self, pane: &dyn Pane, chord: &SubmitChord) -> Result<(), String> {
        let started = Instant::now();
        let limit = self.order.deadline.map_or(waiting_times::CHORD_SUBMITS, |deadline| {
            deadline.left().saturating_sub(waiting_times::AFTER_CHORD)
        });
        loop {
            match self.look(pane)? {
                // The marker may be shown in the input as a suggestion or a queued message, so only the draft counts.
                look @ ScreenState::Input { .. } if !look.shows_pasted(&self.order.text) => return Ok(()),
                ScreenState::Unsafe(UnsafeScreen::Dialog) => {
                    // The receipt shows whether it was submitted before the dialog opened.
                    self.note_left();
                    return Ok(());
                }
                ScreenState::Input { .. } | ScreenState::Unsafe(_) if started.elapsed() < limit => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                ScreenState::Input { .. } | ScreenState::Unsafe(_) => break,
            }
        }
        if started.elapsed() < waiting_times::CHORD_LEAST_OBSERVED {
            self.note_left();
            return Ok(());
        }
        self.note_proof(ChordResult::Ignored);
        self.key.replace(SubmitKey::Enter);
        self.take_back_or_note(pane);
        let erased = Instant::now();
        while erased.elapsed() < waiting_times::TYPED_TEXT_ERASED
            && matches!(self.look(pane), Ok(ScreenState::Input { draft: Some(_), .. }))
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(format!("Claude Code ignores {}: Enter is used instead", chord.submit))
    }

    fn take_back_or_note(&self, pane: &dyn Pane) {
        self.take_back(pane);
        if self.has_typed() {
            self.note_left();
        } else {
            self.note_none_left();
        }
    }

    /// Records that the text was received, which proves the chord.
    pub(crate) fn note_received(&self) {
        let is_unproven = |key: &SubmitKey| key.chord().is_some_and(|chord| !chord.proven);
        if let Some(key) = self.pressed.borrow().as_ref().filter(|key| is_unproven(key)) {
            self.note_proof_of(key, ChordResult::Received);
        }
        self.note_none_left();
    }

    /// Returns whether a chord was pressed. A receipt after that belongs to this order.
    pub(crate) fn has_pressed_chord(&self) -> bool {
        self.pressed.borrow().as_ref().is_some_and(|key| key.chord().is_some())
    }

    /// Records that the text was not confirmed.
    ///
    /// If a dialog opened just before the chord, it swallowed the chord, and the text is behind the dialog or in the
    /// input again. A chord that fails twice in this way counts as ignored. If the screen cannot be read, an unproven
    /// chord counts as ignored at once.
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
    /// If a dialog has swallowed the text and the chord, pressing the stash chord again would restore the draft, and it
    /// would be submitted together with the text.
    pub(crate) fn may_have_stashed_unseen(&self) -> bool {
        let pressed = self.pressed.borrow();
        let chord = pressed.as_ref().and_then(|key| key.chord());
        self.visible_pane().is_none() && chord.is_some_and(|chord| chord.proven && chord.stash.is_some())
    }

    /// Returns whether an earlier order left this order's text in the input.
    pub(super) fn was_left(&self) -> bool {
        self.left.borrow().as_deref() == Some(self.order.text.as_str())
    }

    /// Records, before anything is typed, that the text may be left in the input.
    ///
    /// A process that is killed between the text and the chord cannot record it any more, and the next order would take
    /// the text for a draft.
    pub(super) fn note_typing(&self) {
        self.noted.set(true);
        if let Some(pid) = self.order.client_pid {
            // If this fails, the text is taken for a draft, which costs only a bookmark.
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
            // If this fails, the chord is tried again with the same checks.
            let _ = client_notes::note_proof(self.env, self.home, pid, key, proof);
        }
    }
}
