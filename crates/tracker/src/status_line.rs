//! The status line in tmux: the number of sessions in each status, with colours and icons. The status line in Claude Code is
//! in `bins/src/cli/statusline.rs`.

use longhaul_core::Status;

use crate::options::BLOCKED_COLOR;
use crate::{Agent, Options, age, attention};

/// The order of the counts. The one that needs the user most comes last.
const ORDER: [Status; 4] = [Status::Idle, Status::Working, Status::Completed, Status::Blocked];

/// Returns the counts in tmux's format, each as `<count><icon>`, joined by spaces. One that has a colour is
/// `#[fg=COLOR]<count><icon>#[default]`; the others look like the rest of the user's status line.
///
/// The blocked count is followed by the age of the oldest blocked session. Colours and icons come from the user's own
/// options; the project's name is escaped, so that tmux expands nothing in it.
pub fn render(agents: &[Agent], options: &Options, now: u64) -> String {
    let counted: Vec<&Agent> = agents.iter().filter(|agent| agent.is_counted()).collect();
    let parts = ORDER.map(|status| {
        let of_status = || counted.iter().filter(|agent| agent.status == status);
        let oldest = of_status().map(|agent| agent.updated_at).min().filter(|_| status == Status::Blocked);
        let age = oldest.map(|since| age(now.saturating_sub(since))).unwrap_or_default();
        let (count, icon) = (of_status().count(), options.icon(status));
        match color(status, count, options) {
            "" => format!("{count}{icon}{age}"),
            color => format!("#[fg={color}]{count}{icon}{age}#[default]"),
        }
    });
    let mut text = parts.join(" ");
    if options.show_project
        && let Some(agent) = most_pressing(&counted)
    {
        text.push_str(&format!(" @{}", escape(&agent.project)));
    }
    text
}

/// Returns the colour of a count. The conspicuous default for blocked sessions is used only where there are any.
fn color(status: Status, count: usize, options: &Options) -> &str {
    let color = options.color(status);
    if count == 0 && color == BLOCKED_COLOR { options.color(Status::Idle) } else { color }
}

/// Returns the session whose project is shown: the one that has been blocked longest, else the one that changed last.
fn most_pressing<'a>(agents: &[&'a Agent]) -> Option<&'a Agent> {
    let blocked =
        agents.iter().copied().filter(|agent| agent.status == Status::Blocked).min_by_key(|agent| attention(agent));
    blocked.or_else(|| agents.iter().copied().max_by_key(|agent| agent.updated_at))
}

/// Returns the offer to reopen `count` sessions; empty if there are none.
pub fn reopen_offer(count: usize) -> String {
    if count == 0 { String::new() } else { format!("{count} to reopen") }
}

/// Returns `text` escaped for a tmux format: `#` is doubled, control characters are removed.
pub fn escape(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| std::iter::repeat_n(c, if c == '#' { 2 } else { 1 }))
        .collect()
}
