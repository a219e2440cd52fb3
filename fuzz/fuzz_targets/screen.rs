//! A captured screen, and what each terminal that shows one prints around it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_inject::{
    ClientActivity, EditorMode, Inspection, KittyWindow, Pane, TypeWhen, WeztermPane, ZellijPane, screen_state, may_type,
    parse_inspection,
};

fuzz_target!(|screen: &str| {
    let _ = parse_inspection(screen);
    let outputs = [screen.to_owned(), screen.to_owned()];
    let _ = ZellijPane { session: "s".to_owned(), pane: "7".to_owned() }.parse(&outputs);
    let _ = WeztermPane { pane: "7".to_owned() }.parse(&outputs);
    let _ = KittyWindow { socket: "unix:/k".to_owned(), window: "7".to_owned() }.parse(&outputs);
    for row in [0, 1, 37] {
        let mut inspection = Inspection::default();
        inspection.screen = screen.to_owned();
        inspection.cursor = Some((2, row));
        for editor in [EditorMode::Normal, EditorMode::Vim] {
            let seen = screen_state(&inspection, editor);
            let _ = may_type(&seen, ClientActivity::Unknown, TypeWhen::Either, "·");
        }
    }
});
