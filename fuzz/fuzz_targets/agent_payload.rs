//! A payload of another agent, read by each table and translated.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_agents::{ALL, Payload, newest_use};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for agent in ALL {
        for rule in agent.events {
            if let Ok(Some(payload)) = Payload::parse(agent, rule.theirs, &text) {
                assert!(payload.session.as_str().starts_with(agent.name));
                assert!(longhaul_core::event::parse(&payload.to_claude()).is_ok());
            }
        }
    }
    let _ = newest_use(bytes, 1_000_000);
});
