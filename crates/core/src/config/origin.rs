//! Where each value in force comes from. Pure.

use serde_json::Value;

use super::{Config, ProjectReading, Setting, Trust, Verdict, Warning};
use crate::json_text::without_byte_order_mark;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody has set it.
    Default,
    /// The user's configuration file.
    User,
    /// The project's `.claude/longhaul.json`.
    Project,
}

impl Origin {
    /// Returns its name, as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A value in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// Its key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong with what the user's file sets it to.
    pub problem: Option<String>,
    /// What the project's file sets it to without effect, and why that has none.
    pub refused: Option<(Value, String)>,
}

/// A configuration with the origin of each of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The configuration in force.
    pub config: Config,
    /// Each of its values.
    pub values: Vec<Explained>,
    /// What in the user's file could not be used.
    pub warnings: Vec<Warning>,
    /// The project's file, where there is one.
    pub project: Option<ProjectReading>,
}

/// Explains a configuration by the texts that it is made of, each `None` where there is no such file.
pub fn explain(user: Option<&str>, project: Option<(&str, Trust)>) -> Explanation {
    let (own, warnings) = user.map_or_else(Default::default, Config::from_json);
    let file: Value =
        user.and_then(|text| serde_json::from_str(without_byte_order_mark(text)).ok()).unwrap_or_default();
    let project = project.map(|(text, trust)| own.with_project(text, trust));
    let config = project.as_ref().map_or_else(|| own.clone(), |project| project.config.clone());
    let in_force = config.to_json();
    let values = Config::keys().into_iter().map(|key| {
        let pointer = format!("/{}", key.path.replace('.', "/"));
        let asked = project.iter().flat_map(|project| &project.values).find(|value| value.key == key.path);
        let problem = warnings.iter().find(|warning| warning.key == key.path).map(|warning| warning.problem.clone());
        let refused = asked.and_then(|asked| match &asked.verdict {
            Verdict::InForce => None,
            Verdict::NeedsTrust(why) | Verdict::Refused(why) => Some((asked.asked.clone(), why.clone())),
        });
        let origin = match (asked, file.pointer(&pointer)) {
            (Some(asked), _) if asked.verdict == Verdict::InForce => Origin::Project,
            (_, Some(_)) if problem.is_none() => Origin::User,
            _ => Origin::Default,
        };
        let value = in_force.pointer(&pointer).cloned().unwrap_or_default();
        Explained { key: key.path, value, origin, problem, refused }
    });
    Explanation { values: values.collect(), config, warnings, project }
}
