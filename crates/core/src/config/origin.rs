//! Where each value in force comes from. Pure.

use serde_json::Value;

use super::{Config, ProjectReading, Setting, Trust, Verdict, Warning};
use crate::json_text::without_byte_order_mark;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is not set: the default is in force.
    Default,
    /// The user's configuration file.
    User,
    /// The project's `.claude/longhaul.json`.
    Project,
}

impl Origin {
    /// Returns its name, as `longhaul config show` prints it.
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
#[non_exhaustive]
pub struct Explained {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong with the value in the user's file.
    pub problem: Option<String>,
    /// The value in the project's file that is not in force, and the reason.
    pub refused: Option<(Value, String)>,
}

/// A configuration with the origin of each of its values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The configuration in force.
    pub config: Config,
    /// Each of its values.
    pub values: Vec<Explained>,
    /// What is wrong with the user's file.
    pub warnings: Vec<Warning>,
    /// The project's file, if there is one.
    pub project: Option<ProjectReading>,
}

/// Returns the configuration that the given files make, with the origin of each value. A file that does not exist is `None`.
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
