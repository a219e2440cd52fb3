//! The sessions of another host. Its output is not trusted, and limited in rows and lengths.

use longhaul_core::Status;
use longhaul_core::text::round_tokens;
use serde_json::Value;

use crate::session_row::{PaneAddress, RowId, SessionRow};

/// How many sessions of one host are shown.
pub const MAX_ROWS: usize = 200;

/// The maximum length of a text, in characters.
const MAX_CHARS: usize = 200;

/// Why the output of a host cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRowsError {
    /// It is not a JSON array.
    NotJson,
}

/// Returns the sessions in `output`, which `longhaul status --json` has printed on `host` at the time `now`, in seconds.
///
/// A row without an id or with an unknown status is left out. Texts are cut, and their control characters are removed. A
/// pane that is not named like one of tmux's is left out: it becomes an argument of a program.
pub fn rows_of_host(host: &str, output: &[u8], now: u64) -> Result<Vec<SessionRow>, HostRowsError> {
    let Ok(Value::Array(rows)) = serde_json::from_slice::<Value>(output) else { return Err(HostRowsError::NotJson) };
    Ok(rows.iter().filter_map(|row| read(host, row, now)).take(MAX_ROWS).collect())
}

fn read(host: &str, json: &Value, now: u64) -> Option<SessionRow> {
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(clean).filter(|text| !text.is_empty());
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

fn pane(json: &Value) -> Option<PaneAddress> {
    let (socket, id) = (json.get("tmux_socket")?.as_str()?, json.get("pane")?.as_str()?);
    let digits = id.strip_prefix('%')?;
    let is_id = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = socket.starts_with('/') && socket.len() <= MAX_CHARS && socket.chars().all(is_plain);
    (is_id && is_path).then(|| PaneAddress { socket: socket.to_owned(), id: id.to_owned() })
}

/// Returns whether a character of a path means nothing to any shell inside of single quotes.
///
/// The path becomes a quoted word of a command for the shell of the account there, which need not be a POSIX one: fish reads
/// `\'` as a quote that does not end the text, and csh reads `!`.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+,:=@%~ ".contains(c)
}

fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect::<String>().trim().to_owned()
}
