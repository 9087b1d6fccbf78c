//! The files that deploy the program.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found
}

/// The image builds third-party crates from this, so it must be a workspace, and no change of the
/// source may change it.
#[test]
fn the_manifests_are_a_workspace_without_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("scripts/manifests");
    assert!(Command::new(script).arg(folder.path()).status().unwrap().success());
    let read = |file: &Path| std::fs::read_to_string(file).unwrap();
    let files = files(folder.path());
    for file in &files {
        let copied = read(&folder.path().join(file));
        if file.extension().is_some_and(|kind| kind == "rs") {
            assert_eq!(copied, "fn main() {}\n", "{}", file.display());
        } else {
            assert!(copied == read(&root().join(file)), "{}", file.display());
        }
    }
    for file in
        ["Cargo.lock", "crates/cli/Cargo.toml", "crates/cli/src/main.rs", "bench/Cargo.toml"]
    {
        assert!(files.iter().any(|it| it == Path::new(file)), "{file}");
    }
    let mut metadata = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    metadata.args(["metadata", "--format-version", "1", "--locked", "--offline", "--no-deps"]);
    let output = metadata.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
