//! The table of settings: name in the file, option, environment variable, type and default.

use std::net::SocketAddr;

/// The schemes of the URLs that a client accepts.
const SCHEMES: [&str; 4] = ["http", "https", "ws", "wss"];

/// The type of a setting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueType {
    /// Any string.
    Text,
    /// One URL of a server, or several separated by commas.
    Urls,
    /// An address and a port.
    Address,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count { min: u64, max: u64 },
    /// Names: a list in the file, comma-separated elsewhere.
    Names,
    /// One of these.
    Choice(&'static [&'static str]),
}

/// A setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// The name in the file, with its table.
    pub(crate) name: &'static str,
    pub(crate) option: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) value_type: ValueType,
    /// None if there is no default.
    pub(crate) default: Option<&'static str>,
    /// Never printed.
    pub(crate) is_secret: bool,
}

const fn key(
    name: &'static str,
    option: &'static str,
    variable: &'static str,
    value_type: ValueType,
    default: Option<&'static str>,
) -> Key {
    Key { name, option, variable, value_type, default, is_secret: false }
}

pub(crate) const URL: Key =
    key("url", "--url", "BATON_URL", ValueType::Urls, Some("http://127.0.0.1:4747"));
pub(crate) const WORKSPACE: Key =
    key("workspace", "--workspace", "BATON_WORKSPACE", ValueType::Text, None);
pub(crate) const AGENT: Key = key("agent", "--agent", "BATON_AGENT", ValueType::Text, Some("cli"));
pub(crate) const TOKEN: Key =
    Key { is_secret: true, ..key("token", "--access-token", "BATON_TOKEN", ValueType::Text, None) };
pub(crate) const CA_FILE: Key = key("ca_file", "--ca-file", "BATON_CA_FILE", ValueType::Text, None);
pub(crate) const OUTPUT: Key = key(
    "output",
    "--output",
    "BATON_OUTPUT",
    ValueType::Choice(&["table", "json", "jsonl", "yaml"]),
    None,
);

pub(crate) const LISTEN: Key =
    key("serve.listen", "--listen", "BATON_LISTEN", ValueType::Address, Some("127.0.0.1:4747"));
pub(crate) const DATA: Key =
    key("serve.data", "--data", "BATON_DATA", ValueType::Text, Some("./.baton"));
pub(crate) const LOG: Key = Key {
    // It may contain a password.
    is_secret: true,
    ..key("serve.log", "--log", "BATON_LOG", ValueType::Text, None)
};
pub(crate) const ADVERTISE: Key =
    key("serve.advertise", "--advertise", "BATON_ADVERTISE", ValueType::Text, None);
pub(crate) const SHARDS: Key =
    key("serve.shards", "--shards", "BATON_SHARDS", ValueType::Count { min: 1, max: 256 }, None);
pub(crate) const SECRETS_KEY_FILE: Key = key(
    "serve.secrets_key_file",
    "--secrets-key-file",
    "BATON_SECRETS_KEY_FILE",
    ValueType::Text,
    None,
);
pub(crate) const ARTIFACTS: Key =
    key("serve.artifacts", "--artifacts", "BATON_ARTIFACTS", ValueType::Text, None);
pub(crate) const TOKENS: Key =
    key("serve.tokens", "--tokens", "BATON_TOKENS", ValueType::Flag, Some("false"));
pub(crate) const JWT_KEY: Key =
    key("serve.jwt_key", "--jwt-key", "BATON_JWT_KEY", ValueType::Text, None);
pub(crate) const JWT_JWKS: Key =
    key("serve.jwt_jwks", "--jwt-jwks", "BATON_JWT_JWKS", ValueType::Text, None);
pub(crate) const JWT_ISSUER: Key =
    key("serve.jwt_issuer", "--jwt-issuer", "BATON_JWT_ISSUER", ValueType::Text, None);
pub(crate) const JWT_AUDIENCE: Key =
    key("serve.jwt_audience", "--jwt-audience", "BATON_JWT_AUDIENCE", ValueType::Text, None);
pub(crate) const TLS_CERT: Key =
    key("serve.tls_cert", "--tls-cert", "BATON_TLS_CERT", ValueType::Text, None);
pub(crate) const TLS_KEY: Key =
    key("serve.tls_key", "--tls-key", "BATON_TLS_KEY", ValueType::Text, None);
pub(crate) const HOSTS: Key =
    key("serve.hosts", "--host", "BATON_HOSTS", ValueType::Names, Some(""));
pub(crate) const CONNECTIONS_MAX: Key = key(
    "serve.connections_max",
    "--connections-max",
    "BATON_CONNECTIONS_MAX",
    ValueType::Count { min: 1, max: 1_000_000 },
    Some("16384"),
);
pub(crate) const EXIT_IDLE_MS: Key = key(
    "serve.exit_idle_ms",
    "--exit-idle-ms",
    "BATON_EXIT_IDLE_MS",
    ValueType::Count { min: 0, max: 86_400_000 },
    Some("0"),
);
pub(crate) const WEBHOOKS: Key =
    key("serve.webhooks", "--webhooks", "BATON_WEBHOOKS", ValueType::Flag, Some("false"));
pub(crate) const WEBHOOKS_PRIVATE: Key = key(
    "serve.webhooks_private",
    "--webhooks-private",
    "BATON_WEBHOOKS_PRIVATE",
    ValueType::Flag,
    Some("false"),
);
pub(crate) const A2A_PEERS: Key =
    key("serve.a2a_peers", "--a2a-peer", "BATON_A2A_PEERS", ValueType::Names, Some(""));
pub(crate) const A2A_PEER_TOKENS: Key = key(
    "serve.a2a_peer_tokens",
    "--a2a-peer-token",
    "BATON_A2A_PEER_TOKENS",
    ValueType::Names,
    Some(""),
);
pub(crate) const A2A_REGISTERED: Key = key(
    "serve.a2a_registered",
    "--a2a-registered",
    "BATON_A2A_REGISTERED",
    ValueType::Names,
    Some(""),
);
pub(crate) const A2A_PEERS_PRIVATE: Key = key(
    "serve.a2a_peers_private",
    "--a2a-peers-private",
    "BATON_A2A_PEERS_PRIVATE",
    ValueType::Flag,
    Some("false"),
);
pub(crate) const DISK_FREE_MIB_MIN: Key = key(
    "serve.disk_free_mib_min",
    "--disk-free-mib-min",
    "BATON_DISK_FREE_MIB_MIN",
    ValueType::Count { min: 0, max: 1_000_000 },
    Some("64"),
);

pub(crate) const LOG_LEVEL: Key = key(
    "serve.log_level",
    "--log-level",
    "BATON_LOG_LEVEL",
    ValueType::Choice(&["off", "error", "warn", "info", "debug"]),
    Some("info"),
);
pub(crate) const LOG_FORMAT: Key = key(
    "serve.log_format",
    "--log-format",
    "BATON_LOG_FORMAT",
    ValueType::Choice(&["text", "json"]),
    Some("text"),
);
pub(crate) const LOG_SLOW_MS: Key = key(
    "serve.log_slow_ms",
    "--log-slow-ms",
    "BATON_LOG_SLOW_MS",
    ValueType::Count { min: 1, max: 3_600_000 },
    Some("500"),
);

pub(crate) const OTEL_ENDPOINT: Key =
    key("otel.endpoint", "--otel-endpoint", OTEL_VARIABLES[0], ValueType::Text, None);
pub(crate) const OTEL_HEADERS: Key = Key {
    is_secret: true,
    ..key("otel.headers", "--otel-headers", OTEL_VARIABLES[1], ValueType::Text, None)
};
/// The standard variables of OpenTelemetry. A build without it must not fail to start because of
/// variables meant for other programs, so it has its own.
#[cfg(feature = "otel")]
const OTEL_VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"];
#[cfg(not(feature = "otel"))]
const OTEL_VARIABLES: [&str; 2] = ["BATON_OTEL_ENDPOINT", "BATON_OTEL_HEADERS"];

/// Settings of every command.
pub(crate) const COMMON: [&Key; 6] = [&URL, &WORKSPACE, &AGENT, &TOKEN, &CA_FILE, &OUTPUT];
/// Settings of `baton serve`.
pub(crate) const SERVE: [&Key; 29] = [
    &LISTEN,
    &DATA,
    &LOG,
    &ADVERTISE,
    &SHARDS,
    &SECRETS_KEY_FILE,
    &ARTIFACTS,
    &TOKENS,
    &JWT_KEY,
    &JWT_JWKS,
    &JWT_ISSUER,
    &JWT_AUDIENCE,
    &TLS_CERT,
    &TLS_KEY,
    &HOSTS,
    &CONNECTIONS_MAX,
    &EXIT_IDLE_MS,
    &WEBHOOKS,
    &WEBHOOKS_PRIVATE,
    &A2A_PEERS,
    &A2A_PEER_TOKENS,
    &A2A_REGISTERED,
    &A2A_PEERS_PRIVATE,
    &DISK_FREE_MIB_MIN,
    &LOG_LEVEL,
    &LOG_FORMAT,
    &LOG_SLOW_MS,
    &OTEL_ENDPOINT,
    &OTEL_HEADERS,
];

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    COMMON.into_iter().chain(SERVE)
}

impl ValueType {
    /// The error in a value, if any.
    pub(crate) fn fault(self, text: &str) -> Option<String> {
        match self {
            Self::Text | Self::Names => None,
            Self::Urls => text.split(',').find_map(|url| {
                let (scheme, rest) = url.trim().split_once("://").unwrap_or_default();
                let is_url = SCHEMES.contains(&scheme) && !rest.is_empty();
                (!is_url).then(|| format!("`{}` is not an http or https URL", url.trim()))
            }),
            Self::Address => text
                .parse::<SocketAddr>()
                .is_err()
                .then(|| format!("`{text}` is not an address and port, such as 127.0.0.1:4747")),
            Self::Flag => {
                text.parse::<bool>().is_err().then(|| format!("`{text}` is not true or false"))
            }
            Self::Count { min, max } => {
                let is_within = text.parse::<u64>().is_ok_and(|count| (min..=max).contains(&count));
                (!is_within).then(|| format!("`{text}` is not a number from {min} to {max}"))
            }
            Self::Choice(names) => (!names.contains(&text))
                .then(|| format!("`{text}` is not one of {}", names.join(", "))),
        }
    }

    /// The name of the type in messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Text | Self::Urls | Self::Address | Self::Choice(_) => "a string",
            Self::Flag => "true or false",
            Self::Count { .. } => "a whole number",
            Self::Names => "a list of strings",
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_server::Settings as ServerDefaults;
    use baton_server::server_log::Level;

    use super::*;

    #[test]
    fn every_default_is_valid() {
        for key in all() {
            let fault = key.default.and_then(|default| key.value_type.fault(default));
            assert_eq!(fault, None, "{}", key.name);
        }
        let connections_max = ServerDefaults::default().connections_max.to_string();
        assert_eq!(CONNECTIONS_MAX.default, Some(connections_max.as_str()));
        let slow_ms = ServerDefaults::default().slow.as_millis().to_string();
        assert_eq!(LOG_SLOW_MS.default, Some(slow_ms.as_str()));
        let names = Level::ALL.map(Level::name);
        assert!(names.iter().all(|name| LOG_LEVEL.value_type.fault(name).is_none()));
        assert_eq!(LISTEN.default, Some(ServerDefaults::default().listen.to_string().as_str()));
    }

    #[test]
    fn the_files_in_deploy_name_settings_that_exist() {
        let files = [
            include_str!("../../../../deploy/compose.yaml"),
            include_str!("../../../../deploy/k8s.yaml"),
        ];
        for file in files {
            let is_part = |sign: char| sign.is_ascii_uppercase() || sign == '_';
            let words = file.split(|sign| !is_part(sign));
            let named: Vec<&str> = words.filter(|word| word.starts_with("BATON_")).collect();
            assert!(named.contains(&ADVERTISE.variable), "{named:?}");
            for name in named {
                assert!(all().any(|key| key.variable == name), "`{name}` is not a setting");
            }
        }
    }
}
