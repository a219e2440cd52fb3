//! Shows the menu of sessions in tmux: the command of each item. Its layout and labels are in `tracker/src/tmux.rs`.

use longhaul_runtime::tmux::{Server, words};
use longhaul_runtime::{Error, waiting_times};
use longhaul_tracker::{Menu, MenuItem};

use super::fit_label::fit;

/// The rows around the sessions: the border, separator, previous, next and quit.
const ROWS_AROUND: usize = 2 + 4;

/// The columns around a label: border, spaces, and the key in parentheses.
const COLUMNS_AROUND: usize = 4 + 4;

/// Returns the number of sessions that fit on a page of the menu in a client of `rows`. tmux does not show a menu
/// that is higher than the client.
pub(super) fn menu_rows(rows: usize) -> usize {
    rows.saturating_sub(ROWS_AROUND).max(1)
}

/// Shows the menu in `client`, or in the current one, with `columns`. Returns when it is closed.
///
/// `command` is the result of [`longhaul_setup::tmux_server::command`], which shows the other pages.
pub(super) fn show_menu(
    server: &Server,
    menu: &Menu,
    command: &str,
    client: Option<&str>,
    columns: usize,
) -> Result<(), Error> {
    let steps = [
        // Without `setup` it is not set yet. A value that setup has set stays.
        words(["set-option", "-goq", "@longhaul-command", command]),
        display_menu(server, menu, client, columns),
    ];
    match server.clone().within(waiting_times::TMUX_MENU).run(&steps) {
        Err(Error::TimedOut { .. }) => Ok(()),
        result => result.map(drop),
    }
}

/// Returns the command that shows the menu.
///
/// The commands of the items contain no data except pane ids, because tmux expands them as formats, parses the
/// result and passes parts of it to a shell. The first expansion turns `##{…}` into `#{…}`, which `run-shell` then
/// expands.
fn display_menu(server: &Server, menu: &Menu, client: Option<&str>, columns: usize) -> Vec<String> {
    let mut words = words(["display-menu", "-T", &menu.title, "-x", "C", "-y", "C"]);
    if let Some(client) = client {
        words.extend(["-c".to_owned(), client.to_owned()]);
    }
    words.push("--".to_owned());
    let width = columns.saturating_sub(COLUMNS_AROUND);
    for item in &menu.items {
        words.extend(self::item(server, item, width));
    }
    words
}

fn item(server: &Server, item: &MenuItem, width: usize) -> Vec<String> {
    match item {
        MenuItem::Goto { label, key, pane } if pane.socket == server.socket => {
            let focus = format!("run-shell -b '##{{@longhaul-command}} tmux pane-focus {}'", pane.id);
            words([&fit(label, width), key, &format!("switch-client -Z -t {} ; {focus}", pane.id)])
        }
        // A client cannot go to another server. A leading dash disables the item.
        MenuItem::Goto { label, key, .. } => {
            let numbered = format!("{key} {label}");
            words([&format!("-{}", fit(numbered.trim_start(), width)), "", ""])
        }
        MenuItem::Elsewhere { label } => words([&format!("-{}", fit(label, width)), "", ""]),
        MenuItem::Separator => words([""]),
        MenuItem::Page { label, key, page } => {
            let show = format!("##{{@longhaul-command}} tmux menu {page} --client ##{{q:client_name}}");
            words([label, key, &format!("run-shell -b '{show}'")])
        }
        MenuItem::Quit { label, key } => words([label, key, ""]),
    }
}

#[cfg(test)]
mod tests {
    use longhaul_tracker::Pane;

    use super::*;

    #[test]
    fn the_menu_holds_no_data_in_its_commands() {
        let server = Server::at("/s");
        let pane = |socket: &str| Pane { socket: socket.to_owned(), id: "%3".to_owned() };
        let items = vec![
            MenuItem::Goto { label: "! p;".to_owned(), key: "1".to_owned(), pane: pane("/s") },
            MenuItem::Goto { label: "other".to_owned(), key: "2".to_owned(), pane: pane("/t") },
            MenuItem::Elsewhere { label: "none".to_owned() },
            MenuItem::Separator,
            MenuItem::Page { label: "Next".to_owned(), key: "i".to_owned(), page: 2 },
            MenuItem::Quit { label: "Quit".to_owned(), key: "q".to_owned() },
        ];
        let menu = display_menu(&server, &Menu { title: "AI Agents (1/2)".to_owned(), items }, Some("/dev/pts/1"), 80);
        let focus = "switch-client -Z -t %3 ; run-shell -b '##{@longhaul-command} tmux pane-focus %3'";
        let next = "run-shell -b '##{@longhaul-command} tmux menu 2 --client ##{q:client_name}'";
        let expected = [
            &["display-menu", "-T", "AI Agents (1/2)", "-x", "C", "-y", "C", "-c", "/dev/pts/1", "--"][..],
            &["! p;", "1", focus, "-2 other", "", "", "-none", "", "", ""],
            &["Next", "i", next, "Quit", "q", ""],
        ];
        assert_eq!(menu, expected.concat());
    }
}
