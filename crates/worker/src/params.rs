//! The query parameters of a request.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use axum::http::Uri;
use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_memory::Kind;
use longhaul_store::What;

use crate::response::Problem;

/// The query parameters of a request. If one is given twice, the last one counts. An empty one counts as missing.
#[derive(Debug, Default)]
pub(crate) struct Params {
    values: HashMap<String, String>,
}

/// Refuses an unknown parameter: if it were ignored, the client would misread the answer.
pub(crate) fn refuse_unknown(uri: &Uri, known: &[&str]) -> Result<(), Problem> {
    let mut names = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).map(|(name, _)| name);
    let Some(unknown) = names.find(|name| !known.contains(&name.as_ref())) else { return Ok(()) };
    let fix = match known {
        [] => "remove it: this path has no parameters".to_owned(),
        known => format!("use {}", known.join(", ")),
    };
    Err(Problem::unreadable(format!("there is no parameter {unknown:?}"), fix))
}

impl Params {
    /// Parses the parameters of an address.
    pub(crate) fn of(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let given = pairs.filter(|(_, value)| !value.is_empty());
        Self { values: given.map(|(name, value)| (name.into_owned(), value.into_owned())).collect() }
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns a required text.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Problem> {
        let missing = || Problem::unreadable(format!("{name} is missing"), format!("add ?{name}=…"));
        self.text(name).ok_or_else(missing)
    }

    /// Returns a whole number within `range`, or `default`.
    pub(crate) fn number(&self, name: &str, range: RangeInclusive<i64>, default: i64) -> Result<i64, Problem> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let fix = format!("use a whole number from {} to {}", range.start(), range.end());
            Problem::unreadable(format!("{name} is {text:?}"), fix)
        })
    }

    /// Returns the wanted number of items.
    pub(crate) fn limit(&self, most: usize, default: usize) -> Result<usize, Problem> {
        let number = self.number("limit", 1..=most as i64, default as i64)?;
        Ok(usize::try_from(number).unwrap_or(default))
    }

    /// Returns a day.
    pub(crate) fn day(&self, name: &str) -> Result<Option<Date>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let date = Date::parse(text);
        date.map(Some).ok_or_else(|| Problem::unreadable(format!("{name} is {text:?}"), "write a day as 2026-01-31"))
    }

    /// Returns kinds that are separated by commas.
    pub(crate) fn kinds(&self) -> Result<Vec<Kind>, Problem> {
        self.list("kind", |name| Kind::from_name(&name.to_lowercase()), &Kind::ALL.map(Kind::as_str))
    }

    /// Returns types of records that are separated by commas. `prompt` and `prompts` are the same.
    pub(crate) fn types(&self) -> Result<Vec<What>, Problem> {
        self.list("type", What::from_name, &What::ALL.map(What::plural))
    }

    /// Returns a time and a number that are separated by a dash, the format of `next`.
    pub(crate) fn cursor(&self, name: &str) -> Result<Option<(Millis, i64)>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let parts = text.split_once('-').unwrap_or((text, "0"));
        match (parts.0.parse(), parts.1.parse()) {
            (Ok(at), Ok(id)) => Ok(Some((Millis(at), id))),
            _ => Err(Problem::unreadable(format!("{name} is {text:?}"), "use the value of `next`")),
        }
    }

    fn list<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, known: &[&str]) -> Result<Vec<T>, Problem> {
        let words = self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
        let unknown =
            |word: &str| Problem::unreadable(format!("{name} is {word:?}"), format!("use {}", known.join(", ")));
        words.map(|word| read(word).ok_or_else(|| unknown(word))).collect()
    }
}
