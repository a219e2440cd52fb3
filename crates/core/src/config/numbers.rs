//! Settings that are numbers: shares, counts, lengths of time, with the ranges in which they must lie.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::CONTEXT_LIMIT;
use crate::config::setting::{SettingValue, Warning};

/// The numbers that a value may be, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Range {
    /// The smallest number.
    pub least: f64,
    /// The largest number.
    pub most: f64,
    /// Whether fractions are refused.
    pub is_whole: bool,
}

impl Range {
    /// Every number that is not negative.
    pub(super) const ANY: Self = Self::new(0.0, f64::MAX);

    /// Every share of a whole that a limit may be.
    const SHARES: Self = Self::new(0.01, 1.0);

    /// Returns the range from `least` to `most`.
    pub(super) const fn new(least: f64, most: f64) -> Self {
        Self { least, most, is_whole: false }
    }

    /// Returns the range of the whole numbers from `least` to `most`.
    pub(super) const fn whole(least: u64, most: u64) -> Self {
        Self { least: least as f64, most: most as f64, is_whole: true }
    }

    /// Returns whether `number` lies in it.
    pub fn contains(&self, number: f64) -> bool {
        (self.least..=self.most).contains(&number) && (!self.is_whole || number.fract() == 0.0)
    }

    fn schema(&self) -> Value {
        let mut schema = json!({
            "type": if self.is_whole { "integer" } else { "number" },
            "minimum": whole_or_fraction(self.least),
        });
        if self.most < f64::MAX {
            schema["maximum"] = whole_or_fraction(self.most);
        }
        schema
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = whole_or_fraction(self.least);
        match self.most < f64::MAX {
            true => write!(f, "{least} to {}", whole_or_fraction(self.most)),
            false => write!(f, "{least} or more"),
        }
    }
}

/// Returns the JSON Schema of a number in `range`, which may also be written as a text.
fn number_schema(range: Range) -> Value {
    let digits = if range.is_whole { "^[0-9]+([.]0+)?$" } else { "^[0-9]+([.][0-9]+)?$" };
    json!({ "oneOf": [range.schema(), { "type": "string", "pattern": digits }] })
}

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// `off` is no share, and so is 0.
impl SettingValue for Option<Share> {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        if json.as_str().is_some_and(|text| text.trim() == OFF) {
            return Some(None);
        }
        let share = number(json).filter(|share| *share <= 1.0)?;
        Some((share > 0.0).then_some(Share(share)))
    }

    fn wanted(json: &Value, _: Range) -> String {
        format!("a share from 0 to 1, or \"{OFF}\"{}", percent_hint(json))
    }

    fn kind(_: Range) -> Value {
        json!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "const": OFF }] })
    }

    fn written(&self) -> Value {
        self.map_or_else(|| json!(OFF), |Share(share)| whole_or_fraction(share))
    }
}

/// The texts that switch off what a number switches on, and on without one.
const OFF: &str = "off";
const ON: &str = "on";

/// One limit or several, each a share of a whole up to 1, and a number above; or `off`.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextLimits {
    /// Whether a session is continued at the limits.
    pub is_on: bool,
    /// The limits; of `off`, those that `off` replaces, or else those of `on`.
    pub limits: Vec<f64>,
}

impl ContextLimits {
    /// Returns the value `off`.
    pub fn off() -> Self {
        Self { is_on: false, limits: vec![CONTEXT_LIMIT] }
    }
}

impl SettingValue for ContextLimits {
    /// `range` is for the numbers above 1; shares have a range of their own.
    fn parse(json: &Value, range: Range) -> Option<Self> {
        let limits = match json {
            Value::Array(items) => items.iter().map(|item| limit(item, range)).collect::<Option<Vec<f64>>>()?,
            single => vec![limit(single, range)?],
        };
        (!limits.is_empty()).then_some(Self { is_on: true, limits })
    }

    fn wanted(json: &Value, range: Range) -> String {
        let bad = match json {
            Value::Array(items) => items.iter().find(|item| limit(item, range).is_none()),
            single => Some(single),
        };
        let hint = bad.map(percent_hint).unwrap_or_default();
        format!("on, off, a share from {}, a number from {range}, or a list of such{hint}", Range::SHARES)
    }

    fn kind(range: Range) -> Value {
        let limit = json!({ "anyOf": [Range::SHARES.schema(), range.schema()] });
        json!({ "oneOf": [{ "enum": [ON, OFF] }, limit, { "type": "array", "items": limit, "minItems": 1 }] })
    }

    fn written(&self) -> Value {
        match self.limits.as_slice() {
            _ if !self.is_on => json!(OFF),
            [single] => whole_or_fraction(*single),
            several => several.iter().copied().map(whole_or_fraction).collect(),
        }
    }

    fn read_over(json: &Value, range: Range, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        match json.as_str().map(str::trim) {
            Some(OFF) => Self { is_on: false, ..default },
            Some(ON) => Self { is_on: true, ..Self::off() },
            Some(_) | None => Self::parse(json, range).unwrap_or_else(|| {
                warnings.push(Warning::value(path, json, &Self::wanted(json, range), &default.written()));
                default
            }),
        }
    }
}

fn limit(json: &Value, range: Range) -> Option<f64> {
    number(json).filter(|limit| Range::SHARES.contains(*limit) || (*limit > 1.0 && range.contains(*limit)))
}

/// Returns the share that somebody who wrote a percentage probably meant.
fn percent_hint(json: &Value) -> String {
    match number(json) {
        Some(percent) if percent > 1.0 && percent <= 100.0 => {
            format!(" (did you mean {}?)", whole_or_fraction(percent / 100.0))
        }
        Some(_) | None => String::new(),
    }
}

/// Returns a finite JSON number that is not negative, or a string that holds one.
fn number(json: &Value) -> Option<f64> {
    let number = match json {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn whole_or_fraction(number: f64) -> Value {
    if number.fract() == 0.0 && number < 9e15 { json!(number as u64) } else { json!(number) }
}

// Settings that are whole numbers, such as a count or a port, with the range of each type.

/// A number of things, such as tool calls or tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A TCP port. 0 stands for any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port(pub u16);

/// Makes numbers values of the configuration: the range of a type, how a number becomes one, and how it is written.
macro_rules! numbers {
    ($($name:ident: $range:expr, $make:expr, $write:expr;)*) => { $(
        impl SettingValue for $name {
            const RANGE: Option<Range> = Some($range);

            fn parse(json: &Value, range: Range) -> Option<Self> {
                number(json).filter(|number| range.contains(*number)).map($make)
            }

            fn wanted(_: &Value, range: Range) -> String {
                format!("{} from {range}", if range.is_whole { "a whole number" } else { "a number" })
            }

            fn kind(range: Range) -> Value {
                number_schema(range)
            }

            fn written(&self) -> Value {
                $write(self.0)
            }
        }
    )* };
}

numbers! {
    // The upper end is high enough to mean "never".
    Count: Range::whole(0, 1_000_000_000_000), |number| Self(number as u64), Value::from;
    Port: Range::whole(0, u16::MAX as u64), |number| Self(number as u16), Value::from;
    Seconds: Range::new(0.0, 1e9), Self, whole_or_fraction;
    Days: Range::new(0.0, 36_500.0), Self, whole_or_fraction;
}

// Settings that are lengths of time, each in the unit that its key names.

/// Declares a length of time: its type, the name of its unit, and the milliseconds in a unit.
///
/// The number is kept as it was written, so that it is printed like that. It is never negative, and always finite.
macro_rules! durations {
    ($($name:ident, $unit:literal, $millis:literal;)*) => { $(
        #[doc = concat!("A length of time in ", $unit, ", which may have a fraction.")]
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("Returns `number` ", $unit, ". For a fraction, use `From<Duration>`.")]
            pub const fn new(number: u32) -> Self {
                Self(number as f64)
            }

            #[doc = concat!("Returns the number of ", $unit, ".")]
            pub const fn get(self) -> f64 {
                self.0
            }

            /// Returns the time in milliseconds, without a fraction of one.
            pub const fn as_millis(self) -> u64 {
                (self.0 * $millis) as u64
            }

            /// Returns the time, in milliseconds precision.
            pub const fn as_duration(self) -> Duration {
                Duration::from_millis(self.as_millis())
            }
        }

        impl From<Duration> for $name {
            fn from(duration: Duration) -> Self {
                Self(duration.as_secs_f64() * 1000.0 / $millis)
            }
        }
    )* };
}

durations! {
    Seconds, "seconds", 1_000.0;
    Days, "days", 86_400_000.0;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Range, number, percent_hint};

    #[test]
    fn a_range_without_an_end_has_no_maximum() {
        assert_eq!(Range::ANY.to_string(), "0 or more");
        assert_eq!(Range::ANY.schema().get("maximum"), None);
        let share = Range::new(0.0, 1.0);
        assert_eq!((share.to_string().as_str(), &share.schema()["maximum"]), ("0 to 1", &json!(1)));
    }

    #[test]
    fn a_percentage_hints_at_its_share() {
        let hints =
            [json!(75), json!("100"), json!(1), json!(0.5), json!(101), Value::Null].map(|json| percent_hint(&json));
        assert_eq!(hints, [" (did you mean 0.75?)", " (did you mean 1?)", "", "", "", ""]);
    }

    #[test]
    fn a_number_is_finite_and_not_negative() {
        assert_eq!([json!(0), json!(" 1.5 ")].map(|json| number(&json)), [Some(0.0), Some(1.5)]);
        for json in [json!(-1), json!("-0.5"), json!("inf"), json!("NaN"), json!("x"), json!(true)] {
            assert_eq!(number(&json), None, "{json}");
        }
    }
}
