//! What identifies this machine, and its name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longhaul_inject::TerminalCommand;
use sha2::{Digest, Sha256};

use crate::{Home, bounded_read, process, waiting_times};

/// Where Linux keeps the id of the machine.
const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// File systems on Linux that give a file another inode at each mount, by the number in `statfs`: FAT, exFAT, FUSE, SMB, 9P.
#[cfg(target_os = "linux")]
const WITHOUT_INODES: [u64; 6] = [0x4d44, 0x2011_bab0, 0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997];

/// Returns a text that differs on another machine, and for a copy of the data folder on this one.
///
/// The copy is recognised by its inode. Where the file system has no lasting ones, only another machine is recognised.
///
/// It is a hash: the id of the machine is not to be stored or shown.
pub fn machine_id(home: &Home) -> String {
    let machine = MACHINE_ID.iter().find_map(|path| bounded_read::text(Path::new(path), bounded_read::SMALL).ok());
    // A copy of a folder has another inode, a restored backup too.
    let inode = std::fs::metadata(home.dir()).map_or(0, |metadata| metadata.ino());
    let inode = if has_lasting_inodes(home.dir()) { inode } else { 0 };
    let mut hash = Sha256::new();
    hash.update(b"longhaul machine 1\n");
    hash.update(machine.unwrap_or_else(host_name).trim());
    hash.update(inode.to_be_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(target_os = "linux")]
fn has_lasting_inodes(dir: &Path) -> bool {
    rustix::fs::statfs(dir).map_or(true, |found| is_lasting(found.f_type as u64))
}

/// Returns whether a file system of this type keeps its inodes.
#[cfg(target_os = "linux")]
fn is_lasting(file_system: u64) -> bool {
    // Some processors extend the sign of the 32 bits.
    !WITHOUT_INODES.contains(&(file_system & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn has_lasting_inodes(_: &Path) -> bool {
    true
}

/// Returns the host name, without its domain.
pub fn host_name() -> String {
    let kernel = bounded_read::text(Path::new("/proc/sys/kernel/hostname"), bounded_read::SMALL).ok();
    let name = kernel.or_else(|| {
        let step = TerminalCommand { argv: vec!["hostname".to_owned()], stdin: None };
        process::run(&step, waiting_times::HOST_NAME).ok()
    });
    let name = name.unwrap_or_default();
    name.trim().split('.').next().unwrap_or_default().to_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::is_lasting;

    /// Otherwise the host would get a new id each time that the disk is mounted.
    #[test]
    fn file_systems_without_lasting_inodes_are_known() {
        let (ext4, btrfs, nfs, tmpfs) = (0xef53, 0x9123_683e, 0x6969, 0x0102_1994);
        assert!([ext4, btrfs, nfs, tmpfs].into_iter().all(is_lasting));
        let (fat, fuse, cifs) = (0x4d44, 0x6573_5546, 0xffff_ffff_ff53_4d42);
        assert!(![fat, fuse, cifs].into_iter().any(is_lasting));
    }
}
