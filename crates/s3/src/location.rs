//! The location of a bucket: an address, parsed and checked before anything is sent.

use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);
/// The timeout of one request: a part of 8 MiB over a slow connection.
const REQUEST: Duration = Duration::from_mins(1);
/// How long a request is retried before it fails.
const RETRY: Duration = Duration::from_secs(10);
/// The maximum number of retries.
const RETRIES: usize = 3;
/// The region if none is given; only Amazon's buckets need the right one.
const REGION: &str = "us-east-1";

/// An invalid address of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LocationError {
    /// It is an address of another kind.
    #[error("`{given}` is not of the form `s3://bucket/prefix?endpoint=…`")]
    Form {
        /// The given value.
        given: String,
    },
    /// An unknown parameter.
    #[error("`{name}` means nothing here, only `endpoint` and `region` do")]
    Unknown {
        /// The name of the parameter.
        name: String,
    },
    /// It contains credentials.
    #[error("keys do not belong into an address, give them as `AWS_ACCESS_KEY_ID` and so on")]
    Keys,
    /// The settings are inconsistent.
    #[error("the bucket cannot be used: {reason}")]
    Settings {
        /// The reason.
        reason: String,
    },
}

/// The location of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Location {
    /// Its name.
    pub bucket: String,
    /// The prefix of all objects, without a slash at either end; may be empty.
    pub prefix: String,
    /// The endpoint, if it is not Amazon.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
}

impl S3Location {
    /// Parses an address.
    pub fn parse(given: &str) -> Result<Self, LocationError> {
        let form = || LocationError::Form { given: given.to_owned() };
        let rest = given.strip_prefix("s3://").ok_or_else(form)?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.contains('@') {
            return Err(LocationError::Keys);
        }
        let is_name = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let prefix = prefix.trim_matches('/');
        if bucket.is_empty() || !is_name(bucket) || !prefix.split('/').all(is_name) {
            return Err(form());
        }
        let (mut endpoint, mut region) = (None, None);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_decode_str(value).decode_utf8().map_err(|_| form())?.into_owned();
            match name {
                "endpoint" if value.starts_with("http://") || value.starts_with("https://") => {
                    endpoint = Some(value);
                }
                "region" if is_name(&value) && !value.is_empty() => region = Some(value),
                "endpoint" | "region" => return Err(form()),
                _ => return Err(LocationError::Unknown { name: name.to_owned() }),
            }
        }
        if endpoint.as_ref().is_some_and(|endpoint: &String| endpoint.contains('@')) {
            return Err(LocationError::Keys);
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned(), endpoint, region })
    }

    /// A client of the bucket, with the keys of the environment. Nothing is sent yet.
    pub(crate) fn client(&self) -> Result<AmazonS3, LocationError> {
        let is_plain = self.endpoint.as_ref().is_some_and(|it| it.starts_with("http://"));
        let client = ClientOptions::new()
            .with_connect_timeout(CONNECT)
            .with_timeout(REQUEST)
            .with_allow_http(is_plain);
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_client_options(client)
            .with_retry(retry);
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let from_env = ["AWS_REGION", "AWS_DEFAULT_REGION"].map(std::env::var_os);
        match &self.region {
            Some(region) => builder = builder.with_region(region),
            None if from_env.iter().all(Option::is_none) => builder = builder.with_region(REGION),
            None => {}
        }
        builder.build().map_err(|error| LocationError::Settings { reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(
        bucket: &str,
        prefix: &str,
        endpoint: Option<&str>,
        region: Option<&str>,
    ) -> S3Location {
        let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
        S3Location {
            bucket,
            prefix,
            endpoint: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
        }
    }

    #[test]
    fn good_addresses_are_taken_apart() {
        for (given, due) in [
            ("s3://files", location("files", "", None, None)),
            ("s3://files/", location("files", "", None, None)),
            ("s3://files/team/a/", location("files", "team/a", None, None)),
            (
                "s3://files/a?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=eu-1",
                location("files", "a", Some("http://127.0.0.1:9000"), Some("eu-1")),
            ),
            (
                "s3://files?endpoint=http://127.0.0.1:9000",
                location("files", "", Some("http://127.0.0.1:9000"), None),
            ),
        ] {
            assert_eq!(S3Location::parse(given), Ok(due), "{given}");
        }
    }

    #[test]
    fn bad_addresses_are_refused() {
        let form = |given: &str| LocationError::Form { given: given.to_owned() };
        for given in [
            "",
            "files",
            "/var/files",
            "http://files",
            "s3://",
            "s3:///a",
            "s3://a b",
            "s3://files/a b",
            "s3://files/a//b?endpoint=ftp://x",
            "s3://files?endpoint=127.0.0.1:9000",
            "s3://files?region=",
            "s3://files?region=a/b",
        ] {
            assert_eq!(S3Location::parse(given), Err(form(given)), "{given}");
        }
        let unknown = LocationError::Unknown { name: "acl".to_owned() };
        assert_eq!(S3Location::parse("s3://files?acl=public"), Err(unknown));
        assert_eq!(S3Location::parse("s3://key:secret@files"), Err(LocationError::Keys));
        let keyed = "s3://files?endpoint=http://key:secret@127.0.0.1:9000";
        assert_eq!(S3Location::parse(keyed), Err(LocationError::Keys));
    }
}
