//! The files of this repository, read once per test.
//!
//! Git lists the files, including new ones that were not added yet, so that ignored files are not
//! checked. Without git (a source archive), the folders are walked instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with build output or downloads.
const FOLDERS_SKIPPED: [&str; 5] = [".git", ".tools", ".venv", "node_modules", "target"];

/// A text file, named by its path from the root of the repository with `/` between the parts.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().expect("splitting yields at least one part")
    }

    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.name().rsplit_once('.').is_some_and(|(_, found)| found == extension)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    /// Files without an extension that name their interpreter.
    pub(crate) fn is_script(&self) -> bool {
        !self.name().contains('.') && self.text.starts_with("#!")
    }

    /// Test code proper: a sibling `tests.rs`, or anything in a `tests` folder.
    pub(crate) fn is_test(&self) -> bool {
        self.name() == "tests.rs" || self.path.split('/').any(|part| part == "tests")
    }

    /// Lines with their numbers, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// Every text file of the repository, in the order of the paths.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let mut paths = listed_by_git(&root).unwrap_or_else(|| walked(&root));
    paths.sort();
    assert!(paths.iter().any(|path| path == "Cargo.toml"), "the root was not found");
    paths.into_iter().filter_map(|path| read(&root, path)).collect()
}

/// The Rust files of the repository, in the order of the paths.
pub(crate) fn rust_files() -> Vec<File> {
    files().into_iter().filter(File::is_rust).collect()
}

pub(crate) fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).expect("this crate lives two folders deep").to_path_buf()
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = listing.split_terminator('\0').map(str::to_owned).collect();
    // An archive unpacked inside some other repository that ignores it lists nothing.
    (!paths.is_empty()).then_some(paths)
}

fn walked(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository can be listed") {
            let entry = entry.expect("a folder of the repository can be listed");
            let kind = entry.file_type().expect("an entry has a type");
            let path = entry.path();
            if kind.is_dir() {
                if !FOLDERS_SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                    folders.push(path);
                }
            } else if kind.is_file() {
                let relative = path.strip_prefix(root).expect("the walk starts at the root");
                paths.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    paths
}

/// Git also lists files that were deleted but not committed, and links; images and golden bytes are
/// not text. None of these is checked.
fn read(root: &Path, path: String) -> Option<File> {
    let place = root.join(&path);
    if !fs::symlink_metadata(&place).ok()?.is_file() {
        return None;
    }
    let text = String::from_utf8(fs::read(place).ok()?).ok()?;
    (!text.contains('\0')).then_some(File { path, text })
}

#[test]
fn the_walk_finds_what_git_lists() {
    let root = root();
    let walked = walked(&root);
    assert!(walked.iter().any(|path| path == "crates/tidy/tests/tidy.rs"));
    assert!(!walked.iter().any(|path| path.starts_with(".git/")));
    assert!(files().iter().any(|file| file.path == "crates/tidy/tests/tidy.rs"));
}

#[test]
fn files_know_their_kind() {
    assert!(File::new("crates/core/src/lock/tests.rs", "").is_test());
    assert!(File::new("crates/tidy/tests/tidy.rs", "").is_test());
    assert!(!File::new("crates/core/src/lock/table.rs", "").is_test());
    assert!(File::new("test", "#!/usr/bin/env bash\n").is_script());
    assert!(!File::new("LICENSE", "Apache-2.0 OR MIT\n").is_script());
}
