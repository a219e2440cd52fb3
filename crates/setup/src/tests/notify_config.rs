use longhaul_core::Config;
use longhaul_core::config::NotifyWay;

use crate::notify_config::{with_notifications, without_notifications};
use crate::settings::Refusal;

#[test]
fn notifications_are_added_to_the_configuration_and_removed_to_the_byte() {
    for text in ["{}\n", "{\n  \"tracker\": {\"enabled\": true}\n}\n", "{\"guard\":{}}"] {
        let with = with_notifications(Some(text), NotifyWay::Desktop).unwrap().unwrap();
        let (config, warnings) = Config::from_json(&with);
        assert_eq!(warnings, [], "{with}");
        assert_eq!(config.notify.blocked.ways.0, [NotifyWay::Desktop]);
        assert_eq!(config.notify.completed.ways.0, [NotifyWay::Desktop]);
        assert_eq!(config.notify.completed.min_seconds.get(), 30.0);
        assert!(config.notify.failed.ways.0.is_empty());
        assert_eq!(with_notifications(Some(&with), NotifyWay::Terminal).unwrap(), None, "{with}");
        let without = without_notifications(&with).unwrap().unwrap();
        assert_eq!(without, if text == "{}\n" { "" } else { text });
    }
}

#[test]
fn a_file_is_created_and_removed_with_it() {
    let with = with_notifications(None, NotifyWay::Terminal).unwrap().unwrap();
    assert_eq!(without_notifications(&with).unwrap().as_deref(), Some(""));
}

#[test]
fn a_section_of_the_users_own_stays() {
    let own = r#"{"notify": {"blocked": {"ways": ["ntfy"]}}}"#;
    assert_eq!(with_notifications(Some(own), NotifyWay::Desktop), Ok(None));
    assert_eq!(without_notifications(own), Ok(None));
    assert_eq!(with_notifications(Some("{ // mine"), NotifyWay::Desktop), Err(Refusal::NotJson));
    assert_eq!(with_notifications(Some("[]"), NotifyWay::Desktop), Err(Refusal::NotSettings));
}
