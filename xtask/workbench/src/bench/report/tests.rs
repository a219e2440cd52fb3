use std::time::Duration;

use super::{Line, Sample, draw, markdown, plain_table, ticks};

fn sample(name: &'static str, milliseconds: u64) -> Sample {
    Sample::new(name, vec![Duration::from_millis(milliseconds)])
}

#[test]
fn a_limit_says_whether_it_was_kept() {
    let lines = [
        Line::p95(&sample("three words", 31), 30.0),
        Line::multiple(&sample("a prompt", 8), 6.0, &sample("an empty program", 2)),
        Line::ratio("size", 1.5, 1.8),
        Line::time(&sample("the page", 1)),
    ];
    let table = markdown(&lines);
    assert_eq!(
        table.lines().skip(2).collect::<Vec<_>>(),
        [
            "| three words | 31.00 ms | 31.00 ms | p95 ≤ 30 ms: NOT KEPT |",
            "| a prompt | 8.00 ms | 8.00 ms | ≤ 6 × an empty program, is 4.00: kept |",
            "| size | 1.50 |  | ≤ 1.8: kept |",
            "| the page | 1.00 ms | 1.00 ms |  |",
        ]
    );
    assert!(plain_table(&lines).contains("three words    31.00 ms    31.00 ms  p95 ≤ 30 ms: NOT KEPT\n"));
}

#[test]
fn median_and_p95_are_measured_values() {
    let sample = Sample::new("x", (1..=100).rev().map(Duration::from_millis).collect());
    assert_eq!((sample.median, sample.p95), (Duration::from_millis(50), Duration::from_millis(95)));
    let single = Sample::new("x", vec![Duration::from_millis(7)]);
    assert_eq!((single.median, single.p95), (Duration::from_millis(7), Duration::from_millis(7)));
}

#[test]
fn every_point_is_on_the_picture() {
    let svg = draw("Cost", "lines", &[(1.0, 1.2), (1000.0, 7.5)]);
    assert_eq!(svg.matches("<circle").count(), 2);
    assert!(svg.contains(">7.5<") && svg.contains(">1k<") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    assert!(!draw("One", "x", &[(5.0, 0.5)]).contains("NaN"));
}

#[test]
fn ticks_are_round_and_few() {
    assert_eq!(ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(ticks(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
}
