use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use longhaul_universal_bundle::{Checksums, is_launcher};

use super::super::archive;
use super::{CONTENT, TargetExecutables, from_archives, lay_out};
use crate::workspace::Workspace;

/// Both are typed as `/longhaul:NAME`: the client takes the command and never shows the skill.
#[test]
fn no_skill_is_hidden_by_a_command_of_its_name() {
    let names =
        |folder, file| CONTENT.iter().filter_map(move |(name, _)| name.strip_prefix(folder)?.strip_suffix(file));
    let skills: Vec<_> = names("skills/", "/SKILL.md").collect();
    assert!(!skills.is_empty());
    assert!(names("commands/", ".md").all(|command| !skills.contains(&command)));
}

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"];

/// Writes a file for every executable, with the target as its content.
fn built(workspace: &Workspace, folder: &Path, target: &str) -> TargetExecutables {
    fs::create_dir_all(folder).unwrap();
    for name in &workspace.executables {
        fs::write(folder.join(name), format!("{name} for {target}")).unwrap();
        fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    TargetExecutables { target: target.to_owned(), folder: folder.to_owned() }
}

#[track_caller]
fn check(workspace: &Workspace, marketplace: &Path) {
    let bin = marketplace.join("longhaul/bin");
    let sums = Checksums::parse(&fs::read_to_string(bin.join("SHA256SUMS")).unwrap()).unwrap();
    for name in &workspace.executables {
        assert!(is_launcher(&fs::read(bin.join(name)).unwrap()), "{name}");
        assert_eq!(fs::metadata(bin.join(name)).unwrap().permissions().mode() & 0o777, 0o755);
        for target in TARGETS {
            let packed = fs::read(bin.join(target).join(format!("{name}.gz"))).unwrap();
            let mut unpacked = String::new();
            flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut unpacked).unwrap();
            assert_eq!(unpacked, format!("{name} for {target}"));
        }
    }
    for target in TARGETS {
        assert_eq!(sums.of_target(target).count(), workspace.executables.len());
    }
    let list: serde_json::Value =
        serde_json::from_slice(&fs::read(marketplace.join(".claude-plugin/marketplace.json")).unwrap()).unwrap();
    assert_eq!(list["plugins"].as_array().unwrap().len(), 1);
    assert_eq!(list["plugins"][0]["source"], "./longhaul");
    for name in ["README.md", "LICENSE", "longhaul.tmux", "longhaul/hooks/hooks.json"] {
        assert!(marketplace.join(name).is_file(), "{name}");
    }
}

#[test]
fn the_bundle_has_a_launcher_for_every_executable_and_the_executables_of_every_target() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::load().unwrap();
    let built = TARGETS.map(|target| built(&workspace, &folder.path().join(target), target));
    let marketplace = folder.path().join("marketplace");
    lay_out(&workspace, &built, &marketplace).unwrap();
    check(&workspace, &marketplace);
}

#[test]
fn it_is_made_of_the_archives_of_this_version() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = Workspace::load().unwrap();
    let archives = folder.path().join("archives");
    fs::create_dir_all(&archives).unwrap();
    for target in TARGETS {
        let dist = folder.path().join("dist");
        built(&workspace, &dist.join("longhaul/bin"), target);
        let name = format!("longhaul-{}-{target}", workspace.version);
        fs::write(archives.join(format!("{name}.tar.xz")), archive::pack(&dist, &name).unwrap()).unwrap();
    }
    fs::write(archives.join("longhaul-0.0.0-x86_64-apple-darwin.tar.xz"), "another version").unwrap();
    archive::write_sums(&archives).unwrap();
    workspace.target = folder.path().join("target");
    fs::create_dir_all(&workspace.target).unwrap();
    from_archives(&workspace, &archives).unwrap();
    check(&workspace, &workspace.target.join("universal"));
    let names: Vec<_> = fs::read_dir(&workspace.target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["universal"], "nothing temporary is left");

    let damaged = archives.join(format!("longhaul-{}-{}.tar.xz", workspace.version, TARGETS[0]));
    let mut bytes = fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let error = from_archives(&workspace, &archives).unwrap_err().to_string();
    assert!(error.contains("does not agree with SHA256SUMS"), "{error}");
    let none = from_archives(&workspace, &folder.path().join("empty")).unwrap_err().to_string();
    assert!(none.contains("cargo xtask dist"), "{none}");
}

#[test]
fn two_targets_for_one_machine_are_refused_as_is_one_that_launchers_do_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::load().unwrap();
    for targets in [["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"], ["wasm32-wasip1", TARGETS[0]]] {
        let built = targets.map(|target| built(&workspace, &folder.path().join(target), target));
        let error = lay_out(&workspace, &built, &folder.path().join("m")).unwrap_err().to_string();
        assert!(error.contains("cannot be in a universal bundle"), "{error}");
    }
}
