//! The words that were searched for, marked on a terminal and nowhere else.

use longhaul_core::record::{CLOSE, OPEN};
use serde_json::json;

use super::{memory, remembering};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::bin_dir;
use crate::tmux::Tmux;

/// Runs a command in a real terminal, and returns its screen with the colours.
fn screen(tmux: &Tmux, arguments: &str, variables: &[(String, String)]) -> String {
    let line = format!("{} memory {arguments}; echo ended; sleep 3600", bin_dir().join("longhaul").display());
    let pane = tmux.pane(&["sh", "-c", &line], variables);
    wait_until(DEADLINE, "the command's end", || tmux.capture(&pane).contains("ended"));
    tmux.capture_colours(&pane)
}

/// Returns the lines of an output between the first and the last ones, which frame it.
#[track_caller]
fn records(output: &str) -> Vec<&str> {
    let inside = output.strip_prefix(OPEN).and_then(|inside| inside.trim_end().strip_suffix(CLOSE));
    inside.unwrap_or_else(|| panic!("no frame: {output}")).lines().collect()
}

/// Returns whether a word is on the screen in the colour of marks.
fn has_marked(screen: &str, word: &str) -> bool {
    let in_colour = screen.split("\u{1b}[33m").skip(1);
    in_colour.map(|text| text.trim_start_matches("\u{1b}[49m")).any(|text| text.starts_with(word))
}

#[test]
fn words_are_marked_on_a_terminal() {
    let sandbox = remembering();
    let tmux = Tmux::start(&sandbox);
    let search = screen(&tmux, "search why did importers stall at the lock", &[]);
    assert!(has_marked(&search, "importer") && has_marked(&search, "stall"), "the title: {search:?}");
    assert!(has_marked(&search, "lock"), "the text below it: {search:?}");
    assert!(!has_marked(&search, "why"), "{search:?}");
    assert!(!search.contains("longhaul-context"), "a person needs no frame: {search:?}");
    let recall = screen(&tmux, "recall why did importers stall", &[]);
    assert!(has_marked(&recall, "importer") && recall.contains("answered"), "{recall:?}");
}

#[test]
fn nothing_is_coloured_where_the_user_or_a_pipe_does_not_want_it() {
    let sandbox = remembering();
    let plain = screen(&Tmux::start(&sandbox), "search importers", &[("NO_COLOR".to_owned(), "1".to_owned())]);
    assert!(plain.contains("importer") && !plain.contains('\u{1b}'), "{plain:?}");
    for arguments in [["search", "importers stall at the lock"], ["recall", "importers stall at the lock"]] {
        let piped = memory(&sandbox, &arguments);
        assert!(piped.stdout.contains("lock") && !piped.stdout.contains('\u{1b}'), "{piped:?}");
    }
}

#[test]
fn a_search_shows_where_the_words_are() {
    let sandbox = remembering();
    let search = |more: &[&str]| memory(&sandbox, &[&["search"], more].concat()).stdout;
    // The text around the words, where the title does not have them.
    let found = search(&["fahrenheit celsius"]);
    let lines = records(&found);
    assert!(lines[0].contains("Warum überhitzen die Heizmatten?"), "{found}");
    assert_eq!(lines[1], "    Der Regler rechnet mit Fahrenheit. Die Einheit steht jetzt fest auf Celsius.");
    let titled = search(&["Heizmatten", "--type", "prompts"]);
    assert_eq!(records(&titled).len(), 1, "the title says it already: {titled}");
    // The text around a phrase that it must have.
    let found = search(&["importer", "exchange rates", "-parser"]);
    assert!(records(&found)[1].starts_with("    The exchange rates hold the lock"), "{found}");
    // Of what the score is made.
    let found = search(&["importers stalled zeppelin", "--explain"]);
    let formula = |title: &str| {
        let lines = found.lines().skip_while(|line| !line.contains(title));
        lines.map(str::trim).find(|line| line.starts_with("= (words ")).unwrap_or_default()
    };
    let first = formula("why does the importer stall?");
    assert!(first.contains(" × kind 1.000 + tool calls 0.") && first.contains(") × age 0.9"), "{found}");
    // It has none of the words, and stands beside the passage that has them.
    let beside = formula("where is the address of a feed taken apart?");
    assert!(beside.starts_with("= (words 0.000 × kind 1.000 + neighbours 0."), "{found}");
    assert!(found.contains("    words: importers, stalled; missing: zeppelin"), "{found}");
    assert!(found.contains("    score ") && found.contains("% close together"), "{found}");
    // For programs, as places.
    let found = memory(&sandbox, &["search", "importers", "--json", "--type", "prompts"]).json();
    let title = (&found[0]["title"], &found[0]["title_marks"]);
    assert_eq!(title, (&json!("why does the importer stall?"), &json!([[13, 21]])));
    assert!(found[0]["snippet_marks"].is_array(), "{found}");
}
