//! The captured state of a pane.

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
