use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let changed = with_feature(Some(text), "hooks").unwrap().unwrap();
    assert_eq!(changed, expected);
    assert_eq!(with_feature(Some(&changed), "hooks"), Ok(None), "it is on now");
}

#[test]
fn the_feature_is_switched_on_and_every_other_byte_stays() {
    check("", "[features]\nhooks = true\n");
    check("# mine\nmodel = \"x\"", "# mine\nmodel = \"x\"\n\n[features]\nhooks = true\n");
    check("[features]\nhooks  =  false # no\nweb = false\n", "[features]\nhooks  =  true # no\nweb = false\n");
    check(
        "[features] # all\nweb = false\n[tui]\nhooks = false\n",
        "[features] # all\nhooks = true\nweb = false\n[tui]\nhooks = false\n",
    );
    check("features.hooks = false\n[a]\n", "features.hooks = true\n[a]\n");
    check("[features]", "[features]\nhooks = true\n");
    assert_eq!(with_feature(Some("[features]\nhooks = true"), "hooks"), Ok(None));
    assert_eq!(with_feature(Some("features = { hooks = false }"), "hooks"), Err(Refusal::Shape("features".to_owned())));
}

#[test]
fn off_is_what_codex_says_or_else_what_its_configuration_says() {
    assert_eq!(value_in_list("hooks   stable   false\nweb x true\n", "hooks"), Some(false));
    assert_eq!(value_in_list("web x true\n", "hooks"), None);
    assert_eq!(switched_off(None, Some("[features]\ncodex_hooks = false\n")), Some("codex_hooks"));
    assert_eq!(switched_off(None, Some("[features]\n# hooks = false\nhooks = true\n")), None);
    assert_eq!(switched_off(None, None), None);
}
