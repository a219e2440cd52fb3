use crate::{Field, Look, Looker, Query, WEIGHTS, wanted_terms};

fn look_in(query: &str, fields: &[(&str, f64)]) -> Look {
    let terms = Query::parse(query).wanted_terms();
    let fields: Vec<Field<'_>> = fields.iter().map(|(text, weight)| Field { text, weight: *weight }).collect();
    Looker::new(terms.iter().map(|term| (term, 1.0))).look(&fields)
}

fn look(query: &str, text: &str) -> Look {
    look_in(query, &[(text, 1.0)])
}

/// Returns where the words are in a text.
fn start(found: &Look, text: &str) -> usize {
    found.spot(&[Field { text, weight: 1.0 }]).start
}

#[track_caller]
fn about(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-4, "{value} is not {expected}");
}

/// How much `often` occurrences of a word count in a text of `length` words.
fn saturated(often: f64, length: f64) -> f64 {
    let long = 1.0 - WEIGHTS.length + WEIGHTS.length * length / WEIGHTS.usual_length;
    often * (WEIGHTS.saturation + 1.0) / (often + WEIGHTS.saturation * long)
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

#[test]
fn a_word_counts_more_than_its_inflection_and_repetitions_count_less() {
    let found = look("importer stall", "The importer stalls.");
    assert_eq!((found.has.as_slice(), found.length, start(&found, "The importer stalls.")), (&[true, true][..], 3, 4));
    about(found.score, saturated(1.0, 3.0) + saturated(WEIGHTS.stem, 3.0));
    about(found.total(), found.score);
    about(look("importer", "importer importer importer").score, saturated(3.0, 3.0));
    about(look("importer", &format!("importer {}", words(359))).score, saturated(1.0, 360.0));
    assert_eq!(look("importer", "nothing here").score, 0.0);
}

#[test]
fn a_part_of_the_query_counts_less_than_its_share() {
    let found = look("importer stall", "the importer");
    assert_eq!((found.covered, found.near), (0.5, 0.5));
    let (coverage, proximity) = (1.0 - WEIGHTS.coverage / 2.0, 1.0 - WEIGHTS.proximity / 2.0);
    about(found.total(), found.score * coverage * proximity);
}

#[test]
fn rare_terms_weigh_more() {
    let terms = wanted_terms("importer stall");
    let looker = Looker::new(terms.iter().zip([3.0, 1.0]));
    assert_eq!(
        (looker.weight(&[true, false]), looker.share(&[true, false]), looker.share(&[false, true])),
        (3.0, 0.75, 0.25)
    );
}

#[test]
fn words_are_near_within_a_few_words() {
    let near = |between: usize| look("importer stall", &format!("importer {}stall", words(between))).near;
    assert_eq!((near(WEIGHTS.near - 1), near(WEIGHTS.near)), (1.0, 0.5));
    let again = look("importer stall", &format!("importer importer {}stall", words(WEIGHTS.near)));
    assert_eq!(again.near, 0.5, "the first two are one term");
    let text = format!("importer {}the importer of rates stalls", words(100));
    let found = look("importer stall", &text);
    assert_eq!((found.near, &text[start(&found, &text)..]), (1.0, "importer of rates stalls"));
    let twice = format!("the importer stalls {}the importer stalls", words(100));
    assert_eq!(start(&look("importer stall", &twice), &twice), 4, "the first of two places");
}

#[test]
fn a_field_has_its_weight_and_is_apart_from_others() {
    let found = look_in("importer stall", &[("the importer", 2.0), ("it stalls", 1.0)]);
    assert_eq!((found.covered, found.near, found.length), (1.0, 0.5, 4));
    about(found.score, saturated(2.0, 4.0) + saturated(WEIGHTS.stem, 4.0));
    let second = look_in("stall", &[("the importer", 1.0), ("it stalls", 1.0)]);
    let spot = second.spot(&["the importer", "it stalls"].map(|text| Field { text, weight: 1.0 }));
    assert_eq!((spot.field, spot.start), (1, 3));
}

#[test]
fn beginnings_and_other_languages_are_found() {
    about(look("impor*", "the importer").score, saturated(WEIGHTS.stem, 2.0));
    assert_eq!(look("impor*", "the export").covered, 0.0);
    for beginning in ["i*", "im*", "imp*", "impo*"] {
        assert_eq!(look(beginning, "the importers").covered, 1.0, "{beginning}");
    }
    assert_eq!(look("messung", "Die Messungen sind nicht genau, und das ist so.").covered, 1.0);
    assert_eq!(look("importing", "It imports what it can.").covered, 1.0);
    assert_eq!(look("parse", "parse_http_url").covered, 1.0);
}

#[test]
fn a_snippet_is_the_text_around_the_words() {
    let snippet = |text: &str| look("importer", text).snippet(&[Field { text, weight: 1.0 }]);
    assert_eq!(snippet("the importer\n stalls"), "the importer stalls");
    let long = snippet(&format!("{}importer {}", words(100), words(100)));
    assert!(long.starts_with("…word ") && long.ends_with(" word…"), "{long}");
    assert!((230..=242).contains(&long.chars().count()), "{}", long.chars().count());
    let at = long.chars().take_while(|c| *c != 'i').count();
    assert!((50..=62).contains(&at), "a quarter is before the words: {long}");
    let lengthy = "lengthy ".repeat(100);
    let between = snippet(&format!("{lengthy}importer {lengthy}"));
    assert!(between.starts_with("…lengthy ") && between.ends_with(" lengthy…"), "cut between words: {between}");
    let last = snippet(&format!("{}importer {}end", words(100), words(20)));
    assert!(last.ends_with(" word end"), "nothing is cut at the end of the text: {last}");
    let end = snippet(&format!("{}importer", words(100)));
    assert!(end.starts_with("…word ") && end.ends_with(" importer"), "{end}");
    let start = snippet(&format!("importer {}", words(100)));
    assert!(start.starts_with("importer word") && start.ends_with(" word…"), "{start}");
    let one_word = snippet(&format!("importer {}", "x".repeat(400)));
    assert_eq!(one_word.chars().count(), 241, "a word that is longer than half of it is cut");
    let joined = snippet(&format!("{}{}(importer) {}", words(100), "x".repeat(100), words(100)));
    assert!(
        joined.starts_with("…xxx") && joined.contains("x(importer) word"),
        "a long word before it is cut: {joined}"
    );
    assert_eq!(look("importer", "x").snippet(&[]), "");
}

#[test]
fn the_end_of_a_long_text_is_read_if_a_word_is_missing() {
    let text = format!("the importer {}and it stalls at the end", words(60_000));
    let found = look("stall", &text);
    assert_eq!((found.covered, &text[start(&found, &text)..]), (1.0, "stalls at the end"));
    let both = look("importer stall", &text);
    assert_eq!((both.has.as_slice(), both.near), (&[true, true][..], 0.5));
    assert_eq!(both.length, look("importer", &text).length, "the end does not make it longer");
    assert!(found.snippet(&[Field { text: &text, weight: 1.0 }]).ends_with("and it stalls at the end"));
    let second = look_in("stall", &[(&text, 1.0), ("it stalls", 1.0)]);
    assert_eq!(second.has, [true]);
}

#[test]
fn no_more_than_a_limit_is_read_for_a_query() {
    let text = format!("{}stalls", words(60_000));
    let terms = wanted_terms("stall");
    let mut looker = Looker::new(terms.iter().map(|term| (term, 1.0)));
    let fields = [Field { text: &text, weight: 1.0 }];
    looker.read_on = 2 * text.len();
    let found: Vec<f64> = (0..3).map(|_| looker.look(&fields).covered).collect();
    assert_eq!(found, [1.0, 1.0, 0.0]);
    assert_eq!(looker.look(&[Field { text: "it stalls", weight: 1.0 }]).covered, 1.0, "the beginning is always read");
    looker.read_on = usize::MAX;
    let before = looker.read_on;
    looker.look(&[Field { text: &format!("stalls {text}"), weight: 1.0 }]);
    assert_eq!(looker.read_on, before, "nothing is missing");
}

#[test]
fn two_lookers_share_what_may_be_read() {
    let text = format!("{}stalls", words(60_000));
    let terms = wanted_terms("stall");
    let mut looker = Looker::new(terms.iter().map(|term| (term, 1.0)));
    let fields = [Field { text: &text, weight: 1.0 }];
    looker.read_on = 4 * text.len();
    let mut second = looker.share_reading();
    for half in [&mut looker, &mut second] {
        let found: Vec<f64> = (0..3).map(|_| half.look(&fields).covered).collect();
        assert_eq!(found, [1.0, 1.0, 0.0]);
    }
    second.read_on = text.len();
    looker.take_back(&second);
    let found: Vec<f64> = (0..2).map(|_| looker.look(&fields).covered).collect();
    assert_eq!(found, [1.0, 0.0]);
}

#[test]
fn a_place_is_one_of_the_text_and_not_of_its_normal_form() {
    for text in ["，，，，经纬度抄错了", "½ ﬁrst\u{a0}the 经纬度抄错了", "ｶﾞ 经纬度抄错了"]
    {
        let found = look("经纬度", text);
        assert_eq!(&text[start(&found, text)..], "经纬度抄错了");
    }
    let long = format!("{}经纬度抄错了", "对，".repeat(20_000));
    assert_eq!(&long[start(&look("经纬度", &long), &long)..], "经纬度抄错了");
}
