//! Features that only some manifests may enable.
//!
//! Only `crates/spec` enables the `schema` features. With them every wire type includes a generator
//! of its JSON Schema, a megabyte of code that is not needed by a program with the embedded
//! document. Only programs enable `net` of the client crate. Enabling one by accident has no
//! visible effect, except on the size of the program and its build time.

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

/// The crate that generates the document.
const GENERATOR: &str = "crates/spec/Cargo.toml";
/// The manifest that only lists versions.
const WORKSPACE: &str = "Cargo.toml";

fn descriptions(file: &File) -> Vec<Finding> {
    if file.name() != "Cargo.toml" || file.path == GENERATOR {
        return Vec::new();
    }
    let object = |(number, line): (usize, &str)| {
        let names_feature = line.contains("/schema\"") && !line.contains("crates/schema\"");
        let is_enabled = line.contains("\"schema\"") || names_feature;
        let is_demanded = line.starts_with("schemars")
            && !line.contains("optional = true")
            && file.path != WORKSPACE;
        // A feature of that name may enable those below it.
        let is_wrong = is_demanded || is_enabled && !line.starts_with("schema = ");
        let message = "only `crates/spec` may enable `schema`, make `schemars` optional";
        is_wrong.then(|| Finding::new(&file.path, number, message))
    };
    file.lines().filter_map(object).collect()
}

#[test]
fn only_the_generator_enables_schemas() {
    assert_none(files().iter().flat_map(descriptions).collect());
}

/// Manifests of programs and of the client itself, which may use a network connection.
const CONNECTED: [&str; 3] =
    ["crates/cli/Cargo.toml", "crates/client/Cargo.toml", "examples/Cargo.toml"];

/// An embedded engine has no HTTP, TLS or tokio: it uses the client crate without its feature
/// `net`.
fn connections(file: &File) -> Vec<Finding> {
    if file.name() != "Cargo.toml" || CONNECTED.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let object = |(number, line): (usize, &str)| {
        let is_default = file.path == WORKSPACE && !line.contains("default-features = false");
        let is_wrong = line.starts_with("baton-client") && (is_default || line.contains("\"net\""));
        let message = "only programs may enable `net` of `baton-client`";
        is_wrong.then(|| Finding::new(&file.path, number, message))
    };
    file.lines().filter_map(object).collect()
}

#[test]
fn the_engine_has_no_connection() {
    assert_none(files().iter().flat_map(connections).collect());
}

#[test]
fn an_enabled_connection_is_caught() {
    let text = "baton-client.workspace = true\n\
        baton-client = { workspace = true, features = [\"net\"] }\n\
        baton-client = { path = \"crates/client\", default-features = false }\n";
    let check = |path: &str, lines: &[usize]| {
        assert_lines(&connections(&File::new(path, text)), lines);
    };
    check("crates/engine/Cargo.toml", &[2]);
    check("crates/cli/Cargo.toml", &[]);
    check("Cargo.toml", &[1, 2]);
}

#[test]
fn an_enabled_schema_is_caught() {
    let text = "[features]\nschema = [\"dep:schemars\", \"baton-core/schema\"]\n\
        default = [\"schema\"]\nfull = [\"baton-core/schema\"]\n[dependencies]\n\
        baton-core = { workspace = true, features = [\"schema\"] }\nschemars.workspace = true\n\
        schemars = { workspace = true, optional = true }\njsonschema.workspace = true\n";
    let check = |path: &str, lines: &[usize]| {
        assert_lines(&descriptions(&File::new(path, text)), lines);
    };
    check("crates/server/Cargo.toml", &[3, 4, 6, 7]);
    check("crates/spec/Cargo.toml", &[]);
    check("Cargo.toml", &[3, 4, 6]);
}
