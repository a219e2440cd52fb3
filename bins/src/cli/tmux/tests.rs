use longhaul_tracker::Pane;

use super::{fit, *};

#[test]
fn a_label_is_cut_where_the_screen_ends_and_never_inside_an_escape() {
    assert_eq!(fit("abcdef", 6), "abcdef");
    assert_eq!(fit("abcdefg", 6), "abcde>");
    assert_eq!(fit("a##(b)", 6), "a##(b)");
    assert_eq!(fit("a##(bc)", 6), "a##(bc");
    assert_eq!(fit("a##(bc)", 5), "a##(b");
    assert_eq!(fit("a##(bc)", 3), "a##");
    assert_eq!(fit("日本語", 7), "日本語");
    assert_eq!(fit("日本語", 6), "日本");
    assert_eq!(fit("日本語", 4), "日>");
    assert_eq!(fit("abc", 1), ">");
    assert_eq!(fit("abc", 0), "");
}

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
