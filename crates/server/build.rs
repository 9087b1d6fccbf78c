//! Embeds files: the `OpenAPI` document, the documentation, and the dashboard with the JavaScript
//! SDK.
//!
//! All are deflated. The document is minified first: it is 1.1 MB as the repository keeps it for
//! review, and 60 kB so.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};

/// The committed document, which the tests of `baton-spec` write.
const DOCUMENT: &str = "../../spec/openapi.json";
/// The root of the repository.
const ROOT: &str = "../..";
/// The documentation: `llms.txt`, and what it links to. Of a folder, the Markdown files in it.
const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "docs", "llms.txt"];
/// The files of the dashboard.
const UI: &str = "../../ui";
/// The JavaScript SDK, which the dashboard imports.
const SDK: &str = "../../sdk/js";
/// What of both a browser loads, with the prefix of its path below `/ui/`.
const SERVED: [(&str, &str, &str); 7] = [
    (UI, "index.html", ""),
    (UI, "styles", ""),
    (UI, "lib", ""),
    (UI, "components", ""),
    (UI, "views", ""),
    (UI, "vendor", ""),
    (SDK, "src", "sdk/"),
];
/// What of the SDK the dashboard does not load: declarations of types, the WebSocket of Node.js,
/// and calls of models.
const NOT_SERVED: [&str; 5] = [
    "src/generated/types.js",
    "src/model-runs.js",
    "src/model.js",
    "src/sockets/frames.js",
    "src/sockets/node-socket.js",
];
/// How hard to compress: the best that zlib has.
const LEVEL: u8 = 9;

fn main() {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let document = fs::read(DOCUMENT).expect("spec/openapi.json is in the repository");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let folder = Path::new(&folder);
    let embedded = folder.join("openapi.json.deflate");
    fs::write(embedded, compress_to_vec(&minified(&document), LEVEL)).expect("it can be written");
    embed_documents(folder);
    if env::var_os("CARGO_FEATURE_UI").is_some() {
        embed_dashboard(folder);
    }
}

/// Writes a table of the documents, each deflated.
fn embed_documents(folder: &Path) {
    let mut files = Vec::new();
    for name in DOCUMENTS {
        let path = Path::new(ROOT).join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder can be listed");
            let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
            files.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "md")));
        } else {
            files.push(path);
        }
    }
    files.sort();
    let document = |file: PathBuf| {
        let name = file.strip_prefix(ROOT).expect("it is below").display().to_string();
        (name, compress_to_vec(&fs::read(&file).expect("it was listed"), LEVEL))
    };
    write_table(folder, "documents", files.into_iter().map(document));
}

/// Writes a table of files that the program includes.
fn write_table(folder: &Path, table: &str, files: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut text = String::from("[\n");
    for (number, (name, deflated)) in files.enumerate() {
        fs::write(folder.join(format!("{table}-{number}")), deflated).expect("it can be written");
        let path = format!("concat!(env!(\"OUT_DIR\"), \"/{table}-{number}\")");
        writeln!(text, "({name:?}, include_bytes!({path})),").expect("a string grows");
    }
    text.push(']');
    fs::write(folder.join(format!("{table}.rs")), text).expect("it can be written");
}

/// Writes a table of the files that browsers load, each deflated.
fn embed_dashboard(folder: &Path) {
    let asset = |(name, file): (String, PathBuf)| {
        let mut bytes = fs::read(&file).expect("it was listed");
        if is_own_module(&name) {
            let text = String::from_utf8(bytes).expect("modules are UTF-8");
            let text = without_comments(&text);
            // In a text of several lines, spaces count.
            let has_long_text = text.lines().any(|line| line.matches('`').count() % 2 == 1);
            bytes = if has_long_text { text } else { without_indentation(&text) }.into_bytes();
        } else if name.starts_with("styles/") {
            let text = String::from_utf8(bytes).expect("styles are UTF-8");
            bytes = without_indentation(&text).into_bytes();
        }
        (name, compress_to_vec_zlib(&bytes, LEVEL))
    };
    write_table(folder, "ui", served_files().into_iter().map(asset));
}

/// The files by the path at which they are served, below `/ui/`.
fn served_files() -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for (root, name, prefix) in SERVED {
        println!("cargo::rerun-if-changed={root}/{name}");
        let mut found = Vec::new();
        list(&Path::new(root).join(name), &mut found);
        for file in found {
            let below = file.strip_prefix(root).expect("it is below").display().to_string();
            if !NOT_SERVED.contains(&below.as_str()) {
                files.push((format!("{prefix}{below}"), file));
            }
        }
    }
    files.sort();
    files
}

fn list(path: &Path, found: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        found.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).expect("a folder can be listed") {
        list(&entry.expect("a folder can be listed").path(), found);
    }
}

/// Whether a file is a module of this repository: the vendored ones are served as they are.
fn is_own_module(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|it| it.to_str());
    matches!(extension, Some("js" | "mjs")) && !name.starts_with("vendor/")
}

/// A text without its indentation and the lines that are comments only.
fn without_indentation(text: &str) -> String {
    let is_comment = |line: &str| line.starts_with("/*") && line.ends_with("*/");
    let lines = text.lines().map(str::trim).map(|line| if is_comment(line) { "" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A module without the lines that are comments only, a fifth of it: types and explanations, which
/// a browser does not use. Empty lines remain in their places, so that the numbers of lines in
/// stack traces are those of the repository.
fn without_comments(module: &str) -> String {
    let mut kept = String::with_capacity(module.len());
    let mut in_block = false;
    for line in module.lines() {
        let text = line.trim_start();
        in_block |= text.starts_with("/**");
        let rest = match (in_block, line.split_once("*/")) {
            (true, None) => "",
            (true, Some((_, after))) => {
                in_block = false;
                // A type in front of an expression is left as it is.
                let is_type = text.starts_with("/**");
                if after.trim().is_empty() {
                    ""
                } else if is_type {
                    line
                } else {
                    after
                }
            }
            (false, _) if text.starts_with("//") => "",
            (false, _) => line,
        };
        kept.push_str(rest);
        kept.push('\n');
    }
    kept
}

/// JSON without the white space between its tokens. By hand, so that the build script needs no JSON
/// library; a test parses the result.
fn minified(document: &[u8]) -> Vec<u8> {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |byte: &u8| {
        if is_escaped {
            is_escaped = false;
        } else if in_string && *byte == b'\\' {
            is_escaped = true;
        } else if *byte == b'"' {
            in_string = !in_string;
        }
        in_string || !byte.is_ascii_whitespace()
    };
    document.iter().copied().filter(is_kept).chain([b'\n']).collect()
}
