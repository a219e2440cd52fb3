//! A hook's payload.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_activity_log::chars_of_json;
use longhaul_core::event::{Event, utf8};

fuzz_target!(|bytes: &[u8]| {
    let text = utf8(bytes.to_vec());
    if let Ok(event) = Event::parse(&text) {
        let _ = event.name();
    }
    let _ = chars_of_json(&text);
});
