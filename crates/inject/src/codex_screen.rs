//! Reading the state of Codex from its screen, to decide whether typing is safe, and which window shows a session.
//!
//! The composer is a row that begins with `›`, neither faint nor highlighted. Earlier prompts begin with a faint `›`, and
//! the chosen entry of a list or dialog with a highlighted one. A screen that is not recognized is unsafe.

use crate::screen_state::{self, Cell, Inspection, Row, ScreenState, TurnSign, UnsafeScreen, pane_danger};

/// The sign before the composer, before earlier prompts and before the chosen entry of a list.
const SIGN: char = '›';

/// The minimum length of a prompt that may be shown only in part, in characters without white space.
const PART_CHARS: usize = 40;

/// Returns the state of Codex on a captured screen.
pub fn codex_screen_state(inspection: &Inspection) -> ScreenState {
    if let Some(danger) = pane_danger(inspection) {
        return ScreenState::Unsafe(danger);
    }
    let rows = screen_state::rows(&inspection.screen);
    let Some(at) = rows.iter().rposition(is_composer) else {
        let dialog = rows.iter().any(|row| row.content().first().is_some_and(is_chosen));
        return ScreenState::Unsafe(if dialog { UnsafeScreen::Dialog } else { UnsafeScreen::NoInputBox });
    };
    let (above, composer) = rows.split_at(at);
    let height = composer.iter().position(Row::is_blank).unwrap_or(composer.len());
    let (composer, below) = composer.split_at(height);
    if !inspection.cursor.is_some_and(|(_, row)| (at..at + height).contains(&row)) {
        return ScreenState::Unsafe(UnsafeScreen::NoCursor);
    }
    let draft = draft(composer);
    match danger(above, below, draft.as_deref()) {
        Some(danger) => ScreenState::Unsafe(danger),
        None => ScreenState::Input { draft, turn: turn(above), stashed: false, agents: false },
    }
}

/// Returns whether Codex's screen shows a prompt that was submitted. A new session shows none.
pub fn codex_has_prompts(screen: &str) -> bool {
    screen_state::rows(screen).iter().any(is_prompt)
}

/// Returns whether the newest prompt on Codex's screen is `prompt`. Of a long prompt, the screen may show only a part.
pub fn codex_shows_prompt(screen: &str, prompt: &str) -> bool {
    let rows = screen_state::rows(screen);
    let Some(at) = rows.iter().rposition(is_prompt) else { return false };
    let lines = rows[at..].iter().take_while(|row| !row.is_blank()).map(|row| row.text());
    let shown = squeezed(lines.collect::<String>().trim_start_matches(SIGN));
    let wanted = squeezed(prompt);
    !shown.is_empty() && (shown == wanted || shown.chars().count() >= PART_CHARS && wanted.starts_with(&shown))
}

fn is_prompt(row: &Row) -> bool {
    row.cells.first().is_some_and(|cell| cell.ch == SIGN && cell.style.dim)
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect()
}

fn is_composer(row: &Row) -> bool {
    let is_sign = |cell: &Cell| cell.ch == SIGN && !cell.style.dim && !cell.style.reverse && !cell.style.background;
    row.cells.first().is_some_and(is_sign)
}

fn is_chosen(cell: &Cell) -> bool {
    cell.ch == SIGN && cell.style.reverse
}

/// Returns the text in the composer; `None` where it shows only the faint placeholder.
fn draft(composer: &[Row]) -> Option<String> {
    let cells = |row: &Row| row.cells.iter().skip(2).copied().collect::<Vec<_>>();
    let is_placeholder = composer.iter().flat_map(cells).all(|cell| cell.style.dim || cell.ch.is_whitespace());
    let line = |row: &Row| cells(row).iter().map(|cell| cell.ch).collect::<String>().trim_end().to_owned();
    (!is_placeholder).then(|| composer.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns why typing is not safe although the composer has the cursor.
///
/// A list of commands is open while a command is typed. It is harmless if its chosen entry is the command itself.
fn danger(above: &[Row], below: &[Row], draft: Option<&str>) -> Option<UnsafeScreen> {
    let chosen = above.iter().filter(|row| row.content().first().is_some_and(is_chosen));
    let is_draft = |row: &Row| {
        let entry = row.text();
        let entry = entry.trim_start().trim_start_matches(SIGN).split_whitespace().next().map(str::to_owned);
        entry.is_some() && entry.as_deref() == draft
    };
    if chosen.into_iter().any(|row| !is_draft(row)) {
        return Some(UnsafeScreen::Dialog);
    }
    let shows = |words: &str| below.iter().any(|row| row.text().to_lowercase().contains(words));
    if shows("again to quit") || shows("again to exit") {
        return Some(UnsafeScreen::Exiting);
    }
    if shows("browsing transcript") || shows("esc again") || shows("esc back") {
        return Some(UnsafeScreen::Dialog);
    }
    shows("-- normal --").then_some(UnsafeScreen::VimNormal)
}

fn turn(above: &[Row]) -> TurnSign {
    let offers = |row: &Row| row.text().to_lowercase().contains("esc to interrupt");
    if above.iter().any(offers) { TurnSign::Running } else { TurnSign::Idle }
}
