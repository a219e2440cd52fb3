//! The session menu: its pages, items, labels and keys. `bins/src/cli/tmux.rs` makes a command of tmux of each item.

use longhaul_core::Status;

use crate::{Agent, Options, Pane, age, attention, escape};

/// The maximum length of the summary in a label, in characters.
const SUMMARY_CHARS: usize = 40;

/// One page of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The title, such as `AI Agents (1/2)`.
    pub title: String,
    /// The items, in their order.
    pub items: Vec<MenuItem>,
}

/// An item of the menu. Labels are escaped for tmux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuItem {
    /// Switches to a session's pane.
    Goto {
        /// The text of the item.
        label: String,
        /// The key that chooses it.
        key: String,
        /// The pane of the session.
        pane: Pane,
    },
    /// A session without a pane, which is shown and cannot be chosen.
    Elsewhere {
        /// The text of the item.
        label: String,
    },
    /// A line between two groups of items.
    Separator,
    /// Opens another page.
    Page {
        /// The text of the item.
        label: String,
        /// The key that chooses it.
        key: String,
        /// The number of the page, from 1.
        page: usize,
    },
    /// Closes the menu.
    Quit {
        /// The text of the item.
        label: String,
        /// The key that chooses it.
        key: String,
    },
}

/// Returns page `page` of the menu, counted from 1; `None` where there are no sessions.
///
/// For a page that does not exist, returns the nearest page that does. Sessions are in the order of [`attention`].
/// `number` returns the number by which a session is known elsewhere, too: a single digit is the key, and any other one
/// stands before the label.
pub fn menu(
    agents: &[Agent],
    number: impl Fn(&Agent) -> Option<u32>,
    page: usize,
    options: &Options,
    now: u64,
) -> Option<Menu> {
    if agents.is_empty() {
        return None;
    }
    let mut rows: Vec<&Agent> = agents.iter().collect();
    rows.sort_by_cached_key(|agent| attention(agent));
    let per_page = options.items_per_page();
    let pages = rows.len().div_ceil(per_page);
    let page = page.clamp(1, pages);
    let shown = rows.iter().skip((page - 1) * per_page).take(per_page);
    let mut items: Vec<MenuItem> = shown.map(|agent| item(agent, number(agent), options, now)).collect();
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

fn item(agent: &Agent, number: Option<u32>, options: &Options, now: u64) -> MenuItem {
    let key = number.filter(|number| *number < 10 && agent.pane.is_some());
    let key = key.map(|number| number.to_string()).unwrap_or_default();
    // tmux shows the key of an item behind its label.
    let shown = number.filter(|_| key.is_empty()).map(|number| format!("{number} ")).unwrap_or_default();
    let label = format!("{shown}{}", label(agent, options, now));
    match &agent.pane {
        Some(pane) => MenuItem::Goto { label, key, pane: pane.clone() },
        None => MenuItem::Elsewhere { label },
    }
}

/// Returns `icon project/branch (notes)  age  summary`.
fn label(agent: &Agent, options: &Options, now: u64) -> String {
    let branch = agent.branch.as_ref().map(|branch| format!("/{branch}")).unwrap_or_default();
    let age = age(now.saturating_sub(agent.updated_at));
    let text = match (agent.waits_for(), &agent.prompt_summary) {
        (Some(reason), _) if agent.status == Status::Blocked => reason,
        (_, Some(summary)) => summary.as_str(),
        (_, None) => "",
    };
    let summary: String = text.chars().take(SUMMARY_CHARS).collect();
    let notes: String = agent.notes().map(|note| format!(" ({note})")).collect();
    let parts = [format!("{}{branch}{notes}", agent.project), age, summary];
    let words: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let label = format!("{} {}", escape(options.icon(agent.status)), escape(&words.join("  ")));
    // tmux disables an item whose label begins with a dash, and shows an empty label as a separator.
    let label = label.trim_start_matches(['-', ' ']);
    if label.is_empty() { "?".to_owned() } else { label.to_owned() }
}
