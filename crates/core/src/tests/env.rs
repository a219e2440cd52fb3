use std::path::Path;

use crate::{Env, Millis, Platform};

fn env(vars: &[(&str, &str)]) -> Env {
    Env::new(Millis(5), Platform::Unix, |name| {
        vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_data_directory_is_found_in_order() {
    let dir = |vars: &[(&str, &str)]| env(vars).data_dir;
    let home = ("HOME", "/h");
    assert_eq!(dir(&[home]).as_deref(), Some(Path::new("/h/.local/share/longhaul")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "/x")]).as_deref(), Some(Path::new("/x/longhaul")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "/x"), ("LONGHAUL_HOME", "/l")]).as_deref(), Some(Path::new("/l")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "relative"), ("LONGHAUL_HOME", "")]), dir(&[home]));
    assert_eq!(dir(&[]), None);
}

#[test]
fn the_clock_can_be_fixed() {
    assert_eq!(env(&[]).now, Millis(5));
    assert_eq!(env(&[("LONGHAUL_NOW_MS", "77")]).now, Millis(77));
    assert_eq!(env(&[("LONGHAUL_NOW_MS", "soon")]).now, Millis(5));
}

#[test]
fn only_one_disables() {
    assert!(env(&[("LONGHAUL_DISABLE", "1")]).disabled);
    assert!(!env(&[("LONGHAUL_DISABLE", "0")]).disabled);
}
