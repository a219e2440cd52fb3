//! A line of the spool, and what is remembered of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_memory::{Call, RawCall, command_key, fold_key, observe};

fuzz_target!(|text: &str| {
    let mut raw = RawCall::new("t", "Bash");
    raw.input = text;
    raw.response = text;
    let noted = Call::new(&raw);
    assert_eq!(Call::from_line(&noted.to_line()).as_ref(), Some(&noted));
    for call in text.lines().filter_map(Call::from_line).chain([noted]) {
        let _ = (observe(&call, Some("/work")), command_key(&call), fold_key(&call));
    }
});
