//! What tmux shows: the status line and the session menu, by options of which some have a name in
//! tmux-claude-agent-tracker.

use longhaul_core::Status;

use crate::{Agent, Pane, age, attention};

/// An option that users set with `set -g @longhaul-NAME VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionName {
    /// The name after `@longhaul-`.
    pub name: &'static str,
    /// The name after `@claude-tracker-`, which is used where ours is not set.
    pub older: &'static str,
    /// The value where neither is set.
    pub default: &'static str,
    /// What the option does, for the documentation.
    pub about: &'static str,
}

const fn option(name: &'static str, default: &'static str, about: &'static str) -> OptionName {
    OptionName { name, older: name, default, about }
}

/// The default colour of the blocked count: bold on a dark background, so that it is visible without colours, too.
const BLOCKED_COLOR: &str = "white,bg=red,bold";

/// Every option, in the order in which options are read and documented.
pub const OPTIONS: [OptionName; 21] = [
    OptionName { older: "keybinding", ..option("key", "a", "Key after the prefix that opens the menu") },
    option("items-per-page", "10", "Sessions on one page of the menu"),
    option("key-next", "i", "Next page"),
    option("key-prev", "o", "Previous page"),
    option("key-quit", "q", "Close the menu"),
    option("color-idle", "", "Colour of the idle count; by default that of the status line"),
    option("color-working", "", "Colour of the working count; by default that of the status line"),
    option("color-completed", "", "Colour of the completed count; by default that of the status line"),
    option(
        "color-blocked",
        BLOCKED_COLOR,
        "Colour of the blocked count; the default value is used only while a session is blocked",
    ),
    option("icon-idle", ".", "Icon of the idle count"),
    option("icon-working", "*", "Icon of the working count"),
    option("icon-completed", "+", "Icon of the completed count"),
    option("icon-blocked", "!", "Icon of the blocked count"),
    option(
        "show-project",
        "0",
        "`1` also shows the project of the session that has been blocked longest, or else of the session that changed last",
    ),
    option("status-interval", "5", "Seconds between two refreshes; not used if tmux's own `status-interval` is lower"),
    option(
        "offer-reopen",
        "0",
        "`1` shows in the status line how many sessions of the last tmux server `longhaul reopen` can reopen",
    ),
    option("on-working", "", "Program or shell script to run when a session begins to work"),
    option("on-completed", "", "Program or shell script to run when a turn is over"),
    option("on-blocked", "", "Program or shell script to run when a session waits for the user"),
    option("on-idle", "", "Program or shell script to run when a session becomes idle"),
    option("on-transition", "", "Program or shell script to run on every change"),
];

/// The values of all options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    values: [String; OPTIONS.len()],
}

impl Default for Options {
    fn default() -> Self {
        Self::from_values(|_| None)
    }
}

impl Options {
    /// Builds the options from `value`, which returns the value that is set for a position in [`OPTIONS`].
    ///
    /// An empty value counts as unset, because tmux does not distinguish the two.
    pub fn from_values(value: impl Fn(usize) -> Option<String>) -> Self {
        let or_default =
            |at: usize| value(at).filter(|value| !value.is_empty()).unwrap_or_else(|| OPTIONS[at].default.to_owned());
        Self { values: std::array::from_fn(or_default) }
    }

    /// Returns whether the status line shows a project's name.
    pub fn shows_project(&self) -> bool {
        is_on(self.get("show-project"))
    }

    /// Returns whether the status line shows how many sessions can be reopened.
    pub fn offers_reopen(&self) -> bool {
        is_on(self.get("offer-reopen"))
    }

    /// Returns the value of the option `name` (without `@longhaul-`); empty for an unknown name.
    pub fn get(&self, name: &str) -> &str {
        let at = OPTIONS.iter().position(|option| option.name == name);
        at.map_or("", |at| self.values[at].as_str())
    }

    /// Returns the values in the order of [`OPTIONS`].
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Returns the colour of a status.
    pub fn color(&self, status: Status) -> &str {
        self.of_status("color", status)
    }

    /// Returns the icon of a status.
    pub fn icon(&self, status: Status) -> &str {
        self.of_status("icon", status)
    }

    fn of_status(&self, kind: &str, status: Status) -> &str {
        self.get(&format!("{kind}-{}", status.as_str()))
    }

    /// Returns the scripts to run when a session changes to `status`.
    pub fn scripts(&self, status: Status) -> impl Iterator<Item = &str> {
        let scripts = [self.of_status("on", status), self.get("on-transition")];
        scripts.into_iter().filter(|script| !script.trim().is_empty())
    }

    /// Returns the number of sessions on a page of the menu: 1 to 50.
    pub fn items_per_page(&self) -> usize {
        self.get("items-per-page").parse().ok().filter(|items| (1..=50).contains(items)).unwrap_or(10)
    }

    /// Returns the number of seconds between two refreshes, at least 1.
    pub fn status_interval(&self) -> u64 {
        self.get("status-interval").parse().ok().filter(|seconds| *seconds > 0).unwrap_or(5)
    }
}

fn is_on(value: &str) -> bool {
    matches!(value, "1" | "on" | "true" | "yes")
}

// The status line in tmux: the number of sessions in each status, with colours and icons. The status line in Claude Code is
// in `bins/src/cli/statusline.rs`.

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
    if options.shows_project()
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

// The session menu: its pages, items, labels and keys. `bins/src/cli/tmux.rs` makes a command of tmux of each item.

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

/// An item of the menu: its text, escaped for tmux, and the key that chooses it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named in the summary")]
pub enum MenuItem {
    /// Switches to a session's pane.
    Goto { label: String, key: String, pane: Pane },
    /// A session without a pane, which is shown and cannot be chosen.
    Elsewhere { label: String },
    /// A line between two groups of items.
    Separator,
    /// Opens another page; they are counted from 1.
    Page { label: String, key: String, page: usize },
    /// Closes the menu.
    Quit { label: String, key: String },
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
