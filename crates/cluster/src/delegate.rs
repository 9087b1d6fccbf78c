//! What a log and a server of every store have to say in the same way.

use std::sync::Arc;

use baton_log::ownership::Licence;
use tokio::sync::watch;

use crate::view::View;

/// A server that has joined a log.
pub struct Joined {
    /// Its id.
    pub id: String,
    /// Its licence to answer from memory.
    pub licence: Arc<Licence>,
    /// The servers and shards, as they change.
    pub view: watch::Receiver<Arc<View>>,
    /// Where the data are, and how durable.
    pub description: String,
    /// How many shards the log has.
    pub shards: u32,
    /// What servers of the log prove to each other.
    pub secret: String,
}

/// The part of [`Roster`](crate::Roster) that a field of type [`Joined`] answers.
#[macro_export]
macro_rules! roster_of_joined {
    ($joined:ident) => {
        fn id(&self) -> &str {
            &self.$joined.id
        }

        fn shards(&self) -> u32 {
            self.$joined.shards
        }

        fn secret(&self) -> &str {
            &self.$joined.secret
        }

        fn description(&self) -> &str {
            &self.$joined.description
        }

        fn view(&self) -> ::tokio::sync::watch::Receiver<::std::sync::Arc<$crate::View>> {
            self.$joined.view.clone()
        }

        fn is_gone(&self) -> bool {
            self.$joined.licence.is_lost()
        }
    };
}

/// Implements [`Log`](baton_log::Log) for a shard with the fields `records`, `blobs`, `ownership`
/// and `member`. Others can read the store, so secrets need a log over it.
#[macro_export]
macro_rules! log_of_parts {
    ($shard:ty) => {
        impl ::baton_log::Log for $shard {
            fn start(&self) -> ::baton_log::Position {
                self.records.start()
            }

            fn tail(&self) -> ::baton_log::Position {
                self.records.tail()
            }

            fn append(
                &self,
                expected: ::baton_log::Position,
                body: &[u8],
            ) -> ::std::result::Result<::baton_log::Position, ::baton_log::AppendError> {
                self.records.append(expected, body)
            }

            fn read(
                &self,
                from: ::baton_log::Position,
                bytes_max: usize,
            ) -> ::std::result::Result<Vec<::baton_log::Record>, ::baton_log::ReadError> {
                self.records.read(from, bytes_max)
            }

            fn read_part(
                &self,
                record: ::baton_log::Position,
                offset: u32,
                buffer: &mut [u8],
            ) -> ::std::result::Result<(), ::baton_log::ReadError> {
                self.records.read_part(record, offset, buffer)
            }

            fn truncate(
                &self,
                before: ::baton_log::Position,
            ) -> ::std::result::Result<(), ::baton_log::TruncateError> {
                self.records.truncate(before)
            }

            fn create_blob(
                &self,
                name: &str,
            ) -> ::std::result::Result<Box<dyn ::baton_log::BlobWriter>, ::baton_log::BlobError>
            {
                self.blobs.create(name)
            }

            fn open_blob(
                &self,
                name: &str,
            ) -> ::std::result::Result<
                Option<::std::sync::Arc<dyn ::baton_log::Blob>>,
                ::baton_log::BlobError,
            > {
                self.blobs.open(name)
            }

            fn list_blobs(
                &self,
                prefix: &str,
            ) -> ::std::result::Result<Vec<String>, ::baton_log::BlobError> {
                self.blobs.list(prefix)
            }

            fn delete_blob(&self, name: &str) -> ::std::result::Result<(), ::baton_log::BlobError> {
                self.blobs.delete(name)
            }

            fn description(&self) -> String {
                $crate::Roster::description(&*self.member).to_owned()
            }

            fn can_store_secrets(&self) -> bool {
                false
            }

            fn is_current(&self) -> bool {
                self.ownership.is_current()
            }
        }
    };
}
