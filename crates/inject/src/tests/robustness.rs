//! Whatever is on the screen: no panic, and no dialog taken for an input.

use proptest::prelude::*;

use super::screen_state::{IDLE, PERMISSION, RECORDED};
use crate::{
    EditorMode, Inspection, KittyWindow, Pane, ScreenState, TmuxPane, WeztermPane, ZellijPane, parse_inspection,
    screen_state,
};

fn looks(screen: String, cursor: Option<(usize, usize)>) -> ScreenState {
    screen_state(&Inspection { screen, cursor, ..Inspection::default() }, EditorMode::Normal)
}

/// Text made of what the parser and the box are about.
fn screenlike() -> impl Strategy<Value = String> {
    let rule = "─".repeat(12);
    let parts =
        ["\x1b", "[", "m", "7", ";", "38;5;", "]8;;", "\x1b\\", "\x07", "\n", " ", "\u{a0}", "❯", "!", "─", "日", "1."];
    let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).chain([rule]).collect();
    prop::collection::vec(prop::sample::select(parts), 0..60).prop_map(|parts| parts.concat())
}

/// A recorded screen with some of its characters removed, doubled or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<char>()), 1..20);
    (prop::sample::select(RECORDED.to_vec()), edits).prop_map(|(screen, edits)| {
        let mut chars: Vec<char> = screen.chars().collect();
        for (at, kind, ch) in edits {
            let at = at.index(chars.len());
            match kind {
                0 => drop(chars.remove(at)),
                1 => chars.insert(at, chars[at]),
                _ => chars[at] = ch,
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn any_text_can_be_looked_at(screen in any::<String>(), column: usize, row: usize) {
        looks(screen.clone(), Some((column, row)));
        parse_inspection(&screen);
    }

    #[test]
    fn no_answer_of_a_terminal_breaks_its_reader(
        text in any::<String>(),
        list in "(\\[|\\]|\\{|\\}|,|:|\"id\":|\"pane_id\":|\"pid\":|\"tabs\":|\"windows\":|7|-1|x|1e99){0,20}",
        end in "(\u{1b}\\[|;|H|\\?25h|3|99999999999999999999|é){0,12}",
    ) {
        let panes: [&dyn Pane; 4] = [
            &TmuxPane { socket: "/s".to_owned(), pane: "%7".to_owned() },
            &ZellijPane { session: "s".to_owned(), pane: "7".to_owned() },
            &WeztermPane { pane: "7".to_owned() },
            &KittyWindow { socket: "unix:/k".to_owned(), window: "7".to_owned() },
        ];
        let listed = r#"[{"tabs":[{"windows":[{"id":7,"pid":42}]}]}]"#.to_owned();
        for pane in panes {
            for outputs in [vec![], vec![text.clone()], vec![list.clone(), text.clone()], vec![listed.clone(), end.clone()]] {
                pane.parse(&outputs);
            }
        }
    }

    #[test]
    fn anything_like_a_screen_can_be_looked_at(screen in screenlike()) {
        looks(screen, None);
    }

    #[test]
    fn a_damaged_screen_can_be_looked_at(screen in mutated(), row in 0..50_usize) {
        looks(screen, Some((2, row)));
    }

    #[test]
    fn an_open_dialog_is_never_an_input(at in any::<prop::sample::Index>(), kept in 20..40_usize) {
        // Whatever is left of an input above it, and wherever the pane is cut: what counts is at the bottom.
        let above: Vec<_> = IDLE.lines().collect();
        let dialog: Vec<_> = PERMISSION.lines().filter(|line| !line.is_empty()).collect();
        let dialog = &dialog[dialog.len() - 12..];
        let screen = [&above[at.index(above.len())..], dialog].concat();
        let screen = screen[screen.len().saturating_sub(kept)..].join("\n");
        prop_assert!(matches!(looks(screen, None), ScreenState::Unsafe(_)));
    }

    #[test]
    fn a_cut_screen_is_unsafe(lines in 0..37_usize) {
        // The box is in rows 36 to 38 of 40.
        let screen: Vec<_> = IDLE.lines().take(lines).collect();
        prop_assert!(matches!(looks(screen.join("\n"), None), ScreenState::Unsafe(_)));
    }
}
