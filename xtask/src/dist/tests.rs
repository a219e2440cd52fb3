use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{archive, lay_out};
use crate::workspace::Workspace;

/// Makes a folder of executables that a release could have, and returns the archive that they are packed into.
fn release(folder: &Path) -> Vec<u8> {
    let workspace = Workspace::load().unwrap();
    let built = folder.join("built");
    fs::create_dir_all(&built).unwrap();
    for name in &workspace.executables {
        let script = "#!/bin/sh\nif [ \"$1\" = man ]; then mkdir -p \"$2\"; echo page > \"$2/longhaul.1\"; else echo \"$@\"; fi\n";
        fs::write(built.join(name), script).unwrap();
        fs::set_permissions(built.join(name), Permissions::from_mode(0o700)).unwrap();
    }
    let marketplace = folder.join("marketplace");
    let triple = Workspace::host_triple().unwrap();
    lay_out(&workspace, &built, &built.join("longhaul"), &triple, &marketplace).unwrap();
    archive::pack(&marketplace, "longhaul-1").unwrap()
}

#[test]
fn two_releases_of_the_same_are_the_same_to_the_byte() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let packed = release(first.path());
    assert!(packed == release(&second.path().join("elsewhere and deeper")));
    let mut archive = archive::entries(&packed).unwrap();
    let names: Vec<String> =
        archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    for name in [
        ".claude-plugin/marketplace.json",
        "longhaul/bin/longhaul",
        "longhaul/hooks/hooks.json",
        "longhaul.cdx.json",
        "share/completions/zsh/_longhaul",
        "share/man/man1/longhaul.1",
    ] {
        assert!(names.contains(&format!("longhaul-1/{name}")), "{name} is missing in {names:?}");
    }
}

#[test]
fn the_model_is_in_the_bundles_that_search() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = Workspace::load().unwrap();
    workspace.target = folder.path().join("target");
    let built = folder.path().join("built");
    fs::create_dir_all(&built).unwrap();
    for name in &workspace.executables {
        let script = "#!/bin/sh\nif [ \"$1\" = man ]; then mkdir -p \"$2\"; echo page > \"$2/longhaul.1\"; else echo \"$@\"; fi\n";
        fs::write(built.join(name), script).unwrap();
        fs::set_permissions(built.join(name), Permissions::from_mode(0o700)).unwrap();
    }
    let triple = Workspace::host_triple().unwrap();
    let marketplace = folder.path().join("marketplace");
    lay_out(&workspace, &built, &built.join("longhaul"), &triple, &marketplace).unwrap();
    for bundle in ["longhaul", "longhaul-memory"] {
        for name in ["static.lhvec", "LICENSE", "PROVENANCE.md"] {
            let (of_bundle, own) = (marketplace.join(bundle), workspace.root.join("plugin"));
            let [of_bundle, own] = [of_bundle, own].map(|folder| fs::read(folder.join("model").join(name)).unwrap());
            assert_eq!(of_bundle, own, "{name}");
        }
    }
    assert!(!marketplace.join("longhaul-tracker/model").exists());
}
