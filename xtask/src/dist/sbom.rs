//! A bill of materials in CycloneDX's JSON format: what is linked into the executables, with its licences.
//!
//! It contains neither a time nor a serial number, so that the same dependencies give the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::codegen::pretty;
use crate::run;
use crate::workspace::{PACKAGE, Workspace};

/// Returns the bill of materials for a target.
pub(crate) fn of(workspace: &Workspace, triple: &str) -> Result<String> {
    let mut metadata = run::cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", triple, "--manifest-path"]);
    let text = run::output(metadata.arg(workspace.root.join("Cargo.toml")))?;
    bill(&serde_json::from_str(&text).context("cannot read cargo metadata")?)
}

/// Builds it from the output of `cargo metadata`.
fn bill(metadata: &Value) -> Result<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|one| (id(&one["id"]), one)).collect();
    let own: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(id).collect();
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let linked = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        needs.insert(
            id(&node["id"]),
            list(&node["deps"]).iter().filter(|dep| linked(dep)).map(|dep| id(&dep["pkg"])).collect(),
        );
    }
    let is_shipped = |one: &&Value| one["name"] == PACKAGE;
    let root = packages.values().find(is_shipped).with_context(|| format!("cargo knows no package {PACKAGE}"))?;
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
mod tests {
    use serde_json::{Value, json};

    use super::bill;

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
            bill["components"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
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
}
