//! The tmux options, their defaults, and their names in tmux-claude-agent-tracker.

use longhaul_core::Status;

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
pub(crate) const BLOCKED_COLOR: &str = "white,bg=red,bold";

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
    /// Whether the status line shows a project's name.
    pub show_project: bool,
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
        let values = std::array::from_fn(|at| {
            value(at).filter(|value| !value.is_empty()).unwrap_or_else(|| OPTIONS[at].default.to_owned())
        });
        let mut options = Self { values, show_project: false };
        options.show_project = is_on(options.get("show-project"));
        options
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
        self.get(match status {
            Status::Idle => "color-idle",
            Status::Working => "color-working",
            Status::Completed => "color-completed",
            Status::Blocked => "color-blocked",
        })
    }

    /// Returns the icon of a status.
    pub fn icon(&self, status: Status) -> &str {
        self.get(match status {
            Status::Idle => "icon-idle",
            Status::Working => "icon-working",
            Status::Completed => "icon-completed",
            Status::Blocked => "icon-blocked",
        })
    }

    /// Returns the scripts to run when a session changes to `status`.
    pub fn scripts(&self, status: Status) -> impl Iterator<Item = &str> {
        let own = match status {
            Status::Idle => "on-idle",
            Status::Working => "on-working",
            Status::Completed => "on-completed",
            Status::Blocked => "on-blocked",
        };
        [own, "on-transition"].into_iter().map(|name| self.get(name)).filter(|script| !script.trim().is_empty())
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
