//! The section `sync`: the exchange of the memory with other machines.

use serde_json::{Value, json};

use super::numbers::Range;
use super::setting::{self, Key, Names, Setting, SettingValue, Warning, settings};

/// The longest address.
const MAX_ADDRESS: usize = 2_000;

settings! {
    /// The exchange of the memory with other machines.
    pub struct Sync {
        enabled: bool = true, "Exchange records automatically, once this machine has a circle (`longhaul sync init` or `join`); `longhaul sync now` works in any case";
        url: SyncAddress = SyncAddress::default(), "The address of the database or folder, `postgres://…` or `folder:PATH`; or a list of a program and its arguments that print it, such as `[\"pass\", \"show\", \"longhaul-url\"]`; if empty, the address that was given to `init` or `join`";
        key_command: Names = Names::default(), "A program and its arguments that print the key of the circle as words; if empty, the key is in `sync.key` beside this file";
        raw: bool = false, "Send raw tool input and output too, not only the records made from them";
    }
}

/// Where the address of an engine comes from. It may contain a password, which is neither printed nor in a warning.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum SyncAddress {
    /// It was given to `init` or `join`.
    #[default]
    Given,
    /// It is in the configuration.
    Here(String),
    /// A program prints it.
    Printed(Names),
}

impl std::fmt::Debug for SyncAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SyncAddress({})", self.to_json())
    }
}

impl SettingValue for SyncAddress {
    fn parse(json: &Value, range: Range) -> Option<Self> {
        if json.is_array() {
            return Names::parse(json, range).filter(|command| !command.0.is_empty()).map(Self::Printed);
        }
        let text = json.as_str()?.trim();
        let has_scheme = ["postgres://", "postgresql://", "folder:"].iter().any(|scheme| text.starts_with(scheme));
        match text {
            "" => Some(Self::Given),
            _ if text.len() > MAX_ADDRESS || text.contains(char::is_control) || !has_scheme => None,
            _ => Some(Self::Here(text.to_owned())),
        }
    }

    fn wanted(_: &Value, _: Range) -> String {
        "an address that begins with postgres:// or folder:, or a list of a program and its arguments".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "oneOf": [
            { "type": "string", "pattern": r"^((postgres(ql)?://|folder:).*)?$", "maxLength": MAX_ADDRESS },
            { "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1 },
        ] })
    }

    /// Does not show in a warning what may be a password.
    fn read_over(json: &Value, range: Range, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::parse(json, range).unwrap_or_else(|| {
            warnings.push(Warning::value(path, &json!("…"), &Self::wanted(json, range), &default.written()));
            default
        })
    }

    /// Leaves out what may be a password.
    fn written(&self) -> Value {
        match self {
            Self::Given => json!(""),
            Self::Here(address) => match address.split_once(':') {
                Some(("folder", _)) | None => json!(address),
                Some((scheme, _)) => json!(format!("{scheme}://…")),
            },
            Self::Printed(command) => command.written(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SyncAddress;
    use crate::config::{Config, Setting};

    #[test]
    fn the_password_of_an_address_is_never_printed() {
        let (config, warnings) = Config::from_json(r#"{"sync": {"url": "postgres://anna:hunter2@db/team"}}"#);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(config.sync.url, SyncAddress::Here("postgres://anna:hunter2@db/team".to_owned()));
        assert!(!format!("{config:?}{}", config.to_json()).contains("hunter2"));
        assert_eq!(format!("{:?}", config.sync.url), "SyncAddress(\"postgres://…\")");
        let (config, _) = Config::from_json(r#"{"sync": {"url": "folder:/mnt/stick"}}"#);
        assert_eq!(format!("{:?}", config.sync.url), "SyncAddress(\"folder:/mnt/stick\")");
        let (config, warnings) = Config::from_json(r#"{"sync": {"url": "postgres://db/a\u0007b"}}"#);
        assert_eq!((config.sync.url, warnings.len()), (SyncAddress::Given, 1));
        let (config, warnings) = Config::from_json(r#"{"sync": {"url": "mysql://anna:hunter2@db/team"}}"#);
        assert_eq!(config.sync.url, SyncAddress::Given);
        assert!(warnings[0].to_string().contains("postgres://") && !warnings[0].to_string().contains("hunter2"));
    }

    #[test]
    fn an_address_may_be_what_a_program_prints() {
        let (config, warnings) = Config::from_json(r#"{"sync": {"url": ["pass", "show", "x"]}}"#);
        assert_eq!((&config.sync.url.to_json(), warnings.len()), (&json!(["pass", "show", "x"]), 0));
        assert!(matches!(config.sync.url, SyncAddress::Printed(_)));
        for bad in [r#"["pass", 1]"#, "[]"] {
            let (config, warnings) = Config::from_json(&format!(r#"{{"sync": {{"url": {bad}}}}}"#));
            assert_eq!((config.sync.url, warnings.len()), (SyncAddress::Given, 1));
        }
    }
}
