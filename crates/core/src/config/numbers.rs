//! The ranges in which numbers of the configuration must lie, and shares of a whole.

use std::fmt;

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

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
pub(super) fn read_number<T: Setting>(
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
pub(super) fn number_schema(range: Range, default: &impl Setting, about: &str) -> Value {
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

impl Setting for Share {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        number(json).filter(|share| *share <= 1.0).map(Self).unwrap_or_else(|| {
            let wanted = format!("a share from 0 to 1{}", percent_hint(json));
            warnings.push(Warning::value(path, json, &wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1, "description": about, "default": self.to_json() })
    }

    fn to_json(&self) -> Value {
        whole_or_fraction(self.0)
    }
}

/// One limit or several, each a share of a whole up to 1, and a number above.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits(pub Vec<f64>);

impl Setting for Limits {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read_in(Range::ANY, json, default, path, warnings)
    }

    /// `range` is for the numbers above 1; shares have a range of their own.
    fn read_in(range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let is_limit = |limit: &f64| Range::SHARES.contains(*limit) || (*limit > 1.0 && range.contains(*limit));
        let limit = |json: &Value| number(json).filter(is_limit);
        let (limits, bad) = match json {
            Value::Array(items) => {
                (items.iter().map(limit).collect::<Option<Vec<f64>>>(), items.iter().find(|item| limit(item).is_none()))
            }
            single => (limit(single).map(|limit| vec![limit]), Some(single)),
        };
        limits.filter(|limits| !limits.is_empty()).map(Self).unwrap_or_else(|| {
            let hint = bad.map(percent_hint).unwrap_or_default();
            let wanted = format!("a share from {}, a number from {range}, or a list of such{hint}", Range::SHARES);
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
            "oneOf": [limit, { "type": "array", "items": limit, "minItems": 1 }],
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        match self.0.as_slice() {
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

pub(super) fn whole_or_fraction(number: f64) -> Value {
    if number.fract() == 0.0 && number < 9e15 { json!(number as u64) } else { json!(number) }
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
