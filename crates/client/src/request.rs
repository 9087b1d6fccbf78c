//! Requests that are described step by step and sent when they are awaited.

use baton_core::Rejection;

/// A request, or the first of its names and values that is not valid.
pub(crate) type Prepared<T> = Result<T, Rejection>;

/// A type that collects the fields of one request, with a method for each of them, and sends it
/// when it is awaited.
///
/// ```text
/// request! {
///     /// What it does when it is awaited.
///     Name(Fields) -> Reply: |workspace, fields| a future of the reply;
///     /// What the field means.
///     setter(argument: Type) |fields| fields.name = Some(argument);
/// }
/// ```
///
/// A setter may fail with `?`; the error is returned when the request is awaited, and nothing is
/// sent.
macro_rules! request {
    (
        $(#[$attribute:meta])*
        $name:ident($fields:ty) -> $reply:ty: |$workspace:ident, $sent:ident| $send:expr;
        $(
            $(#[$doc:meta])*
            $setter:ident($($argument:ident: $type:ty),*) |$set:ident| $change:expr;
        )*
    ) => {
        $(#[$attribute])*
        #[must_use = "nothing is sent before this is awaited"]
        pub struct $name {
            workspace: $crate::Workspace,
            request: $crate::request::Prepared<$fields>,
        }

        impl $name {
            pub(crate) fn new(
                workspace: &$crate::Workspace,
                request: $crate::request::Prepared<$fields>,
            ) -> Self {
                Self { workspace: workspace.clone(), request }
            }

            $(
                $(#[$doc])*
                pub fn $setter(mut self, $($argument: $type),*) -> Self {
                    self.request = self.request.and_then(|mut $set| {
                        $change;
                        Ok($set)
                    });
                    self
                }
            )*
        }

        impl std::future::IntoFuture for $name {
            type Output = Result<$reply, $crate::Error>;
            type IntoFuture = $crate::Pending<'static, $reply>;

            fn into_future(self) -> Self::IntoFuture {
                let Self { workspace: $workspace, request } = self;
                Box::pin(async move {
                    let $sent = request?;
                    $send.await
                })
            }
        }
    };
}

pub(crate) use request;
