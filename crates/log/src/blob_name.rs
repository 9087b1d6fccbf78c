//! Valid names of blobs: relative paths that mean the same on every backend.
//!
//! Names reach the file system unchanged, so the rule lists the allowed characters. Segments of
//! dots alone would escape the folder, and a name that ends in `.partial` would look like a blob
//! that was never committed.

use crate::error::BlobError;

/// The suffix of a blob that is being written.
pub(crate) const PARTIAL_SUFFIX: &str = ".partial";

/// Leaves room for [`PARTIAL_SUFFIX`] in the 255 bytes that file systems allow.
const SEGMENT_BYTES_MAX: usize = 240;
/// Leaves room for the folder in the 4096 bytes that Linux allows for a path.
const NAME_BYTES_MAX: usize = 1024;

/// Refuses an invalid name of a blob.
pub fn check(name: &str) -> Result<(), BlobError> {
    let refuse = |reason| Err(BlobError::Name { name: name.to_owned(), reason });
    if name.len() > NAME_BYTES_MAX {
        return refuse("it has more than 1024 bytes");
    }
    for segment in name.split('/') {
        if segment.is_empty() {
            return refuse("it has an empty segment");
        }
        if segment.len() > SEGMENT_BYTES_MAX {
            return refuse("a segment has more than 240 bytes");
        }
        if !segment.bytes().all(is_allowed) {
            return refuse("a segment has other characters than `a-zA-Z0-9._%-`");
        }
        if segment.bytes().all(|byte| byte == b'.') {
            return refuse("a segment consists of dots");
        }
        if segment.ends_with(PARTIAL_SUFFIX) {
            return refuse("a segment ends in `.partial`");
        }
    }
    Ok(())
}

/// Refuses an invalid prefix of a blob's name.
pub fn check_prefix(prefix: &str) -> Result<(), BlobError> {
    let refuse = |reason| Err(BlobError::Name { name: prefix.to_owned(), reason });
    if prefix.len() > NAME_BYTES_MAX {
        return refuse("it has more than 1024 bytes");
    }
    if !prefix.bytes().all(|byte| byte == b'/' || is_allowed(byte)) {
        return refuse("it has other characters than `a-zA-Z0-9._%-` and `/`");
    }
    match prefix.rsplit_once('/') {
        Some((folder, _)) => check(folder),
        None => Ok(()),
    }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_the_same_everywhere_are_allowed() {
        for name in ["a", "a/b/c", "workspaces/x%2Fy/snapshot-00000000000000000042", "..a", "A_.-"]
        {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_could_leave_the_folder_or_collide_are_refused() {
        let long = "a".repeat(SEGMENT_BYTES_MAX + 1);
        let deep = "a/".repeat(NAME_BYTES_MAX / 2) + "a";
        for name in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a b",
            "a\0",
            "ä",
            "a\\b",
            "~",
            "a.partial",
            "a.partial/b",
            &long,
            &deep,
        ] {
            let refused = check(name).expect_err(name);
            assert_eq!(refused.code(), "log.blob_name", "{name}");
        }
    }

    #[test]
    fn a_prefix_may_end_anywhere_in_a_name() {
        for prefix in ["", "a", "a/", "a/b-", "a/b/c."] {
            assert_eq!(check_prefix(prefix), Ok(()), "{prefix}");
        }
        for prefix in ["/", "../", "a//", "a b", "./a"] {
            assert!(check_prefix(prefix).is_err(), "{prefix}");
        }
    }
}
