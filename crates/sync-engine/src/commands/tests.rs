//! Commands while another exchange runs.

use std::time::Duration;

use longhaul_core::{Env, Millis, Platform};
use longhaul_runtime::sync;
use tempfile::tempdir;

use super::context::Context;
use super::{CommandError, circle_key, init, join, leave};

/// Without the lock, two exchanges would run at once, or a circle would be left in part.
#[test]
fn a_command_that_must_wait_too_long_changes_nothing() {
    let dir = tempdir().unwrap();
    let open = |name: &str| {
        let data = dir.path().join(name).to_str().unwrap().to_owned();
        let env = Env::new(Millis(1_000), Platform::Unix, |name| (name == "LONGHAUL_HOME").then(|| data.clone()));
        let mut context = Context::open(&env).unwrap();
        context.lock_limit = Duration::ZERO;
        context
    };
    let (a, b) = (open("a"), open("b"));
    let address = format!("folder:{}", dir.path().join("circle").display());

    let lock = a.lock().unwrap();
    assert!(matches!(init::run(&a, &address), Err(CommandError::Busy)));
    assert!(!sync::is_on(&a.home) && !dir.path().join("circle").exists());
    drop(lock);
    init::run(&a, &address).unwrap();

    let code = circle_key::join_code(&a, true).unwrap().to_text();
    let lock = b.lock().unwrap();
    assert!(matches!(join::run(&b, &code, None), Err(CommandError::Busy)));
    assert!(!sync::is_on(&b.home) && !sync::key_file(&b.env).unwrap().exists());
    drop(lock);
    join::run(&b, &code, None).unwrap();

    let lock = b.lock().unwrap();
    assert!(matches!(leave::run(&b), Err(CommandError::Busy)));
    assert!(sync::is_on(&b.home), "hooks go on starting exchanges");
    drop(lock);
    leave::run(&b).unwrap();
    assert!(!sync::is_on(&b.home));
}
