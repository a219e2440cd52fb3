//! Finds days, months and years in a question, such as `7 May 2023`. Records from around that time rank higher.

use std::ops::Range;

use longhaul_core::clock::{DAY_MS, Date};

use crate::terms::fold;

/// Number of days after a named day on which people still mention it.
const AFTER: i64 = 14;

/// Number of days before it, at half the weight, because plans are mentioned less often.
const BEFORE: i64 = 7;

/// Words after which a month or a year alone is a date: `may` and `march` are also verbs.
const PREPOSITIONS: [&str; 18] = [
    "around", "before", "by", "during", "early", "en", "from", "im", "in", "last", "late", "mid", "of", "seit",
    "since", "this", "until", "vom",
];

/// Names of months in the languages of [`crate::Language`], without accents, each with its number.
const MONTHS: [(&str, u8); 73] = [
    ("january", 1),
    ("february", 2),
    ("march", 3),
    ("april", 4),
    ("may", 5),
    ("june", 6),
    ("july", 7),
    ("august", 8),
    ("september", 9),
    ("october", 10),
    ("november", 11),
    ("december", 12),
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("sept", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
    ("januar", 1),
    ("februar", 2),
    ("marz", 3),
    ("mai", 5),
    ("juni", 6),
    ("juli", 7),
    ("oktober", 10),
    ("dezember", 12),
    ("janvier", 1),
    ("fevrier", 2),
    ("mars", 3),
    ("avril", 4),
    ("juin", 6),
    ("juillet", 7),
    ("aout", 8),
    ("septembre", 9),
    ("octobre", 10),
    ("novembre", 11),
    ("decembre", 12),
    ("enero", 1),
    ("febrero", 2),
    ("marzo", 3),
    ("abril", 4),
    ("mayo", 5),
    ("junio", 6),
    ("julio", 7),
    ("agosto", 8),
    ("septiembre", 9),
    ("octubre", 10),
    ("noviembre", 11),
    ("diciembre", 12),
    ("gennaio", 1),
    ("febbraio", 2),
    ("aprile", 4),
    ("maggio", 5),
    ("giugno", 6),
    ("luglio", 7),
    ("settembre", 9),
    ("ottobre", 10),
    ("dicembre", 12),
    ("januari", 1),
    ("februari", 2),
    ("maart", 3),
    ("mei", 5),
    ("augustus", 8),
    ("января", 1),
    ("февраля", 2),
    ("марта", 3),
    ("апреля", 4),
];

/// A day, a month or a year in a text. A part that is not named is open: `in May` is the May of any year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDate {
    year: Option<i32>,
    month: Option<u8>,
    day: Option<u8>,
    /// Its position in the text, in bytes.
    pub range: Range<usize>,
}

impl NamedDate {
    /// Returns how close a time is to the date, from 0 to 1. It is 1 on the day itself, and on the days next to it
    /// because of time zones.
    pub fn closeness(&self, at_ms: i64) -> f64 {
        let day = at_ms.div_euclid(DAY_MS);
        match self.year {
            Some(year) => self.closeness_in(year, day),
            // 1970 is year 0 here, and a year has 365.2425 days.
            None => {
                let year = 1970 + (day * 400).div_euclid(146_097) as i32;
                (year - 1..=year + 1).map(|year| self.closeness_in(year, day)).fold(0.0, f64::max)
            }
        }
    }

    fn closeness_in(&self, year: i32, day: i64) -> f64 {
        let (first, last) = self.span(year);
        if (first - 1..=last + 1).contains(&day) {
            return 1.0;
        }
        let (after, before) = (day - last, first - day);
        if (1..=AFTER).contains(&after) {
            1.0 - after as f64 / (AFTER + 1) as f64
        } else if (1..=BEFORE).contains(&before) {
            0.5 - 0.5 * before as f64 / (BEFORE + 1) as f64
        } else {
            0.0
        }
    }

    /// Returns the first and last day, as days since 1970.
    fn span(&self, year: i32) -> (i64, i64) {
        let days = |year: i32, month: u8, day: u8| Date { year, month, day }.days();
        match (self.month, self.day) {
            (Some(month), Some(day)) => (days(year, month, day), days(year, month, day)),
            (Some(12), None) => (days(year, 12, 1), days(year + 1, 1, 1) - 1),
            (Some(month), None) => (days(year, month, 1), days(year, month + 1, 1) - 1),
            (None, _) => (days(year, 1, 1), days(year + 1, 1, 1) - 1),
        }
    }
}

/// Returns the dates in a text, in order.
pub fn dates_in(text: &str) -> Vec<NamedDate> {
    let words = words_of(text);
    let mut dates = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match date_at(text, &words, at, dates.last()) {
            Some((date, next)) => {
                dates.push(date);
                at = next;
            }
            None => at += 1,
        }
    }
    dates
}

struct Word {
    text: String,
    range: Range<usize>,
}

fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(char::is_alphanumeric).map(|at| rest + at) {
        let end = text[start..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |at| start + at);
        words.push(Word { text: fold(&text[start..end].to_lowercase()).into_owned(), range: start..end });
        rest = end;
    }
    words
}

/// Parses a date that begins at a word. Returns it with the index of the next word.
fn date_at(text: &str, words: &[Word], at: usize, before: Option<&NamedDate>) -> Option<(NamedDate, usize)> {
    let word = &words[at];
    if let Some((year, month, day)) = with_signs(&word.text) {
        return Some((NamedDate { year, month: Some(month), day, range: word.range.clone() }, at + 1));
    }
    let get = |at: usize| words.get(at).map(|word| word.text.as_str()).unwrap_or_default();
    let is_joined = |at: usize| {
        let between = words.get(at).zip(words.get(at + 1)).map(|(a, b)| &text[a.range.end..b.range.start]);
        matches!(between, Some("-" | "/"))
    };
    if let (Some(year), true, Some(month)) = (year_of(get(at)), is_joined(at), two_digits(get(at + 1), 12)) {
        let day = two_digits(get(at + 2), 31).filter(|_| is_joined(at + 1));
        let next = at + 2 + usize::from(day.is_some());
        let range = word.range.start..words[next - 1].range.end;
        return Some((NamedDate { year: Some(year), month: Some(month), day, range }, next));
    }
    let is_free = |at: usize| before.is_none_or(|before| words[at].range.start >= before.range.end);
    let Some(month) = month_of(&word.text) else {
        let is_after_preposition = at > 0 && PREPOSITIONS.contains(&get(at - 1));
        let year = year_of(&word.text).filter(|_| is_after_preposition)?;
        return Some((NamedDate { year: Some(year), month: None, day: None, range: word.range.clone() }, at + 1));
    };
    let (mut first, mut next) = (at, at + 1);
    let day_before = |at: usize| day_of(get(at)).filter(|_| is_free(at)).map(|day| (at, day));
    let mut day = match at {
        0 => None,
        _ if matches!(get(at - 1), "of" | "de") && at > 1 => day_before(at - 2),
        _ => day_before(at - 1),
    }
    .map(|(from, day)| {
        first = from;
        day
    });
    if day.is_none()
        && let Some(found) = day_of(get(next))
    {
        (day, next) = (Some(found), next + 1);
    }
    let of = usize::from(matches!(get(next), "of" | "de"));
    let year = year_of(get(next + of));
    if year.is_some() {
        next += of + 1;
    }
    if day.is_none() && year.is_none() && !(at > 0 && PREPOSITIONS.contains(&get(at - 1))) {
        return None;
    }
    let range = words[first].range.start..words[next - 1].range.end;
    Some((NamedDate { year, month: Some(month), day, range }, next))
}

fn month_of(word: &str) -> Option<u8> {
    MONTHS.iter().find(|(name, _)| *name == word).map(|(_, month)| *month)
}

fn year_of(word: &str) -> Option<i32> {
    let year: i32 = word.parse().ok().filter(|_| word.len() == 4)?;
    (1970..=2099).contains(&year).then_some(year)
}

fn two_digits(word: &str, most: u8) -> Option<u8> {
    let number: u8 = word.parse().ok().filter(|_| word.len() == 2)?;
    (1..=most).contains(&number).then_some(number)
}

/// Parses `7`, `07`, `7th`, `1st`, `1er`.
fn day_of(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_day = matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th" | "er");
    let day: u8 = digits.parse().ok().filter(|_| is_day && digits.len() <= 2)?;
    (1..=31).contains(&day).then_some(day)
}

/// Parses `2023年5月7日`, in which year and day are optional.
fn with_signs(word: &str) -> Option<(Option<i32>, u8, Option<u8>)> {
    let (before, after) = word.split_once('月')?;
    let (year, month) = match before.split_once('年') {
        Some((year, month)) => (Some(year_of(year)?), month),
        None => (None, before),
    };
    let day = after.split_once('日').and_then(|(day, _)| day_of(day));
    month.parse().ok().filter(|month| (1..=12).contains(month)).map(|month| (year, month, day))
}

#[cfg(test)]
mod tests {
    use longhaul_core::clock::{DAY_MS, Date};

    use super::dates_in;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let dates = dates_in(text);
        let found: Vec<&str> = dates.iter().map(|date| &text[date.range.clone()]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        check("what did we do on 7 May 2023?", &["7 May 2023"]);
        check("on May 7th, 2023, and in June", &["May 7th, 2023", "June"]);
        check("the release of 2023-05-07 or 2023-06", &["2023-05-07", "2023-06"]);
        check("on the 3rd of March 2024", &["3rd of March 2024"]);
        check("am 7. Mai 2023, en août 2022", &["7. Mai 2023", "août 2022"]);
        check("2023年5月7日的会议", &["2023年5月7日的会议"]);
        check("what was decided in 2024", &["2024"]);
    }

    #[test]
    fn every_part_of_a_date_has_its_range() {
        check("by May 1, by May 31, by May 32", &["May 1", "May 31", "May"]);
        check("May 0 and May 32 and May 7ish", &[]);
        check("in 1970, in 2099", &["1970", "2099"]);
        check("in 1969, in 2100, in 20231, 2024 alone", &[]);
        check("2023-01, 2023/12/31, 2023-05 07", &["2023-01", "2023/12/31", "2023-05"]);
        check("2023-00, 2023-13, 2023-5, 2023.05", &[]);
        check("2023-05-32 and 2023-05-00", &["2023-05", "2023-05"]);
        check("1月, 12月3日, 13月, 0月, 1950年5月", &["1月", "12月3日"]);
    }

    #[test]
    fn a_day_belongs_to_one_month() {
        check("on May 7 June 8", &["May 7", "June 8"]);
        check("on 7 May 8 June", &["7 May", "8 June"]);
        check("May 7 June", &["May 7"]);
        check("el 7 de mayo de 2023, 8 of June", &["7 de mayo de 2023", "8 of June"]);
        check("of May, May 2023", &["May", "May 2023"]);
        check("May", &[]);
        check("7 May", &["7 May"]);
    }

    #[test]
    fn a_verb_or_a_number_is_no_date() {
        check("may we march on with port 2023 and version 12.05?", &[]);
        check("may 100 users sign in", &[]);
        check("the sun may shine", &[]);
    }

    #[track_caller]
    fn closeness(text: &str, (year, month, day): (i32, u8, u8)) -> f64 {
        dates_in(text)[0].closeness(Date { year, month, day }.days() * DAY_MS + 1)
    }

    #[test]
    fn what_was_said_soon_after_is_close() {
        assert_eq!(closeness("on 7 May 2023", (2023, 5, 7)), 1.0);
        assert_eq!(closeness("on 7 May 2023", (2023, 5, 8)), 1.0);
        assert!(closeness("on 7 May 2023", (2023, 5, 12)) > 0.5);
        assert!(closeness("on 7 May 2023", (2023, 5, 4)) > 0.2);
        assert_eq!(closeness("on 7 May 2023", (2023, 7, 7)), 0.0);
        assert_eq!(closeness("on 7 May 2023", (2022, 5, 7)), 0.0);
        assert_eq!(closeness("in December", (2021, 12, 30)), 1.0);
        assert!(closeness("in December", (2022, 1, 4)) > 0.5, "the December of the year before");
        assert_eq!(closeness("in May 2023", (2023, 5, 31)), 1.0);
    }

    #[test]
    fn closeness_falls_day_by_day() {
        for (text, day, expected) in [
            ("on 7 May 2023", (2023, 5, 6), 1.0),
            ("on 7 May 2023", (2023, 5, 9), 13.0 / 15.0),
            ("on 7 May 2023", (2023, 5, 21), 1.0 / 15.0),
            ("on 7 May 2023", (2023, 5, 22), 0.0),
            ("on 7 May 2023", (2023, 5, 5), 0.375),
            ("on 7 May 2023", (2023, 4, 30), 0.0625),
            ("on 7 May 2023", (2023, 4, 29), 0.0),
            ("in May 2023", (2023, 4, 30), 1.0),
            ("in May 2023", (2023, 6, 1), 1.0),
            ("in May 2023", (2023, 6, 2), 13.0 / 15.0),
            ("in December 2023", (2023, 11, 29), 0.375),
            ("in December 2023", (2024, 1, 1), 1.0),
            ("in December 2023", (2024, 1, 2), 13.0 / 15.0),
            ("in 2023", (2022, 12, 30), 0.375),
            ("in 2023", (2023, 7, 1), 1.0),
            ("in 2023", (2024, 1, 2), 13.0 / 15.0),
            ("on 1 January", (2022, 12, 30), 0.375),
            ("on 31 December", (2023, 1, 2), 13.0 / 15.0),
            ("on 31 December", (1970, 1, 2), 13.0 / 15.0),
        ] {
            assert!((closeness(text, day) - expected).abs() < 1e-9, "{text}, {day:?}: {}", closeness(text, day));
        }
    }
}
