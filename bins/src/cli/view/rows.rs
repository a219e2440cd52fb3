//! The rows of the view: a session of this machine or of another host, in which order they are shown, and which a filter
//! leaves. Pure.

use std::cmp::Reverse;

use longhaul_core::Status;
use longhaul_core::text::round_tokens;
use longhaul_tracker::Pane;
use serde_json::Value;

/// The identity of a row: the host (`None` for this machine), and the id of the session there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RowId {
    pub(crate) host: Option<String>,
    pub(crate) session: String,
}

/// One session, of this machine or of another host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionRow {
    pub(crate) id: RowId,
    /// The number by which it can be named on its machine.
    pub(crate) number: Option<u32>,
    pub(crate) status: Status,
    /// What it waits for, if it is blocked and that is known.
    pub(crate) waits_for: Option<String>,
    /// The name of its folder.
    pub(crate) project: String,
    /// The git branch that is checked out there.
    pub(crate) branch: Option<String>,
    /// Remarks such as `teammate` or `codex`.
    pub(crate) notes: Vec<String>,
    /// The beginning of the last prompt.
    pub(crate) prompt: Option<String>,
    pub(crate) context_percent: Option<f64>,
    /// Cost and tokens, as text.
    pub(crate) cost: Option<String>,
    /// Whether it works for another session, and so does not wait for the user.
    pub(crate) works_for_another: bool,
    /// When its status last changed, in seconds since the Unix epoch.
    pub(crate) changed_at: u64,
    pub(crate) pane: Option<Pane>,
    /// Where it runs, for a person: `work:1.0`.
    pub(crate) place: Option<String>,
}

impl SessionRow {
    /// Returns the row of a session of which nothing else is known.
    pub(crate) fn new(id: RowId, status: Status, project: impl Into<String>, changed_at: u64) -> Self {
        Self {
            id,
            number: None,
            status,
            waits_for: None,
            project: project.into(),
            branch: None,
            notes: Vec::new(),
            prompt: None,
            context_percent: None,
            cost: None,
            works_for_another: false,
            changed_at,
            pane: None,
            place: None,
        }
    }

    /// Returns whether the session waits for the user: it asks something, or its turn has ended.
    pub(crate) fn waits(&self) -> bool {
        match self.status {
            Status::Blocked | Status::Completed => !self.works_for_another,
            Status::Working | Status::Idle => false,
        }
    }

    /// Returns what the last column shows: what the session waits for, or else its last prompt.
    pub(crate) fn about(&self) -> &str {
        let reason = self.waits_for.as_deref().filter(|_| self.status == Status::Blocked);
        reason.or(self.prompt.as_deref()).unwrap_or_default()
    }

    /// Formats the time since the status changed: `42s`, `3m`, `2h`, `5d`.
    pub(crate) fn age(&self, now: u64) -> String {
        match now.saturating_sub(self.changed_at) {
            seconds @ 0..60 => format!("{seconds}s"),
            seconds @ 60..3_600 => format!("{}m", seconds / 60),
            seconds @ 3_600..172_800 => format!("{}h", seconds / 3_600),
            seconds => format!("{}d", seconds / 86_400),
        }
    }
}

/// Sorts the rows: blocked sessions first, then completed, working and idle ones, of all hosts together.
///
/// Of several blocked or completed sessions, the one that has waited longest comes first. Of the others, the one that
/// changed last comes first. Sessions that work for another one come last.
pub(crate) fn sort(rows: &mut [SessionRow]) {
    rows.sort_by_cached_key(|row| {
        let rank = match row.status {
            _ if row.works_for_another => 4,
            Status::Blocked => 0,
            Status::Completed => 1,
            Status::Working => 2,
            Status::Idle => 3,
        };
        let waits_since = if row.waits() { row.changed_at } else { 0 };
        (rank, waits_since, Reverse(row.changed_at), row.id.clone())
    });
}

/// Returns whether every word of `filter` is in the row: in its project, branch, state, prompt, reason, notes, host, place,
/// number or the beginning of its id. Upper and lower case are the same.
pub(crate) fn matches(row: &SessionRow, filter: &str) -> bool {
    let number = row.number.map(|number| number.to_string());
    let notes = row.notes.iter().map(String::as_str);
    let parts = [Some(row.project.as_str()), row.branch.as_deref(), Some(row.status.as_str()), row.prompt.as_deref()];
    let more = [row.waits_for.as_deref(), row.id.host.as_deref(), row.place.as_deref()];
    let texts: Vec<String> = parts.into_iter().chain(more).flatten().chain(notes).map(str::to_lowercase).collect();
    filter.to_lowercase().split_whitespace().all(|word| {
        number.as_deref() == Some(word)
            || row.id.session.to_lowercase().starts_with(word)
            || texts.iter().any(|text| text.contains(word))
    })
}

/// How many sessions of one host are shown.
pub(crate) const MAX_ROWS: usize = 200;

/// The maximum length of a text, in characters.
const MAX_CHARS: usize = 200;

/// Returns the sessions in `output`, which `longhaul status --json` has printed on `host` at the time `now`, in seconds;
/// `None` if it is not a JSON array.
///
/// A row without an id or with an unknown status is left out. Texts are cut, and their control characters are removed. A
/// pane that is not named like one of tmux's is left out: it becomes an argument of a program.
pub(crate) fn rows_of_host(host: &str, output: &[u8], now: u64) -> Option<Vec<SessionRow>> {
    let Ok(Value::Array(rows)) = serde_json::from_slice::<Value>(output) else { return None };
    Some(rows.iter().filter_map(|row| read_row(host, row, now)).take(MAX_ROWS).collect())
}

fn read_row(host: &str, json: &Value, now: u64) -> Option<SessionRow> {
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(clean_text).filter(|text| !text.is_empty());
    let id = RowId { host: Some(host.to_owned()), session: text("session")? };
    let status = Status::from_name(&text("status")?)?;
    let age = json.get("age_seconds").and_then(Value::as_u64).unwrap_or_default();
    let mut row =
        SessionRow::new(id, status, text("project").unwrap_or_else(|| "-".to_owned()), now.saturating_sub(age));
    // Its number there names another session here.
    row.waits_for = text("reason");
    row.branch = text("branch");
    row.prompt = text("prompt");
    row.works_for_another = json.get("works_for_another").and_then(Value::as_bool).unwrap_or_default();
    row.notes = text("agent_type").into_iter().chain(text("client").filter(|client| client != "claude")).collect();
    let percent = json.get("context_percent").and_then(Value::as_f64);
    row.context_percent = percent.filter(|percent| (0.0..=1_000.0).contains(percent));
    row.cost = json.get("cost").and_then(cost);
    row.pane = pane(json);
    row.place = text("target").or_else(|| row.pane.as_ref().map(|pane| pane.id.clone()));
    Some(row)
}

/// Returns cost and tokens as text, such as `$1.24 410k`; `None` before the first request.
fn cost(json: &Value) -> Option<String> {
    let total = json.get("total_tokens").and_then(Value::as_u64).filter(|total| *total > 0).map(round_tokens)?;
    let dollars = json.get("cost_usd").and_then(Value::as_f64).filter(|dollars| (0.0..1e6).contains(dollars));
    Some(dollars.map_or_else(|| total.clone(), |dollars| format!("${dollars:.2} {total}")))
}

fn pane(json: &Value) -> Option<Pane> {
    let (socket, id) = (json.get("tmux_socket")?.as_str()?, json.get("pane")?.as_str()?);
    let digits = id.strip_prefix('%')?;
    let is_id = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = socket.starts_with('/') && socket.len() <= MAX_CHARS && socket.chars().all(is_plain);
    (is_id && is_path).then(|| Pane { socket: socket.to_owned(), id: id.to_owned() })
}

/// Returns whether a character of a path means nothing to any shell inside of single quotes.
///
/// The path becomes a quoted word of a command for the shell of the account there, which need not be a POSIX one: fish reads
/// `\'` as a quote that does not end the text, and csh reads `!`.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+,:=@%~ ".contains(c)
}

fn clean_text(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect::<String>().trim().to_owned()
}
