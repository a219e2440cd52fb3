//! Shows the menu.

use std::time::Duration;

use longhaul_tracker::{Menu, MenuItem};

use super::fit_label::fit;
use super::{Server, words};
use crate::{Error, process};

/// Time limit for the menu. tmux returns when it is closed.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The rows around the sessions: the border, separator, previous, next and quit.
const ROWS_AROUND: usize = 2 + 4;

/// The columns around a label: border, spaces, and the key in parentheses.
const COLUMNS_AROUND: usize = 4 + 4;

impl Server {
    /// Returns the number of sessions that fit on a page of the menu in a client of `rows`. tmux does not show a menu
    /// that is higher than the client.
    pub fn menu_rows(rows: usize) -> usize {
        rows.saturating_sub(ROWS_AROUND).max(1)
    }

    /// Shows the menu in `client`, or in the current one, with `columns`. Returns when it is closed.
    ///
    /// `command` is the result of [`command`](super::command), which shows the other pages.
    pub fn show_menu(&self, menu: &Menu, command: &str, client: Option<&str>, columns: usize) -> Result<(), Error> {
        let steps = [
            // Without `setup` it is not set yet. A value that setup has set stays.
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
    /// The commands of the items contain no data except pane ids, because tmux expands them as formats, parses the
    /// result and passes parts of it to a shell. The first expansion turns `##{…}` into `#{…}`, which `run-shell` then
    /// expands.
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
            // A client cannot go to another server. A leading dash disables the item.
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
