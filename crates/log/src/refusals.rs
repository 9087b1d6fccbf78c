//! Errors declared once: variant, message, code, hint, and their documentation.
//!
//! The form is that of the macro with the same name in `baton-core`, on which the log does not
//! depend; errors of the log have no kind, since only their caller knows what they mean for a
//! request.

/// The documentation of one error, for `docs/errors.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable across releases.
    pub code: &'static str,
    /// A description of the error, by line.
    pub summary: &'static [&'static str],
    /// The message as a format string.
    pub message: &'static str,
    /// The next step, as a clause.
    pub hint: &'static str,
    /// Why it happens; none if another enum documents the code.
    pub cause: Option<&'static str>,
    /// The next step in detail; none if the hint is sufficient.
    pub remedy: Option<&'static str>,
}

/// Declares an enum of errors with its codes, its hints and its rows.
macro_rules! refusals {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[doc = $doc:literal])+
                #[error($message:literal $(, $($argument:tt)*)?)]
                $variant:ident $({ $($field:tt)* })? $(( $($tuple:tt)* ))? => {
                    code: $code:literal,
                    hint: $hint:literal,
                    $(cause: $cause:literal,)?
                    $(remedy: $remedy:literal,)?
                }
            )+
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $(
                $(#[doc = $doc])+
                #[error($message $(, $($argument)*)?)]
                $variant $({ $($field)* })? $(( $($tuple)* ))?,
            )+
        }

        impl $name {
            /// The documentation of each error, for `docs/errors.md`.
            $vis const REFUSALS: &'static [$crate::Refusal] = &[
                $($crate::Refusal {
                    code: $code,
                    summary: &[$($doc),+],
                    message: $message,
                    hint: $hint,
                    cause: $crate::refusals::option!($($cause)?),
                    remedy: $crate::refusals::option!($($remedy)?),
                },)+
            ];

            /// Stable across releases; documented in `docs/errors.md`.
            $vis fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)+
                }
            }

            /// The next step, as a sentence.
            $vis fn hint(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $hint,)+
                }
            }
        }
    };
}

/// `Some` of what is given, or `None`.
macro_rules! option {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(crate) use {option, refusals};
