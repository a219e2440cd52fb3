//! Commands while another exchange runs, and the secrets that are read from standard input.

use std::time::Duration;

use longhaul_core::{Env, Millis, Platform};
use longhaul_runtime::sync;
use tempfile::tempdir;

use super::{CommandError, Context, circle_key, membership, next_line};

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
    assert!(matches!(membership::init(&a, &address), Err(CommandError::Busy)));
    assert!(!sync::is_on(&a.home) && !dir.path().join("circle").exists());
    drop(lock);
    membership::init(&a, &address).unwrap();

    let code = circle_key::join_code(&a, true).unwrap().to_text();
    let lock = b.lock().unwrap();
    assert!(matches!(membership::join(&b, &code, None), Err(CommandError::Busy)));
    assert!(!sync::is_on(&b.home) && !sync::key_file(&b.env).unwrap().exists());
    drop(lock);
    membership::join(&b, &code, None).unwrap();

    let lock = b.lock().unwrap();
    assert!(matches!(membership::leave(&b), Err(CommandError::Busy)));
    assert!(sync::is_on(&b.home), "hooks go on starting exchanges");
    drop(lock);
    membership::leave(&b).unwrap();
    assert!(!sync::is_on(&b.home));
}

#[test]
fn each_secret_is_a_line() {
    let mut input = "\n longhaul-join-1-x \npostgres://a@b/c".as_bytes();
    assert_eq!(next_line(&mut input).unwrap(), "longhaul-join-1-x");
    assert_eq!(next_line(&mut input).unwrap(), "postgres://a@b/c");
    assert_eq!(next_line(&mut input).unwrap(), "");
}
