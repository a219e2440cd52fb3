//! Settings that are whole numbers, such as a count or a port, with the range of each type.

use serde_json::{Value, json};

use super::numbers::{Range, number_schema, read_number};
use super::setting::{Setting, Warning};

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
