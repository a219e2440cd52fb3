//! A captured screen.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_inject::{ClientSays, EditorMode, Inspection, Want, look, may_type, parse_inspection};

fuzz_target!(|screen: &str| {
    let _ = parse_inspection(screen);
    for row in [0, 1, 37] {
        let inspection = Inspection { screen: screen.to_owned(), cursor: Some((2, row)), ..Inspection::default() };
        for editor in [EditorMode::Normal, EditorMode::Vim] {
            let seen = look(&inspection, editor);
            let _ = may_type(&seen, ClientSays::Unknown, Want::Either, "·");
        }
    }
});
