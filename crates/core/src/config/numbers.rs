//! Settings that are numbers: shares, counts, lengths of time, with the ranges in which they must lie.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::setting::{Setting, Warning};

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
    const ANY: Self = Self::new(0.0, f64::MAX);

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

/// Reads a number in `range`, or a text that holds one. Falls back to `default` with a warning that names the range.
fn read_number<T: Setting>(
    range: Range,
    json: &Value,
    default: T,
    path: &str,
    warnings: &mut Vec<Warning>,
    make: impl FnOnce(f64) -> T,
) -> T {
    match number(json).filter(|number| range.contains(*number)) {
        Some(number) => make(number),
        None => {
            let kind = if range.is_whole { "a whole number" } else { "a number" };
            warnings.push(Warning::value(path, json, &format!("{kind} from {range}"), &default));
            default
        }
    }
}

/// Returns the JSON Schema of a number in `range`, which may also be written as a text.
fn number_schema(range: Range, default: &impl Setting, about: &str) -> Value {
    let digits = if range.is_whole { "^[0-9]+([.]0+)?$" } else { "^[0-9]+([.][0-9]+)?$" };
    json!({
        "description": about,
        "oneOf": [range.schema(), { "type": "string", "pattern": digits }],
        "default": default.to_json(),
    })
}

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// `off` is no share, and so is 0.
impl Setting for Option<Share> {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        if json.as_str().is_some_and(|text| text.trim() == OFF) {
            return None;
        }
        let share = number(json).filter(|share| *share <= 1.0);
        share.map(|share| (share > 0.0).then_some(Share(share))).unwrap_or_else(|| {
            let wanted = format!("a share from 0 to 1, or \"{OFF}\"{}", percent_hint(json));
            warnings.push(Warning::value(path, json, &wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "description": about,
            "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "const": OFF }],
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
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
        Self { is_on: false, limits: vec![0.75] }
    }
}

impl Setting for ContextLimits {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read_in(Range::ANY, json, default, path, warnings)
    }

    /// `range` is for the numbers above 1; shares have a range of their own.
    fn read_in(range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        match json.as_str().map(str::trim) {
            Some(OFF) => return Self { is_on: false, ..default },
            Some(ON) => return Self { is_on: true, ..Self::off() },
            Some(_) | None => {}
        }
        let is_limit = |limit: &f64| Range::SHARES.contains(*limit) || (*limit > 1.0 && range.contains(*limit));
        let limit = |json: &Value| number(json).filter(is_limit);
        let (limits, bad) = match json {
            Value::Array(items) => {
                (items.iter().map(limit).collect::<Option<Vec<f64>>>(), items.iter().find(|item| limit(item).is_none()))
            }
            single => (limit(single).map(|limit| vec![limit]), Some(single)),
        };
        let limits = limits.filter(|limits| !limits.is_empty());
        limits.map(|limits| Self { is_on: true, limits }).unwrap_or_else(|| {
            let hint = bad.map(percent_hint).unwrap_or_default();
            let wanted =
                format!("on, off, a share from {}, a number from {range}, or a list of such{hint}", Range::SHARES);
            warnings.push(Warning::value(path, json, &wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        self.schema_in(Range::ANY, about)
    }

    fn schema_in(&self, range: Range, about: &str) -> Value {
        let limit = json!({ "anyOf": [Range::SHARES.schema(), range.schema()] });
        json!({
            "description": about,
            "oneOf": [{ "enum": [ON, OFF] }, limit, { "type": "array", "items": limit, "minItems": 1 }],
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        match self.limits.as_slice() {
            _ if !self.is_on => json!(OFF),
            [single] => whole_or_fraction(*single),
            several => several.iter().copied().map(whole_or_fraction).collect(),
        }
    }
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

impl Count {
    /// The range of a count. The upper end is high enough to mean "never".
    const ANY: Range = Range::whole(0, 1_000_000_000_000);
}

impl Setting for Count {
    const RANGE: Option<Range> = Some(Self::ANY);

    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read_in(Self::ANY, json, default, path, warnings)
    }

    fn read_in(range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        read_number(range, json, default, path, warnings, |number| Self(number as u64))
    }

    fn schema(&self, about: &str) -> Value {
        self.schema_in(Self::ANY, about)
    }

    fn schema_in(&self, range: Range, about: &str) -> Value {
        number_schema(range, self, about)
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

/// A TCP port. 0 stands for any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port(pub u16);

impl Port {
    const ANY: Range = Range::whole(0, u16::MAX as u64);
}

impl Setting for Port {
    const RANGE: Option<Range> = Some(Self::ANY);

    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        read_number(Self::ANY, json, default, path, warnings, |number| Self(number as u16))
    }

    fn schema(&self, about: &str) -> Value {
        number_schema(Self::ANY, self, about)
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

// Settings that are lengths of time, each in the unit that its key names.

/// Declares a length of time: its type, the name of its unit, the milliseconds in a unit, and its largest number of units.
///
/// The number is kept as it was written, so that it is printed like that. It is never negative, and always finite.
macro_rules! durations {
    ($($name:ident, $unit:literal, $millis:literal, $most:literal;)*) => { $(
        #[doc = concat!("A length of time in ", $unit, ", which may have a fraction.")]
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            const ANY: Range = Range::new(0.0, $most);

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

        impl Setting for $name {
            const RANGE: Option<Range> = Some(Self::ANY);

            fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
                Self::read_in(Self::ANY, json, default, path, warnings)
            }

            fn read_in(range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
                read_number(range, json, default, path, warnings, Self)
            }

            fn schema(&self, about: &str) -> Value {
                self.schema_in(Self::ANY, about)
            }

            fn schema_in(&self, range: Range, about: &str) -> Value {
                number_schema(range, self, about)
            }

            fn to_json(&self) -> Value {
                whole_or_fraction(self.0)
            }
        }
    )* };
}

durations! {
    Seconds, "seconds", 1_000.0, 1e9;
    Days, "days", 86_400_000.0, 36_500.0;
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
