//! Reading the state of Claude Code from its screen, to decide whether typing is safe.
//!
//! Texts and the spinner change with versions and settings, so the structure of the screen is used. A screen that is not
//! recognized is unsafe: Enter in the wrong place grants a permission.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsafeScreen {
    /// The pane's program has ended.
    #[error("the pane's program has ended")]
    PaneDead,
    /// The pane is in a tmux mode, such as copy mode, in which tmux handles the keys.
    #[error("the pane is in a tmux mode such as copy-mode")]
    PaneInMode,
    /// tmux would send the keys to other panes, too.
    #[error("the pane is synchronized with others")]
    PaneSynchronized,
    /// A question, a menu or a search is open.
    #[error("a dialog is open")]
    Dialog,
    /// The input goes to a shell.
    #[error("the input is in shell mode")]
    ShellMode,
    /// The input is not in vim's insert mode, so keys are commands.
    #[error("the input is not in vim's insert mode")]
    VimNormal,
    /// The conversation is being compacted. A submitted text would become a turn of its own afterwards.
    #[error("the conversation is being compacted")]
    Compacting,
    /// Claude Code waits for the second key press that exits it.
    #[error("Claude Code is about to exit")]
    Exiting,
    /// The cursor is not in the input box.
    #[error("the cursor is not in the input")]
    NoCursor,
    /// There is no input box on the screen.
    #[error("there is no input box on the screen")]
    NoInputBox,
}

impl ScreenState {
    fn draft(&self) -> Option<&str> {
        match self {
            Self::Input { draft, .. } => draft.as_deref(),
            Self::Unsafe(_) => None,
        }
    }

    /// Returns whether the input contains exactly `text`, which may be wrapped.
    pub fn holds(&self, text: &str) -> bool {
        self.draft().is_some_and(|draft| is_wrapped(draft, text) || is_hinted(draft, text))
    }

    /// Returns whether the input ends with `text`, however it is wrapped.
    pub fn ends_with(&self, text: &str) -> bool {
        let joined = |text: &str| text.split_whitespace().collect::<String>();
        self.draft().is_some_and(|draft| joined(draft).ends_with(&joined(text)))
    }

    /// Returns whether the input shows `text` after it was pasted into an empty input.
    ///
    /// Claude Code shows `[Pasted text #1]` in place of a text of more than about 800 characters.
    pub fn shows_pasted(&self, text: &str) -> bool {
        let is_folded = |draft: &str| draft.starts_with("[Pasted text #") && draft.ends_with(']');
        self.holds(text) || (self.draft().is_some_and(is_folded) && text.chars().count() > 500)
    }
}

/// Returns the state of Claude Code on a captured screen; `editor` is the editing mode of its input.
pub fn screen_state(inspection: &Inspection, editor: EditorMode) -> ScreenState {
    if let Some(danger) = pane_danger(inspection) {
        return ScreenState::Unsafe(danger);
    }
    let rows = rows(&inspection.screen);
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

pub(crate) fn pane_danger(inspection: &Inspection) -> Option<UnsafeScreen> {
    match inspection {
        Inspection { dead: true, .. } => Some(UnsafeScreen::PaneDead),
        Inspection { in_mode: true, .. } => Some(UnsafeScreen::PaneInMode),
        Inspection { synchronized: true, .. } => Some(UnsafeScreen::PaneSynchronized),
        Inspection { .. } => None,
    }
}

fn find_danger(input: &InputBox<'_>, cursor_row: Option<usize>, editor: EditorMode) -> Option<UnsafeScreen> {
    // A pointer below the box means that a list there, such as the list of agents, receives the keys.
    let pointed = |row: &Row| row.content().first().is_some_and(|cell| cell.ch == '❯');
    if input.above.iter().any(is_option) || input.below.iter().any(|row| pointed(row) || has_dialog_hint(row)) {
        return Some(UnsafeScreen::Dialog);
    }
    if input.is_shell {
        return Some(UnsafeScreen::ShellMode);
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

/// Returns whether the footer offers to interrupt, or a spinner is shown. Either can be missing: a draft, vim mode and
/// notices replace the footer's text, and narrow panes cut it.
fn is_running(input: &InputBox<'_>) -> bool {
    let offered = input.below.iter().any(|row| row.text().to_lowercase().contains("esc to interrupt"));
    offered || spinner(input).is_some()
}

/// Returns the text of the spinner's row, such as `✽ Pondering… (2s · ↓ 109 tokens)`. Only indented rows (tips, tasks,
/// hints) may stand between it and the box.
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

// Finding Claude Code's input box on the screen: a prompt between two horizontal rules.

/// The minimum length of a horizontal rule. Panes are wider than this.
const MIN_RULE: usize = 10;

/// The character between the prompt sign and the input. Dialogs have a plain space there.
const NO_BREAK_SPACE: char = '\u{a0}';

#[derive(Debug, Clone, Copy)]
pub(crate) struct InputBox<'a> {
    pub(crate) above: &'a [Row],
    /// The rows between the rules; at least one.
    pub(crate) inside: &'a [Row],
    pub(crate) below: &'a [Row],
    /// Whether the prompt sign is `!`, which sends the input to a shell, and not `❯`, which sends it to the model.
    is_shell: bool,
}

impl<'a> InputBox<'a> {
    /// Returns the input box between the last two rules of the screen, or `None` where there is none.
    pub(crate) fn find(rows: &'a [Row]) -> Option<Self> {
        let lower = rows.iter().rposition(is_rule)?;
        let upper = rows[..lower].iter().rposition(is_rule)?;
        let inside = &rows[upper + 1..lower];
        let (first, more) = inside.split_first()?;
        let is_shell = is_shell(first)?;
        let indented = |row: &Row| row.is_blank() || row.text().starts_with("  ");
        more.iter().all(indented).then(|| Self { above: &rows[..upper], inside, below: &rows[lower + 1..], is_shell })
    }

    /// Returns whether the cursor is in the box: the drawn one, or the terminal's in row `cursor_row`.
    fn has_cursor(&self, cursor_row: Option<usize>) -> bool {
        let first = self.above.len() + 1;
        let terminal = cursor_row.is_some_and(|row| (first..first + self.inside.len()).contains(&row));
        terminal || self.inside.iter().any(Row::has_cursor)
    }

    /// Returns the rows in the box. A line that is wrapped cannot be distinguished from two lines.
    pub(crate) fn draft(&self) -> Option<String> {
        let lines: Vec<_> = self.inside.iter().map(|row| typed(row.cells.get(2..).unwrap_or_default())).collect();
        Some(lines.join("\n").trim_end().to_owned()).filter(|draft| !draft.is_empty())
    }
}

/// Returns the text of `cells` without a suggestion, which is dim text whose first letter may have the cursor.
fn typed(cells: &[Cell]) -> String {
    let suggested = |at: usize, cell: &Cell| {
        cell.style.dim || (cell.style.reverse && cells.get(at + 1).is_some_and(|next| next.style.dim))
    };
    let kept = cells.iter().enumerate().filter(|(at, cell)| !suggested(*at, cell));
    kept.map(|(_, cell)| cell.ch).collect::<String>().trim_end().to_owned()
}

/// Returns whether `row` is a horizontal rule that begins in the first column; it may contain a label.
fn is_rule(row: &Row) -> bool {
    let text = row.text();
    let label =
        text.trim_end().strip_prefix('─').and_then(|rest| rest.strip_suffix('─')).map(|rest| rest.trim_matches('─'));
    let dashes = text.chars().filter(|ch| *ch == '─').count();
    let framed = |label: &str| label.is_empty() || (label.starts_with(' ') && label.ends_with(' '));
    dashes >= MIN_RULE && label.is_some_and(framed)
}

/// Returns whether the prompt sign at the beginning of `row` is the shell's; `None` where there is no prompt sign.
fn is_shell(row: &Row) -> Option<bool> {
    let sign = row.cells.first()?.ch;
    let spaced = row.cells.get(1).is_none_or(|cell| matches!(cell.ch, ' ' | NO_BREAK_SPACE));
    (matches!(sign, '❯' | '!') && spaced && !is_option(row)).then_some(sign == '!')
}

/// Returns whether `row` is the selected one of numbered options: `❯ 1. Yes`.
///
/// A draft that begins with a number has a no-break space before it, and an earlier prompt has a background colour.
pub(crate) fn is_option(row: &Row) -> bool {
    let [pointer, space, rest @ ..] = row.content() else { return false };
    let label: String = rest.iter().map(|cell| cell.ch).collect();
    let after_number = label.trim_start().trim_start_matches(|ch: char| ch.is_ascii_digit());
    let numbered = after_number.len() < label.trim_start().len() && after_number.starts_with(['.', ')']);
    pointer.ch == '❯' && !pointer.style.background && space.ch == ' ' && numbered
}

// Parsing a captured screen into rows of cells.

/// One character with its style. A wide character is one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) ch: char,
    pub(crate) style: Style,
}

/// The parts of a character's style that the crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// Faint, as placeholders are shown.
    pub(crate) dim: bool,
    /// Reverse video, as Claude Code draws its cursor.
    pub(crate) reverse: bool,
    /// With a background colour, as Claude Code shows earlier prompts.
    pub(crate) background: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// The style at the end of the row. tmux cuts trailing spaces, and with them a cursor after the last character.
    pub(crate) end: Style,
}

impl Row {
    pub(crate) fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.ch).collect()
    }

    /// Returns the cells from the first one that is not white space; none for a blank row.
    pub(crate) fn content(&self) -> &[Cell] {
        let at = self.cells.iter().position(|cell| !cell.ch.is_whitespace());
        at.map_or(&[], |at| &self.cells[at..])
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.content().is_empty()
    }

    fn has_cursor(&self) -> bool {
        self.end.reverse || self.cells.iter().any(|cell| cell.style.reverse)
    }
}

/// Parses the rows of `screen`.
///
/// A style continues in the next row, as tmux writes it. Escape sequences other than SGR and other control characters are
/// dropped. A sequence ends at the end of its row at the latest.
pub(crate) fn rows(screen: &str) -> Vec<Row> {
    let mut style = Style::default();
    screen.lines().map(|line| row(line, &mut style)).collect()
}

/// Returns the rows of a captured screen as text, without escape sequences and other control characters.
pub fn plain_rows(screen: &str) -> Vec<String> {
    rows(screen).iter().map(Row::text).collect()
}

fn row(line: &str, style: &mut Style) -> Row {
    let mut cells = Vec::new();
    let mut rest = line;
    while let Some(ch) = rest.chars().next() {
        let after = &rest[ch.len_utf8()..];
        rest = match ch {
            '\x1b' => sequence(after, style),
            _ if ch.is_control() => after,
            _ => {
                cells.push(Cell { ch, style: *style });
                after
            }
        };
    }
    Row { cells, end: *style }
}

/// Applies the escape sequence at the beginning of `text`, without its escape character; returns the text after it.
fn sequence<'a>(text: &'a str, style: &mut Style) -> &'a str {
    if let Some(body) = text.strip_prefix('[') {
        let Some(end) = body.find(|ch| !matches!(ch, '\x20'..='\x3f')) else { return "" };
        let (params, rest) = body.split_at(end);
        return match rest.strip_prefix('m') {
            Some(rest) => {
                select(params, style);
                rest
            }
            None => rest.strip_prefix(|ch| matches!(ch, '\x40'..='\x7e')).unwrap_or(rest),
        };
    }
    // OSC (hyperlinks), DCS, SOS, PM and APC contain text up to BEL or ST.
    if text.starts_with([']', 'P', 'X', '^', '_']) {
        // The bell itself is dropped as a control character.
        let bell = text.find('\x07');
        let terminator = text.find("\x1b\\").map(|at| at + 2);
        let end = [bell, terminator].into_iter().flatten().min().unwrap_or(text.len());
        return &text[end..];
    }
    let rest = text.trim_start_matches(|ch| matches!(ch, '\x20'..='\x2f'));
    rest.strip_prefix(|ch| matches!(ch, '\x30'..='\x7e')).unwrap_or(rest)
}

fn select(params: &str, style: &mut Style) {
    let mut params = params.split(';');
    while let Some(param) = params.next() {
        // `38:2::r:g:b` is one parameter, `38;2;r;g;b` is five.
        let (code, whole) = param.split_once(':').map_or((param, false), |(code, _)| (code, true));
        match code {
            "" | "0" => *style = Style::default(),
            "2" => style.dim = true,
            "7" => style.reverse = true,
            "22" => style.dim = false,
            "27" => style.reverse = false,
            "49" => style.background = false,
            "38" | "48" | "58" => {
                style.background |= code == "48";
                if !whole {
                    let values = match params.next() {
                        Some("5") => 1,
                        Some("2") => 3,
                        Some(_) | None => 0,
                    };
                    params.by_ref().take(values).for_each(drop);
                }
            }
            _ => style.background |= matches!(code.parse(), Ok(40..=47 | 100..=107)),
        }
    }
}

// The captured state of a pane.

/// The format of the line that [`TmuxPane::inspect`](crate::TmuxPane::inspect) makes tmux print before the screen.
///
/// The separator is a comma, because a field may be empty: all are where the pane is gone.
pub(crate) const STATE_FORMAT: &str =
    "#{pane_id},#{pane_dead},#{pane_in_mode},#{pane_synchronized},#{pane_pid},#{cursor_x},#{cursor_y}";

/// The state and the screen of a pane at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Inspection {
    /// Whether the pane's program has ended.
    pub dead: bool,
    /// Whether the pane is in a tmux mode, such as copy mode, in which tmux handles the keys.
    pub in_mode: bool,
    /// Whether keys that are sent to the pane go to all panes of its window.
    pub synchronized: bool,
    /// The process id of the pane's first process, where the terminal reports it. The client is that process or a
    /// descendant.
    pub pid: Option<u32>,
    /// The pane's terminal device, such as `/dev/pts/3`, where the terminal reports it. It is also the client's.
    pub tty: Option<String>,
    /// The column and row of the terminal's cursor, from 0.
    ///
    /// Claude Code hides this cursor and still moves it. Without focus, it is the only cursor of the pane.
    pub cursor: Option<(usize, usize)>,
    /// The visible rows, with their escape sequences.
    pub screen: String,
}

/// Parses the output of [`TmuxPane::inspect`](crate::TmuxPane::inspect); returns `None` where the pane does not exist.
pub fn parse_inspection(stdout: &str) -> Option<Inspection> {
    let (facts, screen) = stdout.split_once('\n')?;
    let mut fields = facts.trim_end_matches('\r').split(',');
    let mut field = || fields.next();
    let pane = field()?;
    let (dead, in_mode, synchronized) = (flag(field()?), flag(field()?), flag(field()?));
    let pid = Some(field()?.parse().ok()?);
    let cursor = Option::zip(field()?.parse().ok(), field()?.parse().ok());
    let screen = screen.to_owned();
    pane.starts_with('%').then_some(Inspection { dead, in_mode, synchronized, pid, tty: None, cursor, screen })
}

/// Parses a flag, which tmux prints as a number, or as nothing where that version does not know it.
fn flag(field: &str) -> bool {
    !matches!(field, "" | "0")
}
