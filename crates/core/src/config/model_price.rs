//! The setting `cost.prices`: the user's own prices of models.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::setting::{Setting, Warning};

/// The highest price. It keeps the sum of every possible transcript in range.
const MAX: f64 = 1_000_000.0;

/// The prices of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ModelPrice {
    /// Input that is not in the cache.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input that is read from the cache; if it is missing, a tenth of `input`.
    pub cache_read: Option<f64>,
    /// Input that is written to the cache for five minutes; if it is missing, 1.25 times `input`.
    pub cache_write_5m: Option<f64>,
    /// Input that is written to the cache for an hour; if it is missing, twice `input`.
    pub cache_write_1h: Option<f64>,
}

/// What a price must be.
const WANTED: &str = "an object with the prices `input` and `output`, and perhaps `cache_read`, `cache_write_5m` and \
    `cache_write_1h`, in dollars per million tokens";

impl ModelPrice {
    const KEYS: [&str; 5] = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"];

    /// Returns a price with the usual prices of the cache.
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write_5m: None, cache_write_1h: None }
    }

    fn parse(json: &Value) -> Option<Self> {
        let fields = json.as_object()?;
        let is_known = |key: &String| Self::KEYS.contains(&key.as_str());
        let is_price = |price: &Value| price.as_f64().is_some_and(|price| (0.0..=MAX).contains(&price));
        if !fields.keys().all(is_known) || !fields.values().all(is_price) {
            return None;
        }
        let price = |key: &str| fields.get(key).and_then(Value::as_f64);
        Some(Self {
            input: price("input")?,
            output: price("output")?,
            cache_read: price("cache_read"),
            cache_write_5m: price("cache_write_5m"),
            cache_write_1h: price("cache_write_1h"),
        })
    }

    fn to_json(self) -> Value {
        let values = [Some(self.input), Some(self.output), self.cache_read, self.cache_write_5m, self.cache_write_1h];
        let pairs = Self::KEYS.into_iter().zip(values);
        pairs.filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))).collect::<Map<_, _>>().into()
    }
}

impl Setting for BTreeMap<String, ModelPrice> {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let Value::Object(entries) = json else {
            warnings.push(Warning::value(path, json, "an object of model id and prices", &default));
            return default;
        };
        let mut prices = Self::new();
        for (model, price) in entries {
            match ModelPrice::parse(price) {
                Some(price) => drop(prices.insert(model.clone(), price)),
                None => warnings.push(Warning::left_out(&format!("{path}.{model}"), price, WANTED)),
            }
        }
        prices
    }

    fn schema(&self, about: &str) -> Value {
        let price = json!({ "type": "number", "minimum": 0, "maximum": MAX });
        let properties: Map<_, _> = ModelPrice::KEYS.iter().map(|key| ((*key).to_owned(), price.clone())).collect();
        json!({
            "type": "object",
            "description": about,
            "additionalProperties": {
                "type": "object",
                "properties": properties,
                "required": ["input", "output"],
                "additionalProperties": false,
            },
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(model, price)| (model.clone(), price.to_json())).collect::<Map<_, _>>().into()
    }
}
