//! Finds a key that a JSON object has twice: readers differ in which of its values counts.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// JSON in which no object has a key twice. Reading it is an error otherwise.
pub(super) struct WithoutRepeatedKeys;

impl<'de> Deserialize<'de> for WithoutRepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

/// Accepts values without members.
macro_rules! accept {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E: de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok(WithoutRepeatedKeys)
        }
    )*};
}

impl<'de> Visitor<'de> for Keys {
    type Value = WithoutRepeatedKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    accept!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(WithoutRepeatedKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<WithoutRepeatedKeys>()?.is_some() {}
        Ok(WithoutRepeatedKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            keys.insert(key);
            members.next_value::<WithoutRepeatedKeys>()?;
        }
        Ok(WithoutRepeatedKeys)
    }
}
