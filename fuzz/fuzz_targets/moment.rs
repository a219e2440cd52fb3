//! The argument of `longhaul detail`: a time, a range or a turn.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_core::clock::Date;
use longhaul_handoff::parse_time_query;

fuzz_target!(|text: &str| {
    let today = Date { year: 2026, month: 3, day: 1 };
    let _ = (parse_time_query(text, today), Date::parse(text));
});
