//! The sections about models: which one writes summaries, and how it is called (`memory.model`), where vectors come from
//! (`memory.embeddings`), and what models cost and hold (`models`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::config::numbers::Range;
use crate::config::setting::{SettingValue, Warning};
use crate::named;

named! {
    /// How a model is called.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Via {
        /// By running `claude -p`.
        Claude = "claude",
        /// Through the Anthropic API, with the user's key.
        Api = "api",
    }
}

/// The model that writes summaries, and how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryModel {
    /// How it is called.
    pub via: Via,
    /// Which one it is.
    pub model: ModelId,
}

impl SettingValue for Option<SummaryModel> {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        let text = json.as_str()?.trim();
        let (via, model) = text.split_once('#').unwrap_or((text, ""));
        let model = ModelId::new(model)?;
        match Via::from_name(via) {
            Some(via) => Some(Some(SummaryModel { via, model })),
            None => (via == "off" && model.get().is_none()).then_some(None),
        }
    }

    fn wanted(_: &Value, _: Range) -> String {
        "\"off\", \"claude\" or \"api\", or one of these two with a model such as \"claude#haiku\"".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "pattern": r"^(off|(claude|api)(#[A-Za-z0-9._:/@\[\]][A-Za-z0-9._:/@\[\]-]*)?)$" })
    }

    fn written(&self) -> Value {
        match self {
            None => json!("off"),
            Some(SummaryModel { via, model }) => match model.get() {
                Some(model) => json!(format!("{}#{model}", via.as_str())),
                None => json!(via.as_str()),
            },
        }
    }
}

/// A model's id; empty for the default model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelId(String);

/// The maximum length of an id, in bytes.
const MAX_ID: usize = 200;

impl ModelId {
    /// Returns `text` as an id, or `None` if it is not a valid one.
    ///
    /// An id becomes an argument of a program, so it must not look like an option.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-._:/@[]".contains(c);
        let usable = text.len() <= MAX_ID && !text.starts_with('-') && text.chars().all(is_fit);
        usable.then(|| Self(text.to_owned()))
    }

    /// Returns the id, or `None` if none is set.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

// The setting `models`: the user's own prices of models, and the sizes of their context windows.

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

/// What is said of a model.
const WANTED: &str = "an object with `window`, a number of tokens, or the prices `input` and `output`, and perhaps \
    `cache_read`, `cache_write_5m` and `cache_write_1h`, in dollars per million tokens";

impl ModelPrice {
    const KEYS: [&str; 5] = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"];

    /// Returns a price with the usual prices of the cache.
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write_5m: None, cache_write_1h: None }
    }

    /// Reads the price of a model; `None` if nothing is said of one.
    fn parse(fields: &Map<String, Value>) -> Option<Self> {
        let price = |key: &str| fields.get(key).and_then(Value::as_f64);
        Some(Self {
            input: price("input")?,
            output: price("output")?,
            cache_read: price("cache_read"),
            cache_write_5m: price("cache_write_5m"),
            cache_write_1h: price("cache_write_1h"),
        })
    }

    fn fields(self) -> impl Iterator<Item = (String, Value)> {
        let values = [Some(self.input), Some(self.output), self.cache_read, self.cache_write_5m, self.cache_write_1h];
        Self::KEYS.into_iter().zip(values).filter_map(|(key, value)| Some((key.to_owned(), json!(value?))))
    }
}

/// What the user says of models, by a model's id or the beginning of one; it replaces what is built in.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Models {
    /// The sizes of their context windows, in tokens.
    pub windows: BTreeMap<String, u64>,
    /// Their prices.
    pub prices: BTreeMap<String, ModelPrice>,
}

impl Models {
    /// Adds what is said of `model`; `None` if it cannot be used.
    fn add(&mut self, model: &str, json: &Value) -> Option<()> {
        let fields = json.as_object()?;
        let is_fit = |(key, value): (&String, &Value)| match key.as_str() {
            "window" => value.as_u64().is_some_and(|tokens| tokens > 0),
            key if ModelPrice::KEYS.contains(&key) => value.as_f64().is_some_and(|price| (0.0..=MAX).contains(&price)),
            _ => false,
        };
        let (window, price) = (fields.get("window").and_then(Value::as_u64), ModelPrice::parse(fields));
        let is_whole = price.is_some() || fields.len() == usize::from(window.is_some());
        if fields.is_empty() || !is_whole || !fields.iter().all(is_fit) {
            return None;
        }
        self.windows.extend(window.map(|window| (model.to_owned(), window)));
        self.prices.extend(price.map(|price| (model.to_owned(), price)));
        Some(())
    }
}

impl SettingValue for Models {
    fn parse(_: &Value, _: Range) -> Option<Self> {
        None
    }

    fn wanted(_: &Value, _: Range) -> String {
        "an object of model ids".to_owned()
    }

    fn read_over(json: &Value, range: Range, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let Value::Object(entries) = json else {
            warnings.push(Warning::value(path, json, &Self::wanted(json, range), &default.written()));
            return default;
        };
        let mut models = Self::default();
        for (model, said) in entries {
            if models.add(model, said).is_none() {
                warnings.push(Warning::left_out(&format!("{path}.{model}"), said, WANTED));
            }
        }
        models
    }

    fn kind(_: Range) -> Value {
        let price = json!({ "type": "number", "minimum": 0, "maximum": MAX });
        let mut properties: Map<_, _> =
            ModelPrice::KEYS.map(|key| (key.to_owned(), price.clone())).into_iter().collect();
        properties.insert("window".to_owned(), json!({ "type": "integer", "minimum": 1 }));
        let others = ModelPrice::KEYS.map(|key| (key.to_owned(), json!(["input", "output"])));
        json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": properties,
                "dependentRequired": others.into_iter().collect::<Map<_, _>>(),
                "minProperties": 1,
                "additionalProperties": false,
            },
        })
    }

    fn written(&self) -> Value {
        let windows = self.windows.iter().map(|(model, tokens)| (model, vec![("window".to_owned(), json!(tokens))]));
        let prices = self.prices.iter().map(|(model, price)| (model, price.fields().collect()));
        let mut models = Map::new();
        for (model, fields) in windows.chain(prices) {
            let said = models.entry(model.clone()).or_insert_with(|| json!({}));
            said.as_object_mut().expect("every value is an object").extend(fields);
        }
        models.into()
    }
}

// Addresses and files, and the setting `memory.embeddings`: where vectors come from.

/// The longest address.
const MAX_URL: usize = 2_000;

/// An `http://` or `https://` address; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Url(String);

impl Url {
    /// Returns `text` as an address, or `None` where it is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let has_scheme = text.starts_with("http://") || text.starts_with("https://");
        let is_plain = text.len() <= MAX_URL && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        (text.is_empty() || (has_scheme && is_plain)).then(|| Self(text.to_owned()))
    }

    /// Returns the address; `None` where none is set.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl SettingValue for Url {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::new(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "an address that begins with http:// or https://".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "pattern": r"^(https?://\S+)?$", "maxLength": MAX_URL })
    }

    fn written(&self) -> Value {
        json!(self.0)
    }
}

/// Where the vectors of the search by meaning come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorSource {
    /// There are none: only words are compared.
    Off,
    /// The model in the bundle.
    Bundle,
    /// A model file, by its path, absolute or below the user's home as `~/…`.
    File(String),
    /// A model of a service, and while that does not answer, the model in the bundle.
    Endpoint(Url, ModelId),
}

impl VectorSource {
    fn of_text(text: &str) -> Option<Self> {
        match text.trim() {
            "off" => Some(Self::Off),
            "bundle" => Some(Self::Bundle),
            path if path.starts_with('/') || path.starts_with("~/") => Some(Self::File(path.to_owned())),
            text => {
                let (address, model) = text.rsplit_once('#')?;
                let (url, model) = (Url::new(address)?, ModelId::new(model)?);
                (url.get().is_some() && model.get().is_some()).then_some(Self::Endpoint(url, model))
            }
        }
    }

    /// Returns the model file to use instead of the one in the bundle; `None` if it is below a home that is not known.
    pub fn file(&self, home: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::File(path) => match path.strip_prefix("~/") {
                Some(below) => Some(home?.join(below)),
                None => Some(PathBuf::from(path)),
            },
            Self::Off | Self::Bundle | Self::Endpoint(..) => None,
        }
    }

    /// Returns the address of the service, and the name of its model.
    pub fn endpoint(&self) -> Option<(&str, &str)> {
        match self {
            Self::Endpoint(url, model) => url.get().zip(model.get()),
            Self::Off | Self::Bundle | Self::File(_) => None,
        }
    }
}

impl SettingValue for VectorSource {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::of_text(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "\"bundle\", \"off\", a path that begins with / or ~/, or an address such as http://127.0.0.1:11434#model"
            .to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "pattern": r"^(off|bundle|~?/.*|https?://\S+#\S+)$", "maxLength": MAX_URL })
    }

    fn written(&self) -> Value {
        match self {
            Self::Off => json!("off"),
            Self::Bundle => json!("bundle"),
            Self::File(path) => json!(path),
            Self::Endpoint(Url(url), ModelId(model)) => json!(format!("{url}#{model}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::json;

    use crate::config::{ModelId, Setting};

    use super::{SummaryModel, Url, VectorSource, Via};

    #[test]
    fn what_is_empty_is_not_set() {
        assert_eq!(Url::new("").unwrap().get(), None);
        assert_eq!(Url::new(" https://x.example ").unwrap().get(), Some("https://x.example"));
        assert_eq!(ModelId::new("").unwrap().get(), None);
        assert_eq!(ModelId::new("opus").unwrap().get(), Some("opus"));
    }

    #[test]
    fn a_summarizer_is_a_way_and_perhaps_a_model() {
        for (text, expected) in [
            ("off", Some(None)),
            ("claude", Some(Some((Via::Claude, None)))),
            ("api#claude-haiku-5-5", Some(Some((Via::Api, Some("claude-haiku-5-5"))))),
            ("off#haiku", None),
            ("haiku", None),
            ("claude#--model", None),
        ] {
            let mut warnings = Vec::new();
            let read = Option::<SummaryModel>::read(None, &json!(text), None, "", &mut warnings);
            assert_eq!(warnings.is_empty(), expected.is_some(), "{text}");
            let Some(expected) = expected else { continue };
            assert_eq!(read.as_ref().map(|read| (read.via, read.model.get())), expected, "{text}");
            assert_eq!(read.to_json(), text);
        }
    }

    #[test]
    fn vectors_come_from_the_bundle_a_file_or_an_endpoint() {
        let home = Some(Path::new("/home/me"));
        for (text, file, endpoint) in [
            ("off", None, None),
            ("bundle", None, None),
            ("/a/model", Some("/a/model"), None),
            ("~/model", Some("/home/me/model"), None),
            ("http://127.0.0.1:11434#nomic", None, Some(("http://127.0.0.1:11434", "nomic"))),
        ] {
            let source = VectorSource::of_text(text).unwrap();
            assert_eq!((source.file(home), source.endpoint()), (file.map(PathBuf::from), endpoint), "{text}");
            assert_eq!(source.to_json(), text);
        }
        assert_eq!(VectorSource::of_text("~/model").unwrap().file(None), None);
        for text in ["", "on", "model", "ftp://x#y", "http://127.0.0.1:11434", "http://x#", "#y"] {
            assert_eq!(VectorSource::of_text(text), None, "{text}");
        }
    }
}
