//! Reproducible archives: the same files give the same bytes. Also writes their checksums, and the list of what they are
//! built from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use crate::codegen::pretty;
use crate::run;
use crate::workspace::{PACKAGE, Workspace};

/// 2000-01-01, because tar warns of times near 1970.
const MTIME: u64 = 946_684_800;

/// Returns a tar.xz of `folder`, below a top folder called `name`. Every supported system has a tar that unpacks it.
///
/// Entries are sorted; owner and time are fixed. An executable that is in several bundles is packed once;
/// the others are hard links to it.
pub(crate) fn pack(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
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
    // Several threads would cut the archive into blocks that are compressed apart.
    run::filter(run::program("xz").args(["-9", "--extreme", "--threads=1", "--stdout"]), tar.into_inner()?)
}

pub(crate) fn entries(packed: &[u8]) -> Result<tar::Archive<Cursor<Vec<u8>>>> {
    let tar = run::filter(run::program("xz").args(["--decompress", "--stdout"]), packed.to_vec())?;
    Ok(tar::Archive::new(Cursor::new(tar)))
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
    archives.retain(|path| path.to_string_lossy().ends_with(".tar.xz"));
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
    let unpacked = entries(&bytes)?.unpack(to);
    unpacked.with_context(|| format!("cannot unpack {}", archive.display()))
}

/// Returns the SHA-256 checksum in hexadecimal digits.
pub(crate) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

// A bill of materials in CycloneDX's JSON format: what is linked into the executables, with its licences.
//
// It contains neither a time nor a serial number, so that the same dependencies give the same bytes.

/// Returns the bill of materials for a target.
pub(crate) fn of(workspace: &Workspace, triple: &str) -> Result<String> {
    bill(&run::metadata(&workspace.root.join("Cargo.toml"), &["--locked", "--filter-platform", triple])?)
}

/// Builds it from the output of `cargo metadata`.
fn bill(metadata: &Value) -> Result<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (id(&package["id"]), package)).collect();
    let own: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(id).collect();
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let linked = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let linked = list(&node["deps"]).iter().filter(linked).map(|dep| id(&dep["pkg"])).collect();
        needs.insert(id(&node["id"]), linked);
    }
    let root = packages.values().find(|package| package["name"] == PACKAGE);
    let root = root.with_context(|| format!("cargo knows no package {PACKAGE}"))?;
    let mut seen = BTreeSet::new();
    let mut next = vec![id(&root["id"])];
    while let Some(package) = next.pop() {
        if seen.insert(package.clone()) {
            next.extend(needs.get(&package).into_iter().flatten().cloned());
        }
    }
    // The packages of this workspace count as one component, because they are not published separately.
    let (ours, others): (Vec<&String>, Vec<&String>) = seen.iter().partition(|package| own.contains(*package));
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    let names = |of: &[&String]| -> BTreeSet<String> {
        let all = of.iter().filter_map(|package| needs.get(*package)).flatten();
        all.filter(|package| !own.contains(*package)).map(|package| purl(&packages[package])).collect()
    };
    for package in others {
        let component = component(&packages[package], "library")?;
        dependencies.insert(purl(&packages[package]), names(&[package]));
        components.insert(purl(&packages[package]), component);
    }
    dependencies.insert(purl(root), names(&ours));
    let dependencies = dependencies.into_iter().map(|(name, needs)| json!({ "ref": name, "dependsOn": needs }));
    pretty(&json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root, "application")? },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    // A decoder would read `+` as a space.
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, kind: &str) -> Result<Value> {
    let licence = match (package["license"].as_str(), package["license_file"].as_str()) {
        // The syntax that was used before SPDX expressions.
        (Some(expression), _) => json!({ "expression": expression.replace(" / ", " OR ").replace('/', " OR ") }),
        (None, Some(file)) => json!({ "license": { "name": file } }),
        (None, None) => bail!("{} does not name its licence, so it cannot be shipped", package["name"]),
    };
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": [licence],
        "purl": purl(package),
    });
    if let (Some(address), Some(fields)) = (package["repository"].as_str(), component.as_object_mut()) {
        fields.insert("externalReferences".to_owned(), json!([{ "type": "vcs", "url": address }]));
    }
    Ok(component)
}

#[cfg(test)]
mod tests;
