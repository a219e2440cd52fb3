use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{run_program, waiting_times};
use longhaul_universal_bundle::{machine_named, machine_of};

use crate::bundle::Bundle;

/// Returns a target of this machine.
fn native() -> &'static str {
    let here = machine_named(std::env::consts::OS, std::env::consts::ARCH);
    let known =
        ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "aarch64-apple-darwin"];
    known.into_iter().find(|target| machine_of(target) == here).unwrap()
}

/// Packs a file, and keeps the unpacked one.
fn pack(path: &Path) {
    let argv = ["gzip", "--keep", path.to_str().unwrap()].map(str::to_owned).to_vec();
    run_program(&TerminalCommand { argv, stdin: None }, waiting_times::TMUX_SETUP).unwrap();
}

#[test]
fn a_packed_executable_is_installed_as_the_unpacked_one_and_half_of_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let executables = bundle.join("bin").join(native());
    for folder in [&executables, &bundle.join(".claude-plugin")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(bundle.join(".claude-plugin/plugin.json"), r#"{"name":"longhaul","version":"1.0.0"}"#).unwrap();
    for path in [bundle.join("bin/longhaul"), executables.join("longhaul")] {
        fs::write(&path, format!("{}\n", path.display())).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let plain = Bundle::at(&bundle).unwrap();
    let expected = fs::read(executables.join("longhaul")).unwrap();
    pack(&executables.join("longhaul"));
    assert_eq!(Bundle::at(&bundle).unwrap().id, plain.id);
    fs::remove_file(executables.join("longhaul")).unwrap();
    fs::write(executables.join("longhaul.4711"), "half").unwrap();
    let packed = Bundle::at(&bundle).unwrap();
    assert_eq!(packed.id, plain.id);
    let to = folder.path().join("installed");
    packed.copy(&to).unwrap();
    let installed = to.join("longhaul/bin/longhaul");
    assert_eq!(fs::read(&installed).unwrap(), expected);
    assert_eq!(installed.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_dir(to.join("longhaul/bin")).unwrap().count(), 1);
}
