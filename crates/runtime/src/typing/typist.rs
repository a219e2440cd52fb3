//! Types one text into one pane.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_inject::{
    ChordResult, ClientActivity, EditorMode, Inspection, Pane, ScreenState, SubmitChord, TerminalCommand, TurnSign,
    TypeWhen, TypingDecision, UnsafeScreen, WaitReason, may_type, screen_state, text_for_chord,
};

use crate::typing::{self, Order};
use crate::{Error, Home, client_records, files, process};

/// How long to wait for one call of tmux, screen or another terminal.
pub(super) const TERMINAL_CALL: Duration = Duration::from_millis(1_500);

/// A client is observed for at least this long before it counts as ignoring the chord.
const CHORD_LEAST_OBSERVED: Duration = Duration::from_millis(700);

/// What a hook needs after a chord without effect, to erase the text and to press Enter.
const AFTER_CHORD: Duration = Duration::from_millis(1_200);

/// How long to wait for a client with an unproven chord, until it has emptied its input. A busy client needs more time.
const CHORD_SUBMITS: Duration = Duration::from_millis(3_000);

/// Enter is not pressed if less time than this is left, because Claude Code would no longer wait for the hook.
const ENTER_MARGIN: Duration = Duration::from_millis(300);

/// How long to wait for typed text, until the input shows that it was erased.
const TYPED_TEXT_ERASED: Duration = Duration::from_millis(1_000);

/// How long to wait for typed text, until it appears in the input.
const TYPED_TEXT_SHOWN: Duration = Duration::from_millis(1_000);

/// Returns whether a text is no longer wanted.
pub(crate) type Superseded<'a> = &'a dyn Fn() -> Result<bool, Error>;

/// Types the text of one order into its pane.
pub(crate) struct Typist<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: &'a Home,
    pub(super) order: &'a Order,
    editor: EditorMode,
    typed: Cell<bool>,
    /// Whether the text in the input was typed for the chord, with a space after a command.
    typed_for_chord: Cell<bool>,
    /// The chord that submits; `None` for Enter. A chord that turns out to be ignored is replaced by Enter.
    pub(super) chord: RefCell<Option<SubmitChord>>,
    /// The chord that was pressed last, whether it had an effect or not.
    pub(super) pressed: RefCell<Option<SubmitChord>>,
    /// A text of Longhaul that an earlier order left in the input.
    pub(super) left: RefCell<Option<String>>,
    /// Whether this order's text is recorded as one that may be left in the input.
    noted: Cell<bool>,
}

impl<'a> Typist<'a> {
    pub(crate) fn new(env: &'a Env, home: &'a Home, order: &'a Order) -> Self {
        let (chord, notes) = typing::submit_chord(env, home, order.client_pid);
        Self {
            env,
            home,
            order,
            editor: client_records::editor_mode(env),
            typed: Cell::new(false),
            typed_for_chord: Cell::new(false),
            chord: RefCell::new(chord.filter(|chord| order.terminal.passes(chord))),
            pressed: RefCell::new(None),
            left: RefCell::new(notes.left),
            noted: Cell::new(false),
        }
    }

    /// Returns whether the submit key could answer a dialog that opens at any time.
    pub(crate) fn could_answer_a_dialog(&self) -> bool {
        self.chord.borrow().is_none()
    }

    /// Returns the state of the client in which the text may be typed.
    pub(super) fn want(&self) -> TypeWhen {
        match self.order.want_by_chord {
            Some(want) if !self.could_answer_a_dialog() => want,
            Some(_) | None => self.order.want,
        }
    }

    /// Returns whether any key was sent.
    pub(crate) fn has_typed(&self) -> bool {
        self.typed.get()
    }

    /// Takes the lock of the pane, which is released when the file is dropped; `None` while another process types.
    pub(crate) fn lock(&self) -> Result<Option<File>, Error> {
        files::try_lock(&self.home.locks().join(self.order.terminal.lock_name()))
    }

    /// Returns what may be done now.
    pub(crate) fn decide(&self) -> Result<TypingDecision, String> {
        let client = self.client();
        let Some(pane) = self.order.terminal.pane() else { return self.decide_blindly(client) };
        let look = match self.look(pane) {
            Err(problem) if self.order.terminal.may_be_blind() => {
                return Err(format!("{problem} (its newer versions let other programs read the screen)"));
            }
            look => look?,
        };
        if self.order.agents_may_ask
            && self.could_answer_a_dialog()
            && matches!(look, ScreenState::Input { agents: true, .. })
        {
            return Ok(TypingDecision::Wait(WaitReason::Agents));
        }
        let decision = may_type(&look, client, self.want(), &self.order.text);
        Ok(match decision {
            // The same text, but not from this order: the user is typing it, or /rewind has left it there.
            TypingDecision::TypedAlready if !self.has_typed() && !self.was_left() => match self.want() {
                TypeWhen::MidTurn => TypingDecision::Wait(WaitReason::Draft),
                TypeWhen::Idle | TypeWhen::Either => TypingDecision::Stash { draft: self.order.text.clone() },
            },
            // It was typed but is not visible yet. Typing it again would duplicate it.
            TypingDecision::Type if self.has_typed() => TypingDecision::Wait(WaitReason::Draft),
            decision => decision,
        })
    }

    /// Decides without a screen, by the client's own record only, which must exist.
    fn decide_blindly(&self, client: ClientActivity) -> Result<TypingDecision, String> {
        // An unproven chord is used only by a process that waits long enough for the receipt.
        let is_unproven = self.chord.borrow().as_ref().is_some_and(|chord| !chord.proven);
        if is_unproven && self.order.deadline.is_some() {
            self.chord.replace(None);
        }
        if self.order.agents_run && self.could_answer_a_dialog() {
            return Ok(TypingDecision::Wait(WaitReason::Agents));
        }
        let turn = match client {
            ClientActivity::Busy | ClientActivity::Waiting => TurnSign::Running,
            ClientActivity::Idle => TurnSign::Idle,
            ClientActivity::Unknown => {
                return Err("neither the screen nor Claude Code's own record can be read".to_owned());
            }
        };
        let input = ScreenState::Input { draft: None, turn, stashed: false, agents: false };
        Ok(may_type(&input, client, self.want(), &self.order.text))
    }

    fn client(&self) -> ClientActivity {
        client_records::says(self.env, self.order.client_pid)
    }

    pub(super) fn look(&self, pane: &dyn Pane) -> Result<ScreenState, String> {
        let outputs: Vec<String> = pane.inspect().iter().map(|step| self.run(step)).collect::<Result<_, _>>()?;
        let inspection = pane.parse(&outputs).ok_or_else(|| format!("{} is gone", pane.name()))?;
        if !inspection.dead && !client_is_in(&inspection, self.order.client_pid) {
            return Err(format!("Claude Code does not run in {}", pane.name()));
        }
        Ok(screen_state(&inspection, self.editor))
    }

    /// Types the text, checks that it appears in the input, and submits it, each unless it is `superseded` by then.
    ///
    /// Up to a second may pass between the inspection and Enter, in which the user can cancel the order, start a turn, or
    /// begin another session with `/clear`.
    pub(crate) fn submit(&self, decision: &TypingDecision, superseded: Superseded<'_>) -> Result<(), String> {
        let chord = self.chord.borrow().clone();
        let Some(pane) = self.order.terminal.pane() else {
            is_still_wanted(superseded)?;
            self.typed.set(true);
            // A text that an ignored chord has left in the input only needs to be submitted.
            let text = if self.was_left() { "" } else { &self.order.text };
            self.note_none_left();
            self.pressed.replace(chord.clone());
            let steps = self.order.terminal.submit_unseen(text, chord.as_ref());
            return steps.iter().try_for_each(|step| self.run(step).map(drop));
        };
        if *decision == TypingDecision::TypedAlready {
            // Only a text that was typed for the chord is recorded as left in the input.
            self.typed_for_chord.set(self.typed_for_chord.get() || self.was_left());
        } else {
            is_still_wanted(superseded)?;
            if chord.is_some() {
                self.note_typing();
            }
            self.typed.set(true);
            self.typed_for_chord.set(chord.is_some());
            let text = &self.order.text;
            self.run(&pane.type_text(&chord.as_ref().map_or_else(|| text.clone(), |_| text_for_chord(text))))?;
        }
        if let Some(chord) = &chord {
            return self.submit_by_chord(pane, chord, superseded);
        }
        // A receipt from now on does not prove a chord that was pressed before.
        self.pressed.replace(None);
        let seen =
            self.wait_for_echo(pane).and_then(|()| is_still_wanted(superseded)).and_then(|()| self.is_still_safe());
        if let Err(problem) = seen {
            self.take_back(pane);
            return Err(problem);
        }
        self.run(&pane.press_enter()).map(drop)
    }

    fn wait_for_echo(&self, pane: &dyn Pane) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < TYPED_TEXT_SHOWN {
            let look = self.look(pane)?;
            if look == ScreenState::Unsafe(UnsafeScreen::Dialog) && !self.could_answer_a_dialog() {
                return Err("a dialog opened meanwhile".to_owned());
            }
            if look.shows_pasted(&self.order.text) {
                let turn_began =
                    self.want() == TypeWhen::Idle && matches!(look, ScreenState::Input { turn: TurnSign::Running, .. });
                return if turn_began { Err("a turn began meanwhile".to_owned()) } else { Ok(()) };
            }
            std::thread::sleep(Duration::from_millis(4));
        }
        Err(format!("{:?} did not show in the input", self.order.text))
    }

    /// Returns an error if Enter is no longer safe.
    ///
    /// A dialog appears on the screen a moment after a key, but in Claude Code's record at once.
    fn is_still_safe(&self) -> Result<(), String> {
        match self.client() {
            ClientActivity::Waiting => return Err("a dialog opened meanwhile".to_owned()),
            ClientActivity::Busy | ClientActivity::Idle | ClientActivity::Unknown => {}
        }
        self.no_turn_began()?;
        if self.order.deadline.is_some_and(|deadline| deadline.left() < ENTER_MARGIN) {
            return Err("the hook's time is up".to_owned());
        }
        Ok(())
    }

    /// Returns an error if a turn began that the order does not allow.
    ///
    /// A text that is submitted then would wait for the end of that turn.
    fn no_turn_began(&self) -> Result<(), String> {
        match self.client() {
            ClientActivity::Busy if self.want() == TypeWhen::Idle => Err("a turn began meanwhile".to_owned()),
            ClientActivity::Busy | ClientActivity::Waiting | ClientActivity::Idle | ClientActivity::Unknown => Ok(()),
        }
    }

    /// Erases the text at the end of the input, alone or after text that the user typed meanwhile.
    fn take_back(&self, pane: &dyn Pane) {
        let text = &self.order.text;
        let typed = if self.typed_for_chord.get() { text_for_chord(text) } else { text.clone() };
        let Ok(look) = self.look(pane) else { return };
        if (look.ends_with(text) || look.holds(text)) && self.run(&pane.erase(typed.chars().count())).is_ok() {
            self.typed.set(false);
        }
    }

    /// Stashes the draft and submits the text. Claude Code restores the draft after that.
    pub(super) fn stash_and_submit(&self, superseded: Superseded<'_>) -> Result<(), String> {
        let Some(pane) = self.order.terminal.pane() else { return Err("the input cannot be seen".to_owned()) };
        let stash = match self.chord.borrow().as_ref().and_then(|chord| chord.stash.as_ref()) {
            Some(chord) => pane.press_chord(chord),
            None => pane.stash_draft(),
        };
        self.run(&stash)?;
        let is_stashed = || matches!(self.look(pane), Ok(ScreenState::Input { draft: None, stashed: true, .. }));
        let started = Instant::now();
        while !is_stashed() {
            if started.elapsed() > TYPED_TEXT_SHOWN {
                return Err("the draft could not be stashed".to_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let submitted = self.decide().and_then(|decision| match decision {
            TypingDecision::Type => self.submit(&decision, superseded),
            TypingDecision::TypedAlready | TypingDecision::Stash { .. } => {
                Err("the input changed meanwhile".to_owned())
            }
            TypingDecision::Wait(why) => Err(why.to_string()),
        });
        if submitted.is_err() && is_stashed() {
            // Nothing was submitted, so Claude Code does not restore the draft. The same key does.
            let _ = self.run(&stash);
        }
        submitted
    }

    pub(super) fn run(&self, step: &TerminalCommand) -> Result<String, String> {
        let limit = self.order.deadline.map_or(TERMINAL_CALL, |deadline| TERMINAL_CALL.min(deadline.left()));
        process::run(step, limit).map_err(|error| error.chain())
    }
}

/// Returns whether the client runs in the pane, as far as the terminal reports its processes.
///
/// A program that runs elsewhere may have inherited the variable that names a pane.
pub(super) fn client_is_in(inspection: &Inspection, client_pid: Option<u32>) -> bool {
    match (inspection.pid, &inspection.tty, client_pid) {
        (Some(root), _, client) => process::client_runs_below(root, client),
        (None, Some(tty), Some(client)) => process::tty(client).is_none_or(|own| own == *tty),
        (None, Some(_), None) => true,
        (None, None, client) => client.is_some_and(process::runs_in_zellij),
    }
}

/// Returns an error if a text is no longer wanted, or if that cannot be determined.
fn is_still_wanted(superseded: Superseded<'_>) -> Result<(), String> {
    match superseded() {
        Ok(false) => Ok(()),
        Ok(true) => Err("it is no longer wanted".to_owned()),
        Err(error) => Err(error.chain()),
    }
}

// Submits by a chord that no dialog reacts to.
//
// The chord cannot approve anything, so that no dialog has to be excluded between the text and the chord. But a dialog
// that opens in between can swallow the chord. Then the text stays in the input, which is recorded, and the next order
// submits it.

impl Typist<'_> {
    /// Submits the typed text by the chord.
    ///
    /// The text must be visible first: the client does not recognise a chord in keys that arrive together with the
    /// text.
    fn submit_by_chord(&self, pane: &dyn Pane, chord: &SubmitChord, superseded: Superseded<'_>) -> Result<(), String> {
        let seen =
            self.wait_for_echo(pane).and_then(|()| is_still_wanted(superseded)).and_then(|()| self.no_turn_began());
        if let Err(problem) = seen {
            self.take_back_or_note(pane);
            return Err(problem);
        }
        self.pressed.replace(Some(chord.clone()));
        self.run(&pane.press_chord(&chord.submit))?;
        if chord.proven { Ok(()) } else { self.see_submitted(pane, chord) }
    }

    /// Checks that the chord has emptied the input. If the client ignores the chord, Enter is used from then on.
    fn see_submitted(&self, pane: &dyn Pane, chord: &SubmitChord) -> Result<(), String> {
        let started = Instant::now();
        let limit = self.order.deadline.map_or(CHORD_SUBMITS, |deadline| deadline.left().saturating_sub(AFTER_CHORD));
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
        if started.elapsed() < CHORD_LEAST_OBSERVED {
            self.note_left();
            return Ok(());
        }
        self.note_proof(ChordResult::Ignored);
        self.chord.replace(None);
        self.take_back_or_note(pane);
        let erased = Instant::now();
        while erased.elapsed() < TYPED_TEXT_ERASED
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
        if let Some(chord) = self.pressed.borrow().as_ref().filter(|chord| !chord.proven) {
            self.note_proof_of(chord, ChordResult::Received);
        }
        self.note_none_left();
    }

    /// Returns whether a chord was pressed. A receipt after that belongs to this order.
    pub(crate) fn has_pressed_chord(&self) -> bool {
        self.pressed.borrow().is_some()
    }

    /// Records that the text was not confirmed.
    ///
    /// If a dialog opened just before the chord, it swallowed the chord, and the text is behind the dialog or in the
    /// input again. A chord that fails twice in this way counts as ignored. If the screen cannot be read, an unproven
    /// chord counts as ignored at once.
    pub(crate) fn note_not_received(&self) {
        let Some(is_proven) = self.chord.borrow().as_ref().map(|chord| chord.proven) else { return };
        let (is_left, is_ignored) = match self.order.terminal.pane().map(|pane| self.look(pane)) {
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
        self.order.terminal.pane().is_none()
            && pressed.as_ref().is_some_and(|chord| chord.proven && chord.stash.is_some())
    }

    /// Returns whether an earlier order left this order's text in the input.
    fn was_left(&self) -> bool {
        self.left.borrow().as_deref() == Some(self.order.text.as_str())
    }

    /// Records, before anything is typed, that the text may be left in the input.
    ///
    /// A process that is killed between the text and the chord cannot record it any more, and the next order would take
    /// the text for a draft.
    fn note_typing(&self) {
        self.noted.set(true);
        if let Some(pid) = self.order.client_pid {
            // If this fails, the text is taken for a draft, which costs only a bookmark.
            let _ = typing::note_left(self.home, pid, Some(&self.order.text));
        }
    }

    fn note_left(&self) {
        self.left.replace(Some(self.order.text.clone()));
        self.note_typing();
    }

    pub(super) fn note_none_left(&self) {
        let is_noted = self.left.replace(None).is_some() | self.noted.replace(false);
        if let Some(pid) = self.order.client_pid.filter(|_| is_noted) {
            let _ = typing::note_left(self.home, pid, None);
        }
    }

    fn note_proof(&self, proof: ChordResult) {
        if let Some(chord) = &*self.chord.borrow() {
            self.note_proof_of(chord, proof);
        }
    }

    fn note_proof_of(&self, chord: &SubmitChord, proof: ChordResult) {
        if let Some(pid) = self.order.client_pid {
            // If this fails, the chord is tried again with the same checks.
            let _ = typing::note_proof(self.env, self.home, pid, chord, proof);
        }
    }
}
