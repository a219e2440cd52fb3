//! The menu of sessions, as data.

use longhaul_core::Status;

use crate::{Agent, Options, Pane, age, attention, escape};

/// The longest summary in a label.
const SUMMARY_CHARS: usize = 40;

/// One page of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// `AI Agents (1/2)`.
    pub title: String,
    /// What can be chosen.
    pub items: Vec<MenuItem>,
}

/// A line of the menu. Labels are safe to give to tmux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuItem {
    /// Goes to a session's pane.
    Goto { label: String, key: String, pane: Pane },
    /// A session without a pane: shown, not chosen.
    Elsewhere { label: String },
    /// A line between two groups.
    Separator,
    /// Opens another page, counted from 1.
    Page { label: String, key: String, page: usize },
    /// Closes the menu.
    Quit { label: String, key: String },
}

/// Lays out page `page`, counted from 1, of the menu; `None` where there are no sessions.
///
/// A page that does not exist is the nearest that does. The rows are in the order of [`attention`].
pub fn menu(agents: &[Agent], page: usize, options: &Options, now: u64) -> Option<Menu> {
    if agents.is_empty() {
        return None;
    }
    let mut rows: Vec<&Agent> = agents.iter().collect();
    rows.sort_by_cached_key(|agent| attention(agent));
    let per_page = options.items_per_page();
    let pages = rows.len().div_ceil(per_page);
    let page = page.clamp(1, pages);
    let shown = rows.iter().skip((page - 1) * per_page).take(per_page);
    let mut items: Vec<MenuItem> = shown.zip(1..).map(|(agent, number)| item(agent, number, options, now)).collect();
    items.push(MenuItem::Separator);
    let key = |name: &str| options.get(name).to_owned();
    if page > 1 {
        items.push(MenuItem::Page { label: "Previous".to_owned(), key: key("key-prev"), page: page - 1 });
    }
    if page < pages {
        items.push(MenuItem::Page { label: "Next".to_owned(), key: key("key-next"), page: page + 1 });
    }
    items.push(MenuItem::Quit { label: "Quit".to_owned(), key: key("key-quit") });
    Some(Menu { title: format!("AI Agents ({page}/{pages})"), items })
}

fn item(agent: &Agent, number: usize, options: &Options, now: u64) -> MenuItem {
    let label = label(agent, options, now);
    match &agent.pane {
        Some(pane) => {
            let key = if number < 10 { number.to_string() } else { String::new() };
            MenuItem::Goto { label, key, pane: pane.clone() }
        }
        None => MenuItem::Elsewhere { label },
    }
}

/// Returns `icon project/branch (notes)  age  summary`.
fn label(agent: &Agent, options: &Options, now: u64) -> String {
    let branch = agent.branch.as_ref().map(|branch| format!("/{branch}")).unwrap_or_default();
    let age = age(now.saturating_sub(agent.updated_at));
    let text = match (&agent.reason, &agent.prompt_summary) {
        (Some(reason), _) if agent.status == Status::Blocked => reason.as_str(),
        (_, Some(summary)) => summary.as_str(),
        (_, None) => "",
    };
    let summary: String = text.chars().take(SUMMARY_CHARS).collect();
    let notes: String = agent.notes().map(|note| format!(" ({note})")).collect();
    let parts = [format!("{}{branch}{notes}", agent.project), age, summary];
    let words: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let label = format!("{} {}", escape(options.icon(agent.status)), escape(&words.join("  ")));
    // tmux greys out a label that begins with a dash, and takes an empty one for a separator.
    let label = label.trim_start_matches(['-', ' ']);
    if label.is_empty() { "?".to_owned() } else { label.to_owned() }
}
