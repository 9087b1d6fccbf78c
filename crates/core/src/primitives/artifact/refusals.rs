//! The reasons to refuse commands and queries of artifacts.

use serde::Serialize;
use thiserror::Error;

use crate::names::ArtifactId;
use crate::refusal::{OutOfRange, TooLarge, TooMany};

crate::refusals! {
    /// Why an artifact command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The artifact does not exist.
        #[error("there is no artifact `{artifact}`")]
        NotFound {
            /// The artifact.
            artifact: ArtifactId,
        } => {
            code: "artifact.not_found",
            kind: NotFound,
            hint: "upload it first; it may have expired without being referenced",
            cause: "It was never uploaded, was deleted, or was not referenced within its \
                `keep_ms`. Commands that reference a missing artifact are rejected as well: \
                `{\"artifact\": \"sha256:…\"}` in a value, or an id in a list of `artifacts`.",
            remedy: "Upload it, then retry.",
        }
        /// The uploaded bytes do not have the expected digest.
        #[error("the uploaded bytes are `{artifact}`, not `{expected}`")]
        Mismatch {
            /// The digest of the uploaded bytes.
            artifact: ArtifactId,
            /// The expected digest.
            expected: ArtifactId,
        } => {
            code: "artifact.mismatch",
            kind: Invalid,
            hint: "checksum mismatch: upload again, or correct the expected digest",
            cause: "The digest in the header `Baton-Artifact` or `Content-Digest` does not match \
                the bytes. Nothing was stored.",
            remedy: "Upload again, or correct the expected digest.",
        }
        /// The artifact is referenced, so it cannot be deleted.
        #[error(
            "artifact `{artifact}` is referenced by {references} records; the first is `{holder}`"
        )]
        InUse {
            /// The artifact.
            artifact: ArtifactId,
            /// The number of references.
            references: u64,
            /// One of them, as a subject.
            holder: String,
        } => {
            code: "artifact.in_use",
            kind: Conflict,
            hint: "delete what references it first; the artifact is then removed automatically",
            cause: "An entry, a task, a hand-off or a checkpoint references it; `holder` is one \
                of `references`.",
            remedy: "Delete what references it. The artifact is then removed automatically, or \
                can be deleted.",
        }
        /// A number in an artifact command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "artifact.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`keep_ms` is less than one second or more than ten years, or `limit` is not a \
                valid page size.",
            remedy: "Use a number within the range in the response.",
        }
        /// The artifact is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "artifact.too_large",
            kind: TooLarge,
            hint: "split it into several artifacts, or keep it in another store",
            cause: "It exceeds 16 GiB. The upload is aborted at that point.",
        }
        /// The workspace has too many artifacts, or too many bytes of artifacts.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "artifact.too_many",
            kind: Exhausted,
            hint: "delete what references artifacts that are no longer needed",
            cause: "There are 200,000 artifacts, or 256 GiB of artifacts.",
            remedy: "Delete what references artifacts that are no longer needed; they are removed \
                once their `keep_ms` has passed.",
        }
    }
}
