use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{bill, pack};

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
    let mut archive = super::entries(&packed).unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    archive.unpack(unpacked.path()).unwrap();
    assert_eq!(fs::read(unpacked.path().join("x/b")).unwrap(), noise);
    assert_eq!(fs::metadata(unpacked.path().join("x/b")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(packed.len() < noise.len() * 3 / 2, "{}", packed.len());
}

fn package(name: &str, licence: Option<&str>) -> Value {
    json!({ "id": name, "name": name, "version": "1.0.0", "license": licence, "license_file": null })
}

fn metadata(licence: Option<&str>) -> Value {
    let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
    json!({
        "packages": [package("longhaul", Some("MIT")), package("longhaul-core", Some("MIT")), package("serde", licence),
                     package("tempfile", Some("MIT")), package("memchr", Some("Unlicense OR MIT"))],
        "workspace_members": ["longhaul", "longhaul-core"],
        "resolve": { "nodes": [
            { "id": "longhaul", "deps": [dep("longhaul-core", Value::Null), dep("tempfile", json!("dev"))] },
            { "id": "longhaul-core", "deps": [dep("serde", Value::Null)] },
            { "id": "serde", "deps": [dep("memchr", Value::Null)] },
            { "id": "memchr", "deps": [] },
        ] },
    })
}

#[test]
fn what_is_linked_is_listed_with_its_licence_and_nothing_else() {
    let bill: Value = serde_json::from_str(&bill(&metadata(Some("MIT/Apache-2.0"))).unwrap()).unwrap();
    let names: Vec<&str> =
        bill["components"].as_array().unwrap().iter().map(|component| component["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["memchr", "serde"]);
    assert_eq!(bill["components"][1]["licenses"], json!([{ "expression": "MIT OR Apache-2.0" }]));
    let expected = json!([
        { "ref": "pkg:cargo/longhaul@1.0.0", "dependsOn": ["pkg:cargo/serde@1.0.0"] },
        { "ref": "pkg:cargo/memchr@1.0.0", "dependsOn": [] },
        { "ref": "pkg:cargo/serde@1.0.0", "dependsOn": ["pkg:cargo/memchr@1.0.0"] },
    ]);
    assert_eq!(bill["dependencies"], expected);
}

#[test]
fn what_has_no_licence_is_not_shipped() {
    assert!(bill(&metadata(None)).unwrap_err().to_string().contains("serde"));
}
