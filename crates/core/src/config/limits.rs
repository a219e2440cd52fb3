//! The section `limits`: what sessions may spend, how many subagents they may start, and what happens when they repeat
//! themselves.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::numbers::{Count, Range};
use super::setting::{self, Key, Setting, SettingValue, Warning, settings};
use crate::named;
use crate::text::round_tokens;

settings! {
    /// What sessions may spend.
    pub struct Limits {
        session: SpendLimit = SpendLimit::Off, "What a session may spend, its subagents included: dollars such as `5`, or tokens such as `\"20M\"`; `off` is no limit";
        day: SpendLimit = SpendLimit::Off, "What all sessions together may spend in a day, in local time; `off` is no limit";
        project_day: SpendLimit = SpendLimit::Off, "What all sessions of a project together may spend in a day; `off` is no limit";
        subagents: Subagents = Subagents::default(), "How many subagents a session may start";
        loops: Loops = Loops::Notify, "When the same calls are repeated with the same results, Claude is told after five times; after ten, you are notified (`notify`), or the turn is stopped (`stop`); `off` does not notice it";
    }
}

settings! {
    /// How many subagents a session may start.
    pub struct Subagents {
        at_once: Count = Count(0), "How many subagents of a session may run at once; 0 is no limit";
        in_turn: Count = Count(0), "How many subagents a session may start in one turn; 0 is no limit";
    }
}

named! {
    /// What happens when a session repeats the same calls.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Loops {
        /// It is not noticed.
        Off = "off",
        /// The user is notified.
        Notify = "notify",
        /// The turn is stopped.
        Stop = "stop",
    }
}

/// The most dollars and the most tokens that a limit may be.
const MOST_DOLLARS: f64 = 1e6;
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub enum SpendLimit {
    /// Anything.
    #[default]
    Off,
    /// This many dollars, by the prices of the API.
    Dollars(f64),
    /// This many tokens, of whatever kind.
    Tokens(u64),
}

impl SpendLimit {
    /// Parses dollars such as `5`, `0.5` or `$5`, or tokens such as `20M`, `500k` or `800000 tokens`; `None` for anything else.
    pub fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "off" {
            return Some(Self::Off);
        }
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let (plain, unit) = match text.strip_suffix("tokens").or(text.strip_suffix("token")) {
            Some(rest) => (rest.trim_end(), Some(1.0)),
            None => (text, None),
        };
        let letter = plain.chars().last().and_then(|letter| match letter.to_ascii_lowercase() {
            'k' => Some(1e3),
            'm' => Some(1e6),
            'g' | 'b' => Some(1e9),
            _ => None,
        });
        let (digits, unit) = match letter {
            Some(factor) => (&plain[..plain.len() - 1], Some(factor)),
            None => (plain, unit),
        };
        match unit {
            Some(factor) => Self::tokens(number(digits)? * factor),
            None => Self::dollars(number(plain.strip_prefix('$').unwrap_or(plain))?),
        }
    }

    fn dollars(number: f64) -> Option<Self> {
        let limit = if number == 0.0 { Self::Off } else { Self::Dollars(number) };
        (number <= MOST_DOLLARS).then_some(limit)
    }

    fn tokens(number: f64) -> Option<Self> {
        let limit = if number < 1.0 { Self::Off } else { Self::Tokens(number as u64) };
        (number <= MOST_TOKENS as f64).then_some(limit)
    }

    /// Returns whether nothing is limited.
    pub fn is_off(self) -> bool {
        self == Self::Off
    }

    /// Returns whether it allows as much as `other`, or less. Dollars and tokens cannot be compared.
    pub(super) fn is_within(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Off) => true,
            (Self::Dollars(own), Self::Dollars(other)) => own.partial_cmp(&other) != Some(Ordering::Greater),
            (Self::Tokens(own), Self::Tokens(other)) => own <= other,
            (Self::Off | Self::Dollars(_) | Self::Tokens(_), Self::Dollars(_) | Self::Tokens(_)) => false,
        }
    }
}

impl fmt::Display for SpendLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("no limit"),
            Self::Dollars(dollars) if dollars.fract() == 0.0 => write!(f, "${dollars:.0}"),
            Self::Dollars(dollars) => write!(f, "${dollars:.2}"),
            Self::Tokens(tokens) => write!(f, "{} tokens", round_tokens(*tokens)),
        }
    }
}

impl SettingValue for SpendLimit {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        match json {
            Value::Number(number) => number.as_f64().filter(|number| *number >= 0.0).and_then(Self::dollars),
            Value::String(text) => Self::of_text(text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn wanted(_: &Value, _: Range) -> String {
        "an amount of dollars such as 5, or of tokens such as \"20M\"".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "oneOf": [
            { "type": "number", "minimum": 0, "maximum": MOST_DOLLARS },
            { "type": "string", "pattern": r"^\s*(off|\$?[0-9]+([.][0-9]+)?|[0-9]+([.][0-9]+)?\s*([kKmMgGbB]|tokens?))\s*$" },
        ] })
    }

    fn written(&self) -> Value {
        match self {
            Self::Off => json!("off"),
            Self::Dollars(dollars) if dollars.fract() == 0.0 => json!(*dollars as u64),
            Self::Dollars(dollars) => json!(dollars),
            Self::Tokens(tokens) => match *tokens {
                tokens if tokens % 1_000_000 == 0 => json!(format!("{}M", tokens / 1_000_000)),
                tokens if tokens % 1_000 == 0 => json!(format!("{}k", tokens / 1_000)),
                tokens => json!(format!("{tokens} tokens")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SpendLimit::{self, Dollars, Off, Tokens};
    use crate::Config;
    use crate::config::Setting;

    #[test]
    fn an_amount_is_dollars_or_tokens() {
        for (text, expected) in [
            ("5", Some(Dollars(5.0))),
            ("$0.50", Some(Dollars(0.5))),
            (" 20M ", Some(Tokens(20_000_000))),
            ("1.5m", Some(Tokens(1_500_000))),
            ("500k", Some(Tokens(500_000))),
            ("2G", Some(Tokens(2_000_000_000))),
            ("800 tokens", Some(Tokens(800))),
            ("20M tokens", Some(Tokens(20_000_000))),
            ("0", Some(Off)),
            ("off", Some(Off)),
            ("0k", Some(Off)),
            ("", None),
            ("M", None),
            ("-1", None),
            ("-1k", None),
            ("nan", None),
            ("inf", None),
            ("$20M", None),
            ("5 €", None),
            ("1000001", None),
            ("5000G", None),
        ] {
            assert_eq!(SpendLimit::of_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_limit_is_written_as_it_is_read() {
        for limit in [Off, Dollars(5.0), Dollars(0.25), Tokens(20_000_000), Tokens(1_500), Tokens(3_000)] {
            let mut warnings = Vec::new();
            assert_eq!(SpendLimit::read(None, &limit.to_json(), Off, "", &mut warnings), limit);
            assert!(warnings.is_empty(), "{warnings:?}");
        }
        assert_eq!(
            [Dollars(5.0), Dollars(0.5), Tokens(20_000_000)].map(|limit| limit.to_string()),
            ["$5", "$0.50", "20M tokens"]
        );
    }

    #[test]
    fn what_is_no_amount_is_named_and_limits_nothing() {
        for bad in [json!(true), json!(-5), json!("much"), json!([5]), json!(1e300), json!(null)] {
            let (config, warnings) = Config::from_json(&json!({ "limits": { "session": bad } }).to_string());
            assert_eq!((config.limits.session, warnings.len()), (Off, 1), "{bad}");
            assert!(warnings[0].to_string().contains("dollars such as 5"), "{}", warnings[0]);
        }
    }

    #[test]
    fn less_is_stricter_and_kinds_cannot_be_compared() {
        for (own, other, within) in [
            (Off, Off, true),
            (Dollars(5.0), Off, true),
            (Tokens(5), Off, true),
            (Dollars(5.0), Dollars(5.0), true),
            (Dollars(6.0), Dollars(5.0), false),
            (Tokens(4), Tokens(5), true),
            (Tokens(6), Tokens(5), false),
            (Tokens(1), Dollars(5.0), false),
            (Off, Dollars(5.0), false),
        ] {
            assert_eq!(own.is_within(other), within, "{own} within {other}");
        }
    }
}
