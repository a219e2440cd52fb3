//! Random trees with random changes: what is restored is byte for byte and mode for mode what was there.

use proptest::prelude::*;

use super::*;

/// What a random change does to a path.
#[derive(Debug, Clone)]
enum Act {
    Write(Vec<u8>),
    Remove,
    Rename(usize),
    Mode(u32),
    FolderMode(u32),
    Link(usize),
}

/// Names that collide, and that are hard to write.
const NAMES: [&[u8]; 12] = [
    b"a",
    b"a/b",
    b"a/b/c",
    b"d e",
    b"d e/f\ng",
    b"\xff\xfe",
    b"\xff\xfe/x",
    b" ",
    b"-q",
    b":(top)\t*",
    b"\"q\\",
    b"a/.gitattributes",
];

fn act() -> impl Strategy<Value = (usize, Act)> {
    let content = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"one\r\ntwo\n$Id$\r\n".to_vec()),
        Just(b"* text eol=crlf ident\n".to_vec()),
    ];
    let act = prop_oneof![
        4 => content.prop_map(Act::Write),
        2 => Just(Act::Remove),
        1 => (0..NAMES.len()).prop_map(Act::Rename),
        1 => prop::sample::select(vec![0o644, 0o755, 0o600, 0o700, 0o640]).prop_map(Act::Mode),
        2 => prop::sample::select(vec![0o700, 0o750, 0o755, 0o777, 0o2755, 0o555, 0o500]).prop_map(Act::FolderMode),
        1 => (0..NAMES.len()).prop_map(Act::Link),
    ];
    (0..NAMES.len(), act)
}

fn perform(top: &Path, (at, act): &(usize, Act)) {
    let path = top.join(name(NAMES[*at]));
    let make_room = |path: &Path| {
        for above in path.ancestors().skip(1).take_while(|above| *above != top) {
            if above.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                fs::remove_file(above).unwrap();
            }
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    };
    let is_there = |path: &Path| {
        path.symlink_metadata().is_ok()
            && path.ancestors().skip(1).take_while(|above| *above != top).all(|above| !above.is_symlink())
    };
    let is_real = |path: &Path| is_there(path) && path.symlink_metadata().is_ok_and(|found| found.is_file());
    match act {
        Act::Write(content) => {
            make_room(&path);
            fs::write(&path, content).unwrap();
        }
        Act::Remove if is_there(&path) => make_room(&path),
        // A file, a link or a whole folder.
        Act::Rename(to) if is_there(&path) => {
            let to = top.join(name(NAMES[*to]));
            if !to.starts_with(&path) && !path.starts_with(&to) {
                make_room(&to);
                fs::rename(&path, to).unwrap();
            }
        }
        Act::Mode(mode) if is_real(&path) => chmod(&path, *mode),
        Act::FolderMode(mode) if is_there(&path) && path.symlink_metadata().is_ok_and(|found| found.is_dir()) => {
            // Only the superuser can go on changing what is in a closed folder.
            chmod(&path, if rustix::process::geteuid().is_root() { *mode } else { *mode | 0o700 });
        }
        Act::Link(to) => {
            make_room(&path);
            symlink(Path::new("..").join(name(NAMES[*to])), &path).unwrap();
        }
        Act::Remove | Act::Rename(_) | Act::Mode(_) | Act::FolderMode(_) => {}
    }
}

/// Returns how many cases are tried: `PROPTEST_CASES`, or few, because each takes a repository and a dozen processes.
#[expect(clippy::disallowed_methods, reason = "the default knows the variable, and not whether it is set")]
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 12 };
    ProptestConfig { cases, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_tree_comes_back_byte_for_byte_and_can_be_undone(
        first in prop::collection::vec(act(), 0..6),
        commits in any::<bool>(),
        second in prop::collection::vec(act(), 0..5),
        third in prop::collection::vec(act(), 1..6),
    ) {
        let world = World::new();
        let change = |acts: &[(usize, Act)]| acts.iter().for_each(|act| perform(&world.top(), act));
        change(&first);
        if commits {
            world.commit();
        }
        world.take();
        change(&second);
        let then = world.take();
        let state = || (world.files(), world.folder_modes());
        let before = state();
        change(&third);
        let after = state();
        let repository = world.repository();
        world.restore(&then);
        prop_assert_eq!(state(), before.clone());
        if journal::last(&world.place()).is_some_and(|last| last.changes_something()) {
            world.undo();
            prop_assert_eq!(state(), after);
        } else {
            prop_assert_eq!(before, after);
        }
        prop_assert_eq!(world.repository(), repository);
    }
}
