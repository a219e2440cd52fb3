//! Checks of the settings, and of other programs that do the same jobs. Pure.

use longhaul_core::config::Warning;

use super::facts::Facts;
use super::{Finding, Peer};

/// Checks the settings.
pub(super) fn config(facts: &Facts) -> Vec<Finding> {
    let check = "config";
    match &facts.config {
        Err(why) => {
            let what = format!("nothing is recorded and nothing is typed: {why}");
            vec![Finding::broken(check, what, "correct the file, make it readable, or remove it")]
        }
        Ok(warnings) if warnings.is_empty() => vec![Finding::ok(check, "no problems")],
        Ok(warnings) => {
            let fix = "correct the value; `longhaul config schema` lists the allowed values";
            let finding = |warning: &Warning| Finding::warning(check, warning.to_string(), fix);
            warnings.iter().map(finding).collect()
        }
    }
}

/// Reports other programs that do the same jobs.
pub(super) fn peers(facts: &Facts) -> Vec<Finding> {
    let conflict = |peer: &Peer| {
        let what = format!("{} does the same as Longhaul's {}: {}", peer.name, peer.job, peer.place);
        Finding::warning("conflicts", what, format!("{}; or set {}.enabled to false", peer.fix, peer.job))
    };
    facts.peers.iter().map(conflict).collect()
}
