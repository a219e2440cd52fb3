use longhaul_core::Millis;
use proptest::prelude::*;

use crate::continuation::{Document, Malformed, WrittenFile, WrittenKind, find_handoff, page};

const GOOD: &str = "---\ncontinue: true\nnonce: lh-1\nowner: nobody\n---\n# Task\nBuild it.\n# Completed\n- half\n\
                    # Remaining\n- [ ] the other half\n# Key Context\nNone.\n";

#[test]
fn a_handoff_is_front_matter_and_sections() {
    let document = Document::parse(GOOD).unwrap();
    assert!(document.goes_on);
    assert_eq!(document.nonce.as_deref(), Some("lh-1"));
    assert_eq!(document.front, "continue: true\nnonce: lh-1\nowner: nobody");
    assert_eq!(document.section("task"), Some("Build it."));
    assert_eq!(document.section("Remaining"), Some("- [ ] the other half"));
    assert_eq!(document.section("Key Context"), Some("None."));
    assert_eq!(document.section("Nothing"), None);
}

#[test]
fn models_wrap_and_announce_it() {
    for (name, text) in [
        ("as asked", GOOD.to_owned()),
        ("announced", format!("Here is the handoff.\n\n{GOOD}")),
        ("fenced", format!("```markdown\n{GOOD}```\n")),
        ("fenced and announced", format!("Sure:\n\n````md\n{GOOD}````\nLet me know.")),
        ("behind a rule", format!("I wrote it down.\n\n---\n\nHere it is:\n\n{GOOD}")),
        ("windows", GOOD.replace('\n', "\r\n")),
        ("with a byte order mark", format!("\u{feff}{GOOD}")),
    ] {
        let document = Document::parse(&text).unwrap_or_else(|malformed| panic!("{name}: {malformed}"));
        assert_eq!(document.nonce.as_deref(), Some("lh-1"), "{name}");
        assert_eq!(document.remaining(), "the other half", "{name}");
        assert!(!document.body.contains("```"), "{name}");
    }
}

#[test]
fn what_is_none_says_why() {
    for (text, malformed) in [
        ("", Malformed::NoFrontMatter),
        ("I am done.", Malformed::NoFrontMatter),
        ("---\ncontinue: true\n# Task", Malformed::NoFrontMatter),
        ("---\n: : [\n---\n# Task\nx", Malformed::NotYaml),
        ("---\njust words\n---\n# Task\nx", Malformed::NotYaml),
        ("---\nnonce: lh-1\n---\n# Task\nx", Malformed::NoVerdict),
        ("---\ncontinue: perhaps\n---\n# Task\nx", Malformed::NoVerdict),
        ("---\ncontinue: true\n---\n\n", Malformed::NoBody),
    ] {
        assert_eq!(Document::parse(text), Err(malformed), "{text:?}");
    }
    assert!(!Document::parse("---\ncontinue: false\n---\n").unwrap().goes_on);
}

#[test]
fn the_same_left_to_do_is_the_same_however_it_is_written() {
    let remaining = |text: &str| Document { body: format!("## Remaining\n{text}"), ..Document::default() }.remaining();
    assert_eq!(remaining("- [ ] Fix  the test\n- Ship"), remaining("* fix the test\n\n  * [x] ship\n"));
    assert_ne!(remaining("- Fix the test"), remaining("- Fix the tests"));
}

#[test]
fn only_an_answer_to_this_question_counts() {
    let asked = Millis(1000);
    let file = |kind, modified, text: &str| WrittenFile { kind, modified: Millis(modified), text: text.to_owned() };
    let other = GOOD.replace("lh-1", "lh-0");
    let find = |reply: &str, files: &[WrittenFile]| {
        find_handoff(reply, files, "lh-1", asked, Millis(2000)).map(|found| found.goes_on)
    };

    assert_eq!(find(GOOD, &[]), Ok(true));
    assert!(find(&other, &[]).unwrap_err().contains("nonce"));
    assert!(find(&GOOD.replace("nonce: lh-1\n", ""), &[]).unwrap_err().contains("nonce"));
    assert!(find("Done.", &[]).unwrap_err().contains("front matter"));
    assert_eq!(find("I wrote the file.", &[file(WrittenKind::Handoff, 1001, GOOD)]), Ok(true));
    assert!(find("I wrote the file.", &[file(WrittenKind::Handoff, 999, GOOD)]).is_err(), "from before");
    assert!(find("I wrote the file.", &[file(WrittenKind::Handoff, 1001, &other)]).is_err(), "for another question");
    assert_eq!(find("Done.", &[file(WrittenKind::Marker, 1001, "# Task\nGo on.")]), Ok(true));
    assert!(find("Done.", &[file(WrittenKind::Marker, 999, "# Task\nGo on.")]).is_err(), "a marker of yesterday");
    let future = file(WrittenKind::Marker, 60_000, "# Task\nGo on.");
    assert!(find("Done.", &[future]).is_err(), "one from the future would be fresh for ever");
    assert!(find("Done.", &[file(WrittenKind::Marker, 1001, " \n")]).is_err(), "an empty marker hands nothing over");
}

#[test]
fn a_section_holds_whatever_is_below_its_heading() {
    let document = |body: &str| Document { body: body.to_owned(), ..Document::default() };
    for (name, body, expected) in [
        ("deeper headings", "# Remaining\n## One\n- a\n## Two\n- b\n# Key Context\nc", "## One\n- a\n## Two\n- b"),
        ("bold lines", "# Remaining\n**Now**\n- a\n**Later:**\n- b\n# Key Context\nc", "**Now**\n- a\n**Later:**\n- b"),
        (
            "a comment in code",
            "## Remaining\n```sh\n# not a heading\nmake\n```\n- a\n## Key Context\nc",
            "```sh\n# not a heading\nmake\n```\n- a",
        ),
        ("more words", "# Remaining work (2)\n- a\n# Key Context\nc", "- a"),
        ("an issue's number", "# Remaining\n#12 is open\n- a\n# Key Context\nc", "#12 is open\n- a"),
        ("bold itself", "**Remaining:**\n- a\n**Key Context**\nc", "- a"),
        (
            "a fence in a longer fence",
            "# Remaining\n````\n```\n# no\n```\n````\n- a\n# Key Context\nc",
            "````\n```\n# no\n```\n````\n- a",
        ),
        (
            "a fence with a name in code",
            "# Remaining\n```\n```sh\n# no\n```\n- a\n# Key Context\nc",
            "```\n```sh\n# no\n```\n- a",
        ),
        ("a heading in code before", "```\n# Remaining\n- no\n```\n# Remaining\n- a", "- a"),
    ] {
        assert_eq!(document(body).section("Remaining"), Some(expected), "{name}");
    }
    assert_eq!(document("# Remainingly\nx").section("Remaining"), None);
    // Where nothing is said to be left, two handoffs are the same only if all of them is.
    let empty = |task: &str| document(&format!("# Task\n{task}\n# Remaining\n\n# Key Context\nc")).remaining();
    assert_ne!(empty("a"), empty("b"));
    assert_eq!(empty("a"), empty("a"));
}

#[test]
fn of_several_the_one_with_the_nonce_counts() {
    let older = GOOD.replace("lh-1", "lh-0");
    let text = format!("Last time I said:\n\n{older}\nNow it is:\n\n{GOOD}");
    assert_eq!(Document::parse_answer(&text, "lh-1").unwrap().nonce.as_deref(), Some("lh-1"));
    assert_eq!(Document::parse(&text).unwrap().nonce.as_deref(), Some("lh-0"));
}

#[test]
fn rules_without_end_are_read_once() {
    let text = "---\n".repeat(60_000);
    assert!(Document::parse(&text).is_err());
    let laughs: String = (1..12).map(|n| format!("k{n}: &k{n} [{}]\n", format!("*k{},", n - 1).repeat(9))).collect();
    assert_eq!(Document::parse(&format!("---\nk0: &k0 x\n{laughs}---\nx")), Err(Malformed::NotYaml));
}

#[test]
fn all_keys_are_kept() {
    let text = Document::parse(GOOD).unwrap().to_text();
    assert!(text.starts_with("---\ncontinue: true\nnonce: lh-1\nowner: nobody\n---\n\n# Task\n"), "{text}");
    assert_eq!(Document::parse(&text), Document::parse(GOOD));
    let bare = Document { goes_on: true, body: "x".to_owned(), ..Document::default() };
    assert_eq!(bare.to_text(), "---\ncontinue: true\n---\n\nx\n");
}

#[test]
fn what_is_left_to_do_arrives_however_long_the_rest_is() {
    let long = "word ".repeat(2_000);
    let body = format!("# Task\nBuild it.\n# Completed\n{long}\n# Remaining\n- the last step\n# Key Context\n{long}");
    let shown = page(&body, "session", 1, 3_000, "/home/handoffs/session.md");
    assert!(shown.chars().count() <= 3_000, "{}", shown.chars().count());
    for part in
        ["# Task\nBuild it.", "# Remaining\n- the last step", "characters left out", "/home/handoffs/session.md"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Even where it is itself too long, the task has its share.
    let body = format!("# Task\n{long}\n# Remaining\n{long}");
    let shown = page(&body, "session", 1, 3_000, "/f");
    assert!(shown.chars().count() <= 3_000 && shown.contains("# Task") && shown.contains("# Remaining"));
    let whole = page("# Task\nx", "session", 1, 3_000, "/f");
    assert!(!whole.contains("/f"), "{whole}");
}

#[test]
fn values_of_a_front_matter_are_text() {
    let nonce = |value: &str| {
        let text = format!("---\ncontinue: true\nnonce: {value}\n---\n# Task\nx");
        Document::parse(&text).unwrap().nonce.unwrap()
    };
    assert_eq!(
        [nonce("lh-1"), nonce("12"), nonce("1.5"), nonce("[a, 2]"), nonce("true")],
        ["lh-1", "12", "1.5", "a, 2", "true"]
    );
}

#[test]
fn a_front_matter_is_short_and_without_aliases() {
    let front = |extra: &str| Document::parse(&format!("---\ncontinue: true\n{extra}\n---\n# Task\nx"));
    let padded = |length: usize| format!("# {}", "x".repeat(length - "continue: true\n# ".len()));
    assert!(front(&padded(4 * 1024)).is_ok());
    assert_eq!(front(&padded(4 * 1024 + 1)), Err(Malformed::NotYaml));
    assert!(front("team: R&D").is_ok() && front("files: a*b").is_ok());
    assert_eq!(front("team: R&D\nfiles: a*b"), Err(Malformed::NotYaml));
}

#[test]
fn a_marker_hands_over_whatever_it_says() {
    let marked = |text: &str| {
        let file = WrittenFile { kind: WrittenKind::Marker, modified: Millis(1001), text: text.to_owned() };
        let document = find_handoff("Done.", &[file], "lh-1", Millis(1000), Millis(2000)).unwrap();
        (document.goes_on, document.body)
    };
    assert_eq!(marked("# Task\nGo on.\n"), (true, "# Task\nGo on.".to_owned()));
    assert_eq!(marked("---\ncontinue: false\n---\n# Task\nx"), (true, "# Task\nx".to_owned()));
}

#[test]
fn a_page_uses_its_space_to_the_last_character() {
    let body = "# Task\nBuild it.\n# Remaining\n- the last step";
    let whole = page(body, "session", 1, 3_000, "/f");
    let length = whole.chars().count();
    assert_eq!(page(body, "session", 1, length, "/f"), whole);
    assert!(page(body, "session", 1, length - 1, "/f").contains("This is not all of it"));
    let words = |length: usize| "word ".chars().cycle().take(length).collect::<String>();
    let (task, remaining, context) = (words(700), words(1_000), words(9_000));
    let long = format!("# Task\n{task}\n# Remaining\n{remaining}\n# Key Context\n{context}");
    let shown = page(&long, "session", 1, 3_000, "/f");
    assert!((2_990..=3_000).contains(&shown.chars().count()), "{}", shown.chars().count());
    assert!(shown.contains(task.trim()) && shown.contains(remaining.trim()), "{shown}");
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(
        text in any::<String>(),
        mixed in "(---\n|continue: (true|false|x)\n|nonce: lh-1\n|```\n|# Remaining\n|- x\n|a: \\[\n|: |&a |\\*a|\t|\r|\u{feff}|é){0,30}",
    ) {
        for text in [text, mixed] {
            if let Ok(document) = Document::parse_answer(&text, "lh-1") {
                let _ = (document.remaining(), document.section("Remaining").map(str::len));
                prop_assert_eq!(Document::parse_answer(&document.to_text(), "lh-1"), Ok(document));
            }
        }
    }

    #[test]
    fn what_is_kept_in_a_file_is_read_again_the_same(body in "[a-z# \r\n]{0,80}", goes_on in any::<bool>()) {
        let text = format!("---\ncontinue: {goes_on}\nnonce: lh-1\n---\n# Task\n{body}\n");
        let document = Document::parse(&text).unwrap();
        prop_assert_eq!(Document::parse(&document.to_text()), Ok(document));
    }
}
