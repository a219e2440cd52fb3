use longhaul_core::Status;

use super::{id, row};
use crate::cli::view::rows::{RowId, SessionRow};
use crate::cli::view::state::{Command, DialogReading, KEYS, Key, MAX_CHARS, Mode, Tab, TextFor, View, append};
use longhaul_inject::DialogAnswer;

const PAGE: usize = 10;

fn view() -> View {
    let mut view = View::default();
    view.set_rows(vec![
        row("a", Status::Blocked, 1),
        row("b", Status::Completed, 1),
        row("c", Status::Working, 9),
        row("d", Status::Idle, 9),
    ]);
    view
}

fn press(view: &mut View, keys: &str) -> Command {
    let mut last = Command::Draw;
    for c in keys.chars() {
        last = view.press(Key::Char(c), PAGE, 0);
    }
    last
}

fn chosen(view: &View) -> &str {
    view.chosen().map_or("-", |row| row.id.session.as_str())
}

fn shown(view: &View) -> Vec<&str> {
    view.shown().map(|row| row.id.session.as_str()).collect()
}

#[test]
fn the_choice_moves_and_stays_inside() {
    let mut view = view();
    assert_eq!(chosen(&view), "a");
    press(&mut view, "jj");
    assert_eq!(chosen(&view), "c");
    view.press(Key::End, PAGE, 0);
    view.press(Key::Down, PAGE, 0);
    assert_eq!(chosen(&view), "d");
    view.press(Key::PageUp, 2, 0);
    assert_eq!(chosen(&view), "b");
    view.press(Key::Up, PAGE, 0);
    assert_eq!(chosen(&view), "a");
    press(&mut view, "k");
    assert_eq!(chosen(&view), "a");
    view.press(Key::PageDown, PAGE, 0);
    assert_eq!(chosen(&view), "d");
    press(&mut view, "k");
    assert_eq!(chosen(&view), "c");
    view.press(Key::Home, PAGE, 0);
    assert_eq!(chosen(&view), "a");
}

#[test]
fn the_same_session_stays_chosen_when_the_order_changes() {
    let mut view = view();
    press(&mut view, "jj");
    view.set_rows(vec![row("c", Status::Blocked, 0), row("a", Status::Blocked, 1), row("b", Status::Idle, 1)]);
    assert_eq!((chosen(&view), shown(&view)), ("c", vec!["c", "a", "b"]));
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::GoTo(id("c")));
    view.set_rows(vec![row("a", Status::Blocked, 1), row("b", Status::Idle, 1)]);
    assert_eq!(chosen(&view), "a", "the row that took its place");
    view.set_rows(Vec::new());
    assert_eq!(chosen(&view), "-");
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Draw);
}

#[test]
fn the_filter_works_as_it_is_typed() {
    let mut view = view();
    press(&mut view, "/project-c");
    assert_eq!((shown(&view), chosen(&view)), (vec!["c"], "c"));
    assert_eq!(view.rows.len(), 4, "the others are hidden, not gone");
    assert_eq!(view.mode, Mode::Filter);
    view.press(Key::Backspace, PAGE, 0);
    assert_eq!(shown(&view).len(), 4);
    assert_eq!(chosen(&view), "c", "it is still shown");
    press(&mut view, "jk");
    assert_eq!((view.filter.as_str(), shown(&view), chosen(&view)), ("project-jk", Vec::new(), "-"));
    view.press(Key::ClearText, PAGE, 0);
    view.press(Key::Down, PAGE, 0);
    assert_eq!(chosen(&view), "b");
    view.press(Key::Paste("blo\ncked".to_owned()), PAGE, 0);
    assert_eq!(view.filter, "blo cked");
    view.press(Key::Enter, PAGE, 0);
    assert_eq!((&view.mode, view.filter.as_str()), (&Mode::List, "blo cked"));
    assert_eq!(view.press(Key::Esc, PAGE, 0), Command::Draw, "the first Esc removes the filter");
    assert_eq!(view.filter, "");
    assert_eq!(view.press(Key::Esc, PAGE, 0), Command::Quit);
    press(&mut view, "/x");
    view.press(Key::Backspace, PAGE, 0);
    view.press(Key::Backspace, PAGE, 0);
    assert_eq!(view.mode, Mode::List);
    press(&mut view, "/x");
    view.press(Key::Esc, PAGE, 0);
    assert_eq!((&view.mode, view.filter.as_str()), (&Mode::List, ""));
}

#[test]
fn q_and_ctrl_c_leave() {
    assert_eq!(press(&mut view(), "q"), Command::Quit);
    let mut typing = view();
    press(&mut typing, "pq");
    assert!(matches!(&typing.mode, Mode::Text { .. }), "q is a letter of the prompt");
    assert_eq!(typing.press(Key::Interrupt, PAGE, 0), Command::Quit);
}

#[test]
fn a_prompt_is_typed_and_sent_to_the_session_that_was_chosen() {
    let mut view = view();
    press(&mut view, "p go on ");
    view.press(Key::Paste("with\r\n\u{1b}[31mthis".to_owned()), PAGE, 0);
    view.set_rows(vec![row("z", Status::Blocked, 0), row("a", Status::Working, 5)]);
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Send(id("a"), "go on with  [31mthis".to_owned()));
    assert_eq!(view.mode, Mode::List);
    press(&mut view, "p  ");
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Draw, "nothing is sent");
    press(&mut view, "px");
    view.press(Key::Backspace, PAGE, 0);
    press(&mut view, "yz");
    assert!(matches!(&view.mode, Mode::Text { about: TextFor::Prompt, text, .. } if text == "yz"));
    view.press(Key::ClearText, PAGE, 0);
    press(&mut view, "n");
    assert!(matches!(&view.mode, Mode::Text { about: TextFor::Prompt, text, .. } if text == "n"));
    assert_eq!(view.press(Key::Esc, PAGE, 0), Command::Draw);
    assert_eq!(view.mode, Mode::List);
}

#[test]
fn pasted_text_is_never_a_command() {
    for text in ["q", "y", "pevil\n", "cy"] {
        let mut view = view();
        assert_eq!(view.press(Key::Paste(text.to_owned()), PAGE, 0), Command::Draw);
        assert_eq!(view.mode, Mode::List, "{text:?}");
    }
}

#[test]
fn a_long_text_is_cut() {
    let mut text = String::new();
    append(&mut text, &"é".repeat(9_000));
    append(&mut text, "x");
    assert_eq!(text.chars().count(), MAX_CHARS);
}

#[test]
fn bookmarks_may_have_no_note_and_continuing_is_confirmed() {
    let mut view = view();
    press(&mut view, "bgreen tests");
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Bookmark(id("a"), "green tests".to_owned()));
    press(&mut view, "b");
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Bookmark(id("a"), String::new()));
    assert_eq!(press(&mut view, "cn"), Command::Draw);
    assert_eq!(view.mode, Mode::List);
    assert_eq!(press(&mut view, "cy"), Command::Continue(id("a")));
}

#[test]
fn r_reopens_also_if_no_session_runs() {
    assert_eq!(press(&mut View::default(), "r"), Command::Reopen);
    assert_eq!(press(&mut view(), "r"), Command::Reopen);
}

#[test]
fn y_and_n_in_the_list_only_show_the_dialog() {
    for key in ["y", "n"] {
        let mut view = view();
        assert_eq!(press(&mut view, key), Command::ReadDialog(id("a")));
        assert_eq!(press(&mut view, key), Command::ReadDialog(id("a")), "it is not shown yet");
    }
}

fn in_dialog(lines: usize, room: usize) -> View {
    let mut view = view();
    press(&mut view, "y");
    view.open_dialog(id("a"));
    view.dialog_drawn(lines, room, 1_000);
    view
}

#[test]
fn a_dialog_is_answered_only_after_it_was_on_the_screen_for_a_moment() {
    for (key, answer) in [('y', DialogAnswer::Yes), ('n', DialogAnswer::No)] {
        let mut view = in_dialog(10, 20);
        assert_eq!(view.press(Key::Char(key), PAGE, 1_399), Command::Draw, "pressed before it could be read");
        assert!(matches!(&view.mode, Mode::Dialog { .. }));
        assert_eq!(view.message.as_deref(), None, "its end was shown");
        assert_eq!(view.press(Key::Char(key), PAGE, 1_400), Command::Answer(id("a"), answer));
        assert_eq!(view.mode, Mode::List);
    }
    let mut undrawn = view();
    undrawn.open_dialog(id("a"));
    assert_eq!(undrawn.press(Key::Char('y'), PAGE, 9_000), Command::Draw);
    assert_eq!(undrawn.message.as_deref(), Some("Scroll to the end first: ↓"));
}

#[test]
fn a_long_dialog_must_be_read_to_its_end() {
    let mut view = in_dialog(12, 5);
    assert_eq!(press(&mut view, "y"), Command::Draw);
    view.press(Key::PageDown, PAGE, 5_000);
    view.dialog_drawn(12, 5, 5_000);
    assert_eq!(view.press(Key::Char('y'), PAGE, 9_000), Command::Draw);
    view.press(Key::PageDown, PAGE, 9_000);
    view.dialog_drawn(12, 5, 9_000);
    view.press(Key::Up, PAGE, 9_000);
    view.dialog_drawn(12, 5, 9_000);
    assert_eq!(view.press(Key::Char('y'), PAGE, 9_000), Command::Answer(id("a"), DialogAnswer::Yes));
}

#[test]
fn a_dialog_scrolls_by_lines_and_by_five_of_them() {
    let mut view = in_dialog(40, 5);
    for (key, expected) in [
        (Key::Down, 1),
        (Key::Char('j'), 2),
        (Key::PageDown, 7),
        (Key::Char(' '), 12),
        (Key::Up, 11),
        (Key::Char('k'), 10),
        (Key::PageUp, 5),
    ] {
        assert_eq!(view.press(key.clone(), PAGE, 9_000), Command::Draw);
        let Mode::Dialog { reading, .. } = &view.mode else { panic!("{key:?}: {view:?}") };
        assert_eq!(reading.top, expected, "{key:?}");
    }
}

#[test]
fn a_dialog_whose_width_changes_must_be_read_again() {
    let mut reading = DialogReading::default();
    reading.drawn(4, 10, 0);
    assert!(reading.is_read());
    reading.drawn(12, 5, 10);
    assert!(!reading.is_read());
    reading.scroll(100);
    reading.drawn(12, 5, 20);
    assert_eq!((reading.top, reading.is_read()), (7, false), "the middle was not shown");
    reading.scroll(-4);
    reading.drawn(12, 5, 30);
    assert_eq!((reading.top, reading.is_read()), (3, false));
    reading.scroll(100);
    reading.drawn(12, 5, 40);
    assert!(reading.is_read());
}

#[test]
fn a_dialog_can_be_left() {
    let mut view = in_dialog(3, 5);
    assert_eq!(view.press(Key::Esc, PAGE, 0), Command::Draw);
    assert_eq!(view.mode, Mode::List);
    let mut view = in_dialog(3, 5);
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::GoTo(id("a")));
    let mut view = in_dialog(3, 5);
    view.close_dialog("it was closed");
    assert_eq!((&view.mode, view.message.as_deref()), (&Mode::List, Some("it was closed")));
    view.press(Key::Down, PAGE, 0);
    view.close_dialog("again");
    assert_eq!(view.message.as_deref(), None, "there is none");
    let mut typing = self::view();
    press(&mut typing, "p");
    typing.open_dialog(id("a"));
    assert!(matches!(&typing.mode, Mode::Text { .. }), "what is typed goes on");
}

#[test]
fn sessions_of_other_hosts_are_only_gone_to() {
    let remote = RowId { host: Some("build1".to_owned()), session: "r".to_owned() };
    let mut view = View::default();
    view.set_rows(vec![SessionRow::new(remote.clone(), Status::Blocked, "x", 0)]);
    for key in ["p", "y", "n", "b", "c"] {
        assert_eq!(press(&mut view, key), Command::Draw, "{key}");
        assert_eq!(view.mode, Mode::List);
        assert!(view.message.as_ref().is_some_and(|message| message.contains("build1")));
    }
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::GoTo(remote));
}

#[test]
fn the_other_tab_has_no_choice() {
    let mut view = view();
    view.press(Key::Tab, PAGE, 0);
    assert_eq!(view.tab, Tab::Context);
    for key in ["p", "y", "c", "/", "j"] {
        assert_eq!(press(&mut view, key), Command::Draw, "{key}");
        assert_eq!(view.mode, Mode::List);
    }
    assert_eq!(view.press(Key::Enter, PAGE, 0), Command::Draw);
    view.press(Key::Tab, PAGE, 0);
    assert_eq!((view.tab, chosen(&view)), (Tab::Sessions, "a"));
}

#[test]
fn the_help_names_every_key_and_any_key_leaves_it() {
    let mut view = view();
    press(&mut view, "?");
    assert_eq!(view.mode, Mode::Help);
    assert_eq!(press(&mut view, "q"), Command::Draw);
    assert_eq!(view.mode, Mode::List);
    let help: String = KEYS.iter().map(|(keys, _)| format!("{keys} ")).collect();
    for key in ["Enter", "/", "p ", "y n", "b ", "c ", "Tab", "q Esc"] {
        assert!(help.contains(key), "{key}");
    }
}

#[test]
fn the_list_scrolls_so_that_the_choice_is_visible() {
    let mut view = View::default();
    view.set_rows((0..30).map(|at| row(&format!("s{at:02}"), Status::Idle, 1_000 - at)).collect());
    assert_eq!(view.scrolled(10), 0);
    for _ in 0..12 {
        view.press(Key::Down, PAGE, 0);
    }
    assert_eq!(view.scrolled(10), 3);
    view.press(Key::Up, PAGE, 0);
    assert_eq!(view.scrolled(10), 3, "it moves only if it must");
    view.press(Key::End, PAGE, 0);
    assert_eq!(view.scrolled(10), 20);
    assert_eq!(view.scrolled(40), 0, "a larger screen shows all");
    view.press(Key::Home, PAGE, 0);
    assert_eq!((view.scrolled(10), view.scrolled(0)), (0, 0));
}
