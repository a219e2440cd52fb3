//! What identifies this machine, and its name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use longhaul_inject::TerminalCommand;
use sha2::{Digest, Sha256};

use crate::{Home, bounded_read, process};

/// Where Linux keeps the id of the machine.
const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Returns a text that differs on another machine, and for a copy of the data folder on this one.
///
/// It is a hash: the id of the machine is not to be stored or shown.
pub fn machine_id(home: &Home) -> String {
    let machine = MACHINE_ID.iter().find_map(|path| bounded_read::text(Path::new(path), bounded_read::SMALL).ok());
    // A copy of a folder has another inode, a restored backup too.
    let inode = std::fs::metadata(home.dir()).map_or(0, |metadata| metadata.ino());
    let mut hash = Sha256::new();
    hash.update(b"longhaul machine 1\n");
    hash.update(machine.unwrap_or_else(host_name).trim());
    hash.update(inode.to_be_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the host name, without its domain.
pub fn host_name() -> String {
    let kernel = bounded_read::text(Path::new("/proc/sys/kernel/hostname"), bounded_read::SMALL).ok();
    let name = kernel.or_else(|| {
        let step = TerminalCommand { argv: vec!["hostname".to_owned()], stdin: None };
        process::run(&step, Duration::from_secs(2)).ok()
    });
    let name = name.unwrap_or_default();
    name.trim().split('.').next().unwrap_or_default().to_owned()
}
