//! The menu on the screen.

use std::time::Duration;

use longhaul_tracker::{Menu, MenuItem};

use super::fit_label::fit;
use super::{Server, words};
use crate::{Error, process};

/// tmux returns when the menu is closed; whoever leaves it open for longer has gone home.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// What tmux draws around the items, and what stands below the sessions: separator, previous, next, quit.
const ROWS_AROUND: usize = 2 + 4;

/// What tmux draws beside a label: border, blank, and the key in parentheses.
const COLUMNS_AROUND: usize = 4 + 4;

impl Server {
    /// Returns how many sessions a page of the menu can hold in a client of `rows`: a higher one is not shown at all.
    pub fn menu_rows(rows: usize) -> usize {
        rows.saturating_sub(ROWS_AROUND).max(1)
    }

    /// Shows the menu in `client`, or the one that is used here, of `columns`; returns when it is closed.
    ///
    /// `command` is what [`command`](super::command) returns: the other pages are shown by it.
    pub fn show_menu(&self, menu: &Menu, command: &str, client: Option<&str>, columns: usize) -> Result<(), Error> {
        let steps = [
            // Without `setup` it is not set yet; what setup has set stays.
            words(["set-option", "-goq", "@longhaul-command", command]),
            self.menu(menu, client, columns),
        ];
        match process::run(&self.step(&steps), LIMIT) {
            Err(Error::TimedOut { .. }) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Returns the command that shows the menu.
    ///
    /// The items' commands hold no data but pane ids: tmux expands them as formats, parses what results, and hands parts of
    /// it to a shell. `##{…}` becomes `#{…}` in the first and is filled in by `run-shell`.
    pub(super) fn menu(&self, menu: &Menu, client: Option<&str>, columns: usize) -> Vec<String> {
        let mut words = words(["display-menu", "-T", &menu.title, "-x", "C", "-y", "C"]);
        if let Some(client) = client {
            words.extend(["-c".to_owned(), client.to_owned()]);
        }
        words.push("--".to_owned());
        let width = columns.saturating_sub(COLUMNS_AROUND);
        for item in &menu.items {
            words.extend(self.item(item, width));
        }
        words
    }

    fn item(&self, item: &MenuItem, width: usize) -> Vec<String> {
        match item {
            MenuItem::Goto { label, key, pane } if pane.socket == self.socket => {
                let focus = format!("run-shell -b '##{{@longhaul-command}} tmux pane-focus {}'", pane.id);
                words([&fit(label, width), key, &format!("switch-client -Z -t {} ; {focus}", pane.id)])
            }
            // A client cannot go to another server: a dash in front greys the label out.
            MenuItem::Goto { label, .. } | MenuItem::Elsewhere { label } => {
                words([&format!("-{}", fit(label, width)), "", ""])
            }
            MenuItem::Separator => words([""]),
            MenuItem::Page { label, key, page } => {
                let show = format!("##{{@longhaul-command}} tmux menu {page} --client ##{{q:client_name}}");
                words([label, key, &format!("run-shell -b '{show}'")])
            }
            MenuItem::Quit { label, key } => words([label, key, ""]),
        }
    }
}
