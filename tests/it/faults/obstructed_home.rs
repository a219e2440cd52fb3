//! A data folder that is no folder, or has something else in the place of a file: the user is notified once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::Session;
use crate::sandbox::Sandbox;

/// Makes the data folder by `make`, and returns what the hooks of a session tell the user.
fn told(sandbox: &Sandbox, make: impl Fn(&Path)) -> Vec<String> {
    let data = sandbox.data_dir();
    let session = Session::new(sandbox, "s");
    fs::remove_dir_all(&data).unwrap();
    make(&data);
    let replies = [
        session.fire("SessionStart", json!({ "source": "startup" })),
        session.fire("UserPromptSubmit", json!({ "prompt": "one" })),
        session.fire("UserPromptSubmit", json!({ "prompt": "two" })),
        session.fire("Stop", json!({ "last_assistant_message": "done" })),
    ];
    replies.iter().filter_map(|reply| reply["systemMessage"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_data_folder_that_is_no_folder_is_told_and_found() {
    for make in [
        |data: &Path| fs::write(data, "x").unwrap(),
        |data: &Path| symlink("/nowhere/at/all", data).unwrap(),
        |data: &Path| symlink(data, data).unwrap(),
    ] {
        let sandbox = Sandbox::new();
        let told = told(&sandbox, make);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("this session is not recorded"), "{told:?}");
        assert!(told[0].contains("is neither a folder nor a link to one"), "{told:?}");
        let found = sandbox.longhaul(&["doctor"]).stdout;
        assert!(found.contains("nothing can be stored"), "{found}");
        assert!(found.contains("move it away, or set LONGHAUL_HOME"), "{found}");
    }
}

#[test]
fn a_folder_in_the_place_of_the_database_is_told() {
    let sandbox = Sandbox::new();
    let told = told(&sandbox, |data| fs::create_dir_all(data.join("longhaul.db")).unwrap());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("has the name of a Longhaul file or folder"), "{told:?}");
    assert!(sandbox.error_log().contains("longhaul.db"), "{}", sandbox.error_log());
}
