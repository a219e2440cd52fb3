use std::path::Path;

use super::{recorded, targets};

#[test]
fn every_event_of_another_agent_has_a_recorded_payload() {
    let recorded = recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    for target in targets().iter().filter(|target| !target.folder.is_empty()) {
        let is_own = recorded.iter().any(|known| known.folder == target.folder && known.event == target.event);
        assert!(is_own, "{} {}", target.folder, target.event);
    }
}
