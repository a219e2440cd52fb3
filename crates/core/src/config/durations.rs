//! Settings that are lengths of time, each in the unit that its key names.

use std::time::Duration;

use serde_json::Value;

use super::numbers::{Range, number_schema, read_number, whole_or_fraction};
use super::setting::{Setting, Warning};

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
    Milliseconds, "milliseconds", 1.0, 60_000.0;
    Seconds, "seconds", 1_000.0, 1e9;
    Minutes, "minutes", 60_000.0, 525_600.0;
    Days, "days", 86_400_000.0, 36_500.0;
}
