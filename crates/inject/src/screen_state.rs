//! Reading the state of Claude Code from its screen, to decide whether typing is safe.
//!
//! Texts and the spinner change with versions and settings, so the structure of the screen is used. A screen that is not
//! recognized is unsafe: Enter in the wrong place grants a permission.

use std::fmt;

use crate::ansi::{self, Row};
use crate::input_box::{InputBox, Prompt, is_option};
use crate::inspection::Inspection;

/// Claude Code's setting for the editing mode of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditorMode {
    /// Keys insert text.
    #[default]
    Normal,
    /// Keys insert text only in insert mode, in which the footer shows `-- INSERT --`.
    Vim,
}

/// The state of Claude Code, as its screen shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScreenState {
    /// The input box has the cursor.
    Input {
        /// The text in the input, where there is any.
        draft: Option<String>,
        /// Whether a turn is running.
        turn: TurnSign,
        /// Whether a draft is stashed.
        stashed: bool,
        /// Whether subagents are listed below the input. One of them may open a dialog at any moment.
        agents: bool,
    },
    /// Typing is not safe, for this reason.
    Unsafe(UnsafeScreen),
}

/// Whether the screen shows a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnSign {
    /// A turn is running. A submitted text is queued.
    Running,
    /// Nothing on the screen shows a running turn.
    ///
    /// This is less certain than [`TurnSign::Running`]: notices can hide every sign of a turn. Claude Code's own record
    /// is more reliable.
    Idle,
}

/// Why it is not safe to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsafeScreen {
    /// The pane's program has ended.
    PaneDead,
    /// The pane is in a tmux mode, such as copy mode, in which tmux handles the keys.
    PaneInMode,
    /// tmux would send the keys to other panes, too.
    PaneSynchronized,
    /// A question, a menu or a search is open.
    Dialog,
    /// The input goes to a shell.
    ShellMode,
    /// The input is not in vim's insert mode, so keys are commands.
    VimNormal,
    /// The conversation is being compacted. A submitted text would become a turn of its own afterwards.
    Compacting,
    /// Claude Code waits for the second key press that exits it.
    Exiting,
    /// The cursor is not in the input box.
    NoCursor,
    /// There is no input box on the screen.
    NoInputBox,
}

impl fmt::Display for UnsafeScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PaneDead => "the pane's program has ended",
            Self::PaneInMode => "the pane is in a tmux mode such as copy-mode",
            Self::PaneSynchronized => "the pane is synchronized with others",
            Self::Dialog => "a dialog is open",
            Self::ShellMode => "the input is in shell mode",
            Self::VimNormal => "the input is not in vim's insert mode",
            Self::Compacting => "the conversation is being compacted",
            Self::Exiting => "Claude Code is about to exit",
            Self::NoCursor => "the cursor is not in the input",
            Self::NoInputBox => "there is no input box on the screen",
        })
    }
}

impl ScreenState {
    /// Returns whether the input contains exactly `text`, which may be wrapped.
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Self::Input { draft: Some(draft), .. } => is_wrapped(draft, text) || is_hinted(draft, text),
            Self::Input { draft: None, .. } | Self::Unsafe(_) => false,
        }
    }

    /// Returns whether the input ends with `text`, however it is wrapped.
    pub fn ends_with(&self, text: &str) -> bool {
        let joined = |text: &str| text.split_whitespace().collect::<String>();
        match self {
            Self::Input { draft: Some(draft), .. } => joined(draft).ends_with(&joined(text)),
            Self::Input { draft: None, .. } | Self::Unsafe(_) => false,
        }
    }

    /// Returns whether the input shows `text` after it was pasted into an empty input.
    ///
    /// Claude Code shows `[Pasted text #1]` in place of a text of more than about 800 characters.
    pub fn shows_pasted(&self, text: &str) -> bool {
        let folded = match self {
            Self::Input { draft: Some(draft), .. } => draft.starts_with("[Pasted text #") && draft.ends_with(']'),
            Self::Input { draft: None, .. } | Self::Unsafe(_) => false,
        };
        self.holds(text) || (folded && text.chars().count() > 500)
    }
}

/// Returns the state of Claude Code on a captured screen; `editor` is the editing mode of its input.
pub fn screen_state(inspection: &Inspection, editor: EditorMode) -> ScreenState {
    if let Some(danger) = pane_danger(inspection) {
        return ScreenState::Unsafe(danger);
    }
    let rows = ansi::rows(&inspection.screen);
    let Some(input) = InputBox::find(&rows) else {
        let dialog = rows.iter().any(|row| is_option(row) || has_dialog_hint(row));
        return ScreenState::Unsafe(if dialog { UnsafeScreen::Dialog } else { UnsafeScreen::NoInputBox });
    };
    match find_danger(&input, inspection.cursor.map(|(_, row)| row), editor) {
        Some(danger) => ScreenState::Unsafe(danger),
        None => ScreenState::Input {
            draft: input.draft(),
            turn: if is_running(&input) { TurnSign::Running } else { TurnSign::Idle },
            stashed: input.above.last().is_some_and(|row| row.text().to_lowercase().contains("stashed")),
            agents: input.below.iter().any(|row| row.content().first().is_some_and(|cell| cell.ch == '◯')),
        },
    }
}

/// Returns why the pane itself cannot be typed into, whatever runs in it.
pub(crate) fn pane_danger(inspection: &Inspection) -> Option<UnsafeScreen> {
    let dangers = [
        (inspection.dead, UnsafeScreen::PaneDead),
        (inspection.in_mode, UnsafeScreen::PaneInMode),
        (inspection.synchronized, UnsafeScreen::PaneSynchronized),
    ];
    dangers.into_iter().find(|(is_there, _)| *is_there).map(|(_, danger)| danger)
}

fn find_danger(input: &InputBox<'_>, cursor_row: Option<usize>, editor: EditorMode) -> Option<UnsafeScreen> {
    // A pointer below the box means that a list there, such as the list of agents, receives the keys.
    let pointed = |row: &Row| row.content().first().is_some_and(|cell| cell.ch == '❯');
    if input.above.iter().any(is_option) || input.below.iter().any(|row| pointed(row) || has_dialog_hint(row)) {
        return Some(UnsafeScreen::Dialog);
    }
    match input.prompt {
        Prompt::Shell => return Some(UnsafeScreen::ShellMode),
        Prompt::Model => {}
    }
    if !input.has_cursor(cursor_row) {
        return Some(UnsafeScreen::NoCursor);
    }
    let shows = |words: &str| input.below.iter().any(|row| row.text().contains(words));
    if shows("again to exit") {
        return Some(UnsafeScreen::Exiting);
    }
    if spinner(input).is_some_and(|text| text.contains("Compacting")) {
        return Some(UnsafeScreen::Compacting);
    }
    let commands = match editor {
        EditorMode::Normal => shows("-- NORMAL --") || shows("-- VISUAL"),
        EditorMode::Vim => !shows("-- INSERT --"),
    };
    commands.then_some(UnsafeScreen::VimNormal)
}

/// Returns whether `row` names the keys of a dialog: `Esc to cancel`, `Enter to select`, `↑/↓ to navigate`.
fn has_dialog_hint(row: &Row) -> bool {
    let text = row.text().to_lowercase();
    let escapes = text.split("esc to ").skip(1).any(|rest| !rest.starts_with("interrupt"));
    escapes
        || ["enter to ", "enter/↓ to ", "↑/↓ to ", "↑↓ to ", "search prompts"].iter().any(|hint| text.contains(hint))
}

/// Returns whether the footer offers to interrupt, or a spinner is shown above the box.
///
/// Either can be missing: a draft, vim mode and notices replace the footer's text, and narrow panes cut it.
fn is_running(input: &InputBox<'_>) -> bool {
    let offered = input.below.iter().any(|row| row.text().to_lowercase().contains("esc to interrupt"));
    offered || spinner(input).is_some()
}

/// Returns the text of the spinner's row above the box, such as `✽ Pondering… (2s · ↓ 109 tokens)`.
///
/// Only indented rows (tips, tasks, hints) may stand between it and the box.
fn spinner(input: &InputBox<'_>) -> Option<String> {
    let unindented = |row: &&Row| row.cells.first().is_some_and(|cell| !cell.ch.is_whitespace());
    let text = input.above.iter().rev().find(unindented)?.text();
    let mut chars = text.chars();
    let sign = chars.next().is_some_and(|ch| !ch.is_alphanumeric() && !matches!(ch, '❯' | '●' | '⏺' | '⎿' | '!'));
    let verb = text.trim_end().ends_with('…') || text.contains("… (");
    (sign && chars.next() == Some(' ') && verb).then_some(text)
}

/// Returns whether `draft` is the command `text`, followed by white space and a hint about its arguments, such as `[name]`.
fn is_hinted(draft: &str, text: &str) -> bool {
    let is_command = text.starts_with('/') && !text.contains(char::is_whitespace);
    let hint = draft.strip_prefix(text).filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim);
    is_command
        && hint.is_some_and(|hint| {
            matches!((hint.chars().next(), hint.chars().last()), (Some('['), Some(']')) | (Some('<'), Some('>')))
        })
}

/// Returns whether `draft` is `text`, wrapped at spaces or within words.
fn is_wrapped(draft: &str, text: &str) -> bool {
    let (mut rest, mut is_spaced) = (text.trim(), true);
    draft.trim().lines().all(|line| {
        // A row begins with the space at which the text was wrapped, if that was the first character that did not fit.
        let words = line.trim_start();
        match rest.strip_prefix(words).filter(|_| is_spaced || words.len() == line.len()) {
            Some(after) => {
                rest = after.trim_start();
                is_spaced = rest.len() < after.len();
                true
            }
            None => false,
        }
    }) && rest.is_empty()
}
