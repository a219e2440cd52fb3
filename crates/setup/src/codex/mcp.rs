//! Longhaul's MCP server in Codex's config.toml, edited as text, so that comments and the layout stay.

use std::ops::Range;
use std::path::Path;

use crate::settings::{Change, Refusal};

/// The name of the server.
pub(crate) const SERVER: &str = "longhaul";

/// The table of the server.
const HEADER: &str = "[mcp_servers.longhaul]";

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// Returns whether config.toml has a server of this name.
pub(crate) fn is_registered(text: &str) -> bool {
    block(text).is_some() || matches!(other_form(text), Some(OtherForm::WithServer))
}

/// Returns config.toml with the server; `None` if there is one of this name.
///
/// A server of an older installation gets the new path. A file whose servers are one inline table is refused, because a
/// table beside it would make it invalid.
pub(crate) fn with_server(text: Option<&str>, program: &Path) -> Change {
    let text = text.unwrap_or_default();
    let command = format!("command = {}", serde_json::Value::from(program.to_string_lossy()));
    if let Some(block) = block(text) {
        let old = &text[block.clone()];
        if !is_ours(old) || old.lines().any(|line| line.trim() == command) {
            return Ok(None);
        }
        let renewed = old.split_inclusive('\n').map(|line| match is_command(line) {
            true => line.replacen(line.trim(), &command, 1),
            false => line.to_owned(),
        });
        return Ok(Some(format!("{}{}{}", &text[..block.start], renewed.collect::<String>(), &text[block.end..])));
    }
    match other_form(text) {
        Some(OtherForm::WithServer) => return Ok(None),
        Some(OtherForm::WithoutServer) => return Err(Refusal::Shape(SERVERS.to_owned())),
        None => {}
    }
    let table = format!("{HEADER}\n{command}\nargs = [\"mcp\"]");
    Ok(Some(match text {
        "" => format!("{table}\n"),
        text if text.ends_with('\n') => format!("{text}\n{table}\n"),
        // Without a newline at the end, too: the removal then restores the file to the byte.
        text => format!("{text}\n\n{table}"),
    }))
}

/// Returns config.toml without the server; `None` if it has none, or one that Longhaul has not added.
pub(crate) fn without_server(text: &str) -> Option<String> {
    let block = block(text).filter(|block| is_ours(&text[block.clone()]))?;
    let (before, after) = (&text[..block.start], &text[block.end..]);
    // The empty line above it was added with it.
    let before = match before.strip_suffix('\n') {
        Some(above) if above.is_empty() || above.ends_with('\n') => above,
        _ => before,
    };
    let ends_open = after.is_empty() && !text.ends_with('\n');
    let before = if ends_open { before.strip_suffix('\n').unwrap_or(before) } else { before };
    Some(format!("{before}{after}"))
}

/// Returns the place of the server's table and of the tables below it, without empty lines and comments after them.
fn block(text: &str) -> Option<Range<usize>> {
    let (mut start, mut end, mut at) = (None, 0, 0);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let name = content.strip_prefix('[').map(|name| name.replace(['"', '\'', ' '], ""));
        match &name {
            Some(name) if name.starts_with("mcp_servers.longhaul]") && start.is_none() => start = Some(at),
            Some(name) if !name.starts_with("mcp_servers.longhaul.") && start.is_some() => break,
            _ => {}
        }
        at += line.len();
        if start.is_some() && !content.is_empty() && !content.starts_with('#') {
            end = at;
        }
    }
    start.map(|start| start..end)
}

fn is_command(line: &str) -> bool {
    line.trim().strip_prefix("command").is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// Returns whether the table of a server starts Longhaul.
fn is_ours(table: &str) -> bool {
    let command = table.lines().find(|line| is_command(line)).and_then(|line| line.split_once('='));
    let program = command.map(|(_, value)| value.trim().trim_matches(['"', '\'']));
    program.and_then(|program| program.rsplit('/').next()) == Some(crate::PLUGIN)
}

/// A list of servers that is not made of tables.
enum OtherForm {
    /// It has Longhaul's server.
    WithServer,
    /// It does not, and a table cannot be added to it.
    WithoutServer,
}

/// Returns how the servers are listed, if that is inline or with dotted keys.
fn other_form(text: &str) -> Option<OtherForm> {
    let mut table = "";
    text.lines().map(str::trim).find_map(|line| {
        if line.starts_with('[') {
            table = line;
        }
        let key = line.replace(['"', '\'', ' '], "");
        let is_named = match table {
            "" => key.starts_with("mcp_servers.longhaul.") || key.starts_with("mcp_servers.longhaul="),
            _ => table.starts_with("[mcp_servers]") && (key.starts_with("longhaul=") || key.starts_with("longhaul.")),
        };
        let is_inline = table.is_empty() && key.starts_with("mcp_servers=");
        match (is_named || (is_inline && key.contains("longhaul=")), is_inline) {
            (true, _) => Some(OtherForm::WithServer),
            (false, true) => Some(OtherForm::WithoutServer),
            (false, false) => None,
        }
    })
}
