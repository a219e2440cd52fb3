use longhaul_core::Millis;

use crate::continuation::{Document, Malformed, Written, WrittenAs, find_handoff};

const GOOD: &str = "---\ncontinue: true\nnonce: lh-1\nowner: nobody\n---\n# Task\nBuild it.\n# Completed\n- half\n\
                    # Remaining\n- [ ] the other half\n# Key Context\nNone.\n";

#[test]
fn a_handoff_is_front_matter_and_sections() {
    let document = Document::parse(GOOD).unwrap();
    assert!(document.goes_on);
    assert_eq!(document.nonce.as_deref(), Some("lh-1"));
    assert_eq!(document.other, [("owner".to_owned(), "nobody".to_owned())]);
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
    let file = |kind, modified, text: &str| Written { kind, modified: Millis(modified), text: text.to_owned() };
    let other = GOOD.replace("lh-1", "lh-0");
    let find = |reply: &str, files: &[Written]| find_handoff(reply, files, "lh-1", asked).map(|found| found.goes_on);

    assert_eq!(find(GOOD, &[]), Ok(true));
    assert!(find(&other, &[]).unwrap_err().contains("nonce"));
    assert!(find(&GOOD.replace("nonce: lh-1\n", ""), &[]).unwrap_err().contains("nonce"));
    assert!(find("Done.", &[]).unwrap_err().contains("front matter"));
    assert_eq!(find("I wrote the file.", &[file(WrittenAs::Handoff, 1001, GOOD)]), Ok(true));
    assert!(find("I wrote the file.", &[file(WrittenAs::Handoff, 999, GOOD)]).is_err(), "from before");
    assert!(find("I wrote the file.", &[file(WrittenAs::Handoff, 1001, &other)]).is_err(), "for another question");
    assert_eq!(find("Done.", &[file(WrittenAs::Marker, 1001, "# Task\nGo on.")]), Ok(true));
    assert!(find("Done.", &[file(WrittenAs::Marker, 999, "# Task\nGo on.")]).is_err(), "a marker of yesterday");
    assert!(find("Done.", &[file(WrittenAs::Marker, 1001, " \n")]).is_err(), "an empty marker hands nothing over");
}
