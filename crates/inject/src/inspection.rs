//! What one look at a pane tells.

/// The line that [`TmuxPane::inspect`](crate::TmuxPane::inspect) has tmux print before the screen.
///
/// Commas, because a field may be empty: all are, where the pane is gone.
pub(crate) const FACTS: &str =
    "#{pane_id},#{pane_dead},#{pane_in_mode},#{pane_synchronized},#{pane_pid},#{cursor_x},#{cursor_y}";

/// A pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    /// Whether the pane's program has ended.
    pub dead: bool,
    /// Whether the pane is in a mode, such as copy-mode, that takes the keys for itself.
    pub in_mode: bool,
    /// Whether keys sent to the pane go to all panes of its window.
    pub synchronized: bool,
    /// The pane's first process, where that is told; the client is it or below it.
    pub pid: Option<u32>,
    /// The pane's terminal, such as `/dev/pts/3`, where that is told; it is the client's.
    pub tty: Option<String>,
    /// Column and row of the terminal's cursor, from 0.
    ///
    /// The client hides it and still moves it. It is the only cursor while the pane is out of focus.
    pub cursor: Option<(usize, usize)>,
    /// The visible rows, with escape sequences for colours.
    pub screen: String,
}

/// Returns what the output of [`TmuxPane::inspect`](crate::TmuxPane::inspect) says, or `None` where there is no such pane.
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

/// tmux prints a flag as a number, or as nothing where that version does not know it.
fn flag(field: &str) -> bool {
    !matches!(field, "" | "0")
}
