//! Reproducible archives: the same files give the same bytes. Also writes their checksums.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// 2000-01-01, because tar warns of times near 1970.
const MTIME: u64 = 946_684_800;
/// "Unknown", in the gzip header's field for the operating system.
const ANY_SYSTEM: u8 = 255;

/// Returns a tar.gz of `folder`, below a top folder called `name`.
///
/// Entries are sorted; owner, time and gzip header are fixed. An executable that is in several bundles is packed once;
/// the others are hard links to it.
pub(crate) fn pack(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).operating_system(ANY_SYSTEM).write(Vec::new(), Compression::best());
    let mut tar = Builder::new(gzip);
    let mut packed: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in sorted(folder)? {
        let inside = Path::new(name).join(path.strip_prefix(folder)?);
        let mut header = Header::new_gnu();
        header.set_mtime(MTIME);
        header.set_uid(0);
        header.set_gid(0);
        if path.is_dir() {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            tar.append_data(&mut header, &inside, &[][..])?;
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let executable = fs::metadata(&path)?.permissions().mode() & 0o111 != 0;
        header.set_mode(if executable { 0o755 } else { 0o644 });
        let sum = sum(&bytes);
        if let Some(first) = packed.get(&sum).filter(|_| executable) {
            header.set_entry_type(EntryType::Link);
            header.set_size(0);
            tar.append_link(&mut header, &inside, first)?;
        } else {
            header.set_entry_type(EntryType::Regular);
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, &inside, bytes.as_slice())?;
            packed.insert(sum, inside);
        }
    }
    Ok(tar.into_inner()?.finish()?)
}

/// Returns `folder` and everything below it, each folder before its content.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(sorted(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Returns the archives in `folder`, sorted; none if the folder does not exist.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut archives = entries.collect::<Result<Vec<_>>>()?;
    archives.retain(|path| path.to_string_lossy().ends_with(".tar.gz"));
    archives.sort();
    Ok(archives)
}

/// Writes SHA256SUMS for the archives in `folder`, in the form that `sha256sum --check` reads.
pub(crate) fn write_sums(folder: &Path) -> Result<()> {
    let mut sums = Vec::new();
    for path in list(folder)? {
        writeln!(sums, "{}  {}", sum(&fs::read(&path)?), path.file_name().unwrap_or_default().to_string_lossy())?;
    }
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

/// Unpacks an archive, after its checksum was verified if there is a SHA256SUMS beside it.
pub(crate) fn unpack(archive: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(archive).with_context(|| format!("cannot read {}", archive.display()))?;
    if let Ok(sums) = fs::read_to_string(archive.with_file_name("SHA256SUMS")) {
        let expected = format!("{}  {}", sum(&bytes), archive.file_name().unwrap_or_default().to_string_lossy());
        ensure!(sums.lines().any(|line| line == expected), "{} does not agree with SHA256SUMS", archive.display());
    }
    let unpacked = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice())).unpack(to);
    unpacked.with_context(|| format!("cannot unpack {}", archive.display()))
}

/// Returns the SHA-256 checksum in hexadecimal digits.
pub(crate) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::pack;

    #[test]
    fn the_same_files_make_the_same_archive_whenever_and_in_whatever_order_they_were_written() {
        let first = tempfile::tempdir().unwrap();
        let second = tempfile::tempdir().unwrap();
        let files = ["b/c.txt", "a.txt", "b.txt"];
        let write = |folder: &std::path::Path, name: &str| {
            fs::create_dir_all(folder.join("b")).unwrap();
            fs::write(folder.join(name), name.replace("b/", "")).unwrap();
        };
        files.iter().for_each(|name| write(first.path(), name));
        files.iter().rev().for_each(|name| write(second.path(), name));
        fs::File::open(second.path().join("a.txt")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(pack(first.path(), "x").unwrap(), pack(second.path(), "x").unwrap());
    }

    #[test]
    fn an_executable_that_is_there_twice_is_packed_once() {
        let folder = tempfile::tempdir().unwrap();
        let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), &noise).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let packed = pack(folder.path(), "x").unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let unpacked = tempfile::tempdir().unwrap();
        archive.unpack(unpacked.path()).unwrap();
        assert_eq!(fs::read(unpacked.path().join("x/b")).unwrap(), noise);
        assert_eq!(fs::metadata(unpacked.path().join("x/b")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(packed.len() < noise.len() * 3 / 2, "{}", packed.len());
    }
}
