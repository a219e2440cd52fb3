mod attention;
mod decision;
mod message;
mod replay;
mod terminal_sequence;

use longhaul_core::Config;
use longhaul_core::config::Notify;

/// Returns the section `notify` of a configuration.
fn config(json: &str) -> Notify {
    let (config, warnings) = Config::from_json(&format!(r#"{{"notify": {json}}}"#));
    assert_eq!(warnings, []);
    config.notify
}
