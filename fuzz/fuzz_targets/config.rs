//! The config file: any text has a configuration in force.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_core::Config;
use longhaul_core::config::Trust;

fuzz_target!(|text: &str| {
    let (config, warnings) = Config::from_json(text);
    for warning in warnings {
        let _ = warning.to_string();
    }
    for trust in [Trust::Trusted, Trust::Untrusted] {
        let _ = config.with_project(text, trust);
    }
});
