//! `scripts/check-licences` and `scripts/sbom`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(script: &str, arguments: &[&Path]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    Command::new("python3").arg(root.join(script)).args(arguments).output().expect("the scripts need python3")
}

/// Returns what the script prints about these packages.
fn breaches(packages: &[Value]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (rules, metadata) = (folder.path().join("deny.toml"), folder.path().join("metadata.json"));
    fs::write(
        &rules,
        r#"
        licenses.allow = ["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"]
        bans.deny = [{ name = "openssl-sys", reason = "TLS is rustls" }]
        sources.allow-registry = ["https://crates.example"]
        "#,
    )
    .unwrap();
    fs::write(&metadata, json!({ "packages": packages }).to_string()).unwrap();
    let output = run("scripts/check-licences", &[&rules, &metadata]);
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    match output.status.success() {
        true => Vec::new(),
        false => printed.lines().map(String::from).collect(),
    }
}

fn package(name: &str, license: impl Into<Value>, source: impl Into<Value>) -> Value {
    json!({"name": name, "version": "1.0.0", "license": license.into(), "source": source.into()})
}

#[test]
fn a_licence_expression_must_be_met_by_the_allowed_licences() {
    for license in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "MIT AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
        "GPL-3.0 OR MIT AND ISC",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
    ] {
        assert_eq!(breaches(&[package("a", license, Value::Null)]), Vec::<String>::new(), "{license}");
    }
    for license in
        ["", "GPL-3.0", "Apache-2.0", "MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR BSD)", "MIT MIT", "(MIT"]
    {
        let found = breaches(&[package("a", license, Value::Null)]);
        assert_eq!(found.len(), 1, "{license}: {found:?}");
        assert!(found[0].starts_with("a 1.0.0: its licence is "), "{license}: {found:?}");
    }
    assert_eq!(
        breaches(&[package("a", Value::Null, Value::Null)]),
        ["a 1.0.0: its licence is not stated, which deny.toml does not allow"]
    );
}

#[test]
fn a_banned_package_and_a_foreign_source_are_named() {
    let found = breaches(&[
        package("openssl-sys", "MIT", "registry+https://crates.example"),
        package("b", "MIT", "git+https://elsewhere.example/b"),
        package("c", "MIT", "registry+https://crates.example"),
    ]);
    assert_eq!(
        found,
        [
            "openssl-sys 1.0.0: deny.toml bans it: TLS is rustls",
            "b 1.0.0: it comes from git+https://elsewhere.example/b, which deny.toml does not allow",
        ]
    );
}

#[test]
fn the_bill_of_materials_names_each_package_that_the_program_needs_and_no_other() {
    let output = run("scripts/sbom", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, run("scripts/sbom", &[]).stdout);
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    assert_eq!(bill["metadata"]["component"]["name"], "cairn");
    let components = bill["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    assert_eq!(named("proptest"), None, "only tests need it");

    let sqlite = named("libsqlite3-sys").unwrap();
    assert_eq!(sqlite["licenses"], json!([{"expression": "MIT"}]));
    assert_eq!(sqlite["purl"], sqlite["bom-ref"]);
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock")).unwrap();
    let entry = lock.split("[[package]]").find(|entry| entry.contains("name = \"libsqlite3-sys\"")).unwrap();
    assert!(entry.contains(sqlite["hashes"][0]["content"].as_str().unwrap()), "{entry}");

    // The graph reaches every component from the program, and nothing else.
    let dependencies = bill["dependencies"].as_array().unwrap();
    let mut met = vec![&bill["metadata"]["component"]["bom-ref"]];
    let mut next = 0;
    while next < met.len() {
        let node = dependencies.iter().find(|node| node["ref"] == *met[next]).unwrap();
        for need in node["dependsOn"].as_array().unwrap() {
            if !met.contains(&need) {
                met.push(need);
            }
        }
        next += 1;
    }
    assert_eq!(met.len(), components.len() + 1);
    assert!(components.iter().all(|component| met.contains(&&component["bom-ref"])));
}
