//! Logs that wrap another one and observe only what is appended.

/// Forwards this part of [`Log`](crate::Log) unchanged to the named field.
#[macro_export]
macro_rules! forward_reads {
    ($log:ident) => {
        fn read(
            &self,
            from: $crate::Position,
            bytes_max: usize,
        ) -> ::std::result::Result<Vec<$crate::Record>, $crate::ReadError> {
            self.$log.read(from, bytes_max)
        }

        fn read_part(
            &self,
            record: $crate::Position,
            offset: u32,
            buffer: &mut [u8],
        ) -> ::std::result::Result<(), $crate::ReadError> {
            self.$log.read_part(record, offset, buffer)
        }

        fn truncate(
            &self,
            before: $crate::Position,
        ) -> ::std::result::Result<(), $crate::TruncateError> {
            self.$log.truncate(before)
        }

        fn create_blob(
            &self,
            name: &str,
        ) -> ::std::result::Result<Box<dyn $crate::BlobWriter>, $crate::BlobError> {
            self.$log.create_blob(name)
        }

        fn open_blob(
            &self,
            name: &str,
        ) -> ::std::result::Result<Option<::std::sync::Arc<dyn $crate::Blob>>, $crate::BlobError> {
            self.$log.open_blob(name)
        }

        fn list_blobs(
            &self,
            prefix: &str,
        ) -> ::std::result::Result<Vec<String>, $crate::BlobError> {
            self.$log.list_blobs(prefix)
        }

        fn is_current(&self) -> bool {
            self.$log.is_current()
        }

        fn can_store_secrets(&self) -> bool {
            self.$log.can_store_secrets()
        }

        fn free_bytes(&self) -> Option<u64> {
            self.$log.free_bytes()
        }

        fn delete_blob(&self, name: &str) -> ::std::result::Result<(), $crate::BlobError> {
            self.$log.delete_blob(name)
        }
    };
}
