use std::fs;

use super::update;
use xtask::codegen::Mode;

#[test]
fn a_check_names_what_writing_would_change_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("new.ansi"), "hello\n").unwrap();
    fs::write(file("drawn-by-hand.svg"), "<svg/>").unwrap();
    fs::write(file("README.md"), "not ours").unwrap();

    assert_eq!(update(folder.path(), Mode::Check).unwrap(), ["new.svg"]);
    assert!(!file("new.svg").exists());

    assert_eq!(update(folder.path(), Mode::Write).unwrap(), ["new.svg"]);
    assert!(file("new.svg").exists());
    assert_eq!(fs::read_to_string(file("drawn-by-hand.svg")).unwrap(), "<svg/>");
    assert!(update(folder.path(), Mode::Check).unwrap().is_empty());

    fs::write(file("new.ansi"), "other\n").unwrap();
    assert_eq!(update(folder.path(), Mode::Check).unwrap(), ["new.svg"]);
}
