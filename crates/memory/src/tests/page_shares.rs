use super::page::{NOW, came_to, record, session};
use crate::{Kind, PageInput, PageRecord, PageSession, page};

/// Returns the number of lines of each section.
fn section_lines(text: &str) -> [usize; 4] {
    let headings = ["Sessions, newest first", "Left to do", "Failed when last run", "Decisions and notes"];
    headings.map(|heading| {
        let lines = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
        lines.take_while(|line| line.starts_with("- ")).count()
    })
}

#[test]
fn a_session_has_a_line_for_its_part_of_the_space() {
    let words = |n: usize| format!("word{n} ").repeat(200);
    let second_line = |count: usize, chars: usize| {
        let sessions: Vec<PageSession> =
            (0..count).map(|n| session(&format!("S{n}"), 1, &words(n), came_to(&words(n), "", ""))).collect();
        let input = PageInput { project: "x", now: NOW, sessions: &sessions, ..PageInput::default() };
        let text = page(&input, chars).text;
        text.lines().filter(|line| line.starts_with("- S")).nth(1).map(|line| line.chars().count())
    };
    for (count, chars, least, most) in [(30, 16_000, 290, 340), (10, 6_000, 320, 370), (20, 12_000, 320, 370)] {
        let length = second_line(count, chars).unwrap();
        assert!((least..=most).contains(&length), "{length} of {chars} for each of {count}");
    }
    assert_eq!((second_line(30, 4_000), second_line(2, 16_000)), (Some(182), Some(461)), "the least and the most");
}

#[test]
fn every_section_has_its_share_of_the_space() {
    let words = |n: usize| format!("word{n} ").repeat(40);
    let sessions: Vec<PageSession> = (0..30)
        .map(|n| session(&format!("S{n}"), 1, &words(n), came_to(&words(100 + n), "", &words(200 + n))))
        .collect();
    let problem = |n: i64| record(n, 1, Kind::Problem, &format!("Failed: `make {n}{}`", "x".repeat(80)));
    let decision = |n: i64| record(n, 1, Kind::Decision, &format!("decided {n} {}", "y".repeat(80)));
    let records: Vec<PageRecord> = (0..8).map(problem).chain((10..30).map(decision)).collect();
    let lines = |chars: usize| {
        let input =
            PageInput { project: "x", now: NOW, sessions: &sessions, records: &records, ..PageInput::default() };
        section_lines(&page(&input, chars).text)
    };
    assert_eq!(lines(2_000), [3, 0, 4, 2]);
    assert_eq!(lines(4_000), [7, 2, 4, 5]);
    assert_eq!(lines(8_000), [19, 4, 5, 12]);
    assert_eq!(lines(16_000), [30, 5, 5, 12], "all of them");
}
