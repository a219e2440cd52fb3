//! The setting `notify.quiet_hours`: a part of every day.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// The number of minutes in a day.
const DAY: u16 = 24 * 60;

/// A part of every day in local time, such as `22:00-07:00`; empty for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuietHours(Option<(u16, u16)>);

impl QuietHours {
    /// Parses `HH:MM-HH:MM` or an empty text; `None` for anything else.
    ///
    /// The second time may be on the next day. Two equal times are refused: they could mean no time or the whole day.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self(None));
        }
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from.trim())?, minute(to.trim())?);
        (from != to).then_some(Self(Some((from, to))))
    }

    /// Returns whether a minute of the day, counted from midnight in local time, is in it.
    pub fn contains(self, minute: u16) -> bool {
        match self.0 {
            None => false,
            Some((from, to)) if from < to => (from..to).contains(&minute),
            Some((from, to)) => minute >= from || minute < to,
        }
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours, 1..=2)?, number(minutes, 2..=2)?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes).filter(|minute| *minute < DAY)
}

impl Setting for QuietHours {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        json.as_str().and_then(Self::parse).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "two times such as \"22:00-07:00\"", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "string",
            "pattern": r"^\s*(([01]?\d|2[0-3]):[0-5]\d\s*-\s*([01]?\d|2[0-3]):[0-5]\d)?\s*$",
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        json!(self.0.map_or_else(String::new, |(from, to)| format!("{}-{}", time(from), time(to))))
    }
}

#[cfg(test)]
mod tests {
    use super::QuietHours;
    use crate::config::Setting;

    #[test]
    fn a_night_goes_past_midnight_and_the_end_does_not_belong_to_it() {
        let quiet = |text: &str, minute: u16| QuietHours::parse(text).unwrap().contains(minute);
        for (text, minute, expected) in [
            ("22:00-07:00", 22 * 60, true),
            ("22:00-07:00", 22 * 60 - 1, false),
            ("22:00-07:00", 0, true),
            ("22:00-07:00", 7 * 60 - 1, true),
            ("22:00-07:00", 7 * 60, false),
            ("9:30-12:00", 9 * 60 + 30, true),
            ("9:30-12:00", 12 * 60, false),
            ("9:30-12:00", 9 * 60 + 29, false),
            ("", 0, false),
        ] {
            assert_eq!(quiet(text, minute), expected, "{text} at {minute}");
        }
    }

    #[test]
    fn what_is_not_two_times_is_refused() {
        for text in ["22:00", "22-7", "24:00-07:00", "22:60-07:00", "08:00-08:00", "-", "+1:00-2:00", "001:00-02:00"] {
            assert_eq!(QuietHours::parse(text), None, "{text}");
        }
        assert_eq!(QuietHours::parse(" 9:05 - 12:00 ").unwrap().to_json(), "09:05-12:00");
        assert_eq!(QuietHours::parse("").unwrap().to_json(), "");
    }
}
