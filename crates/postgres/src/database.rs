//! Connections, and what an error means.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_cluster::{Network, NetworkSender, now_ms};
use baton_log::OpenError;
use baton_log::ownership::{PAUSE_MS, REPEAT_MS};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row};

use crate::location::PostgresLocation;
use crate::tls::MakeEncrypted;

const PAUSE: Duration = Duration::from_millis(PAUSE_MS);
/// How long one answer is awaited. The database ends the statement before that.
const ANSWER_MAX: Duration = Duration::from_secs(8);
/// Idle connections that are kept for the next statement.
const SPARE_MAX: usize = 4;
/// A setting of the user is kept if it is stronger than what is needed. Statements other than
/// appends end after five seconds.
const SESSION: &str = "select set_config('search_path', $1, false), \
    set_config('lock_timeout', '2s', false), set_config('statement_timeout', $2, false), \
    set_config('synchronous_commit', $3, false)
    where $3 <> '' or current_setting('synchronous_commit') in ('off', 'local')
    union all select set_config('search_path', $1, false), \
    set_config('lock_timeout', '2s', false), set_config('statement_timeout', $2, false), \
    current_setting('synchronous_commit')
    where $3 = '' and current_setting('synchronous_commit') not in ('off', 'local')";

/// The purpose of a connection.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Appends. They are never cancelled: a cancelled wait for a standby is reported as success.
    Append,
    /// Beats. Losing one in a crash of the database does no harm, so they wait for no disk.
    Beat,
    /// Everything else.
    Other,
}

/// Why a statement has no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The connection broke, or there was no answer: it may have been executed.
    Broken(String),
    /// The database reported that it was not executed because of a lock or a timeout.
    Again(String),
    /// The database has no space. Nothing was executed.
    Full,
    /// The database refused it. Nothing was executed.
    Refused(String),
    /// The user lacks a permission. Nothing was executed.
    Denied(String),
}

impl Failure {
    fn of(error: &tokio_postgres::Error) -> Self {
        let Some(answered) = error.as_db_error() else {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            return Self::Broken(cause.unwrap_or_else(|| error.to_string()));
        };
        let (code, said) = (answered.code(), answered.message().to_owned());
        let is_broken = code.code().starts_with("08")
            || [
                &SqlState::ADMIN_SHUTDOWN,
                &SqlState::CRASH_SHUTDOWN,
                &SqlState::CANNOT_CONNECT_NOW,
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
            ]
            .contains(&code);
        match code {
            _ if is_broken => Self::Broken(said),
            code if *code == SqlState::DISK_FULL => Self::Full,
            code if [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED].contains(code) => {
                Self::Again(said)
            }
            code if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::Denied(said),
            _ => Self::Refused(said),
        }
    }

    /// The words for an operator.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Broken(said) | Self::Again(said) | Self::Refused(said) | Self::Denied(said) => {
                said.clone()
            }
            Self::Full => "the database has no space left".to_owned(),
        }
    }

    /// The corresponding error while the log is opened.
    pub(crate) fn at_opening(&self, location: &str) -> OpenError {
        OpenError::Away { location: location.to_owned(), reason: self.reason() }
    }
}

/// A parameter of a statement.
#[derive(Clone)]
pub(crate) enum Value {
    Int(i32),
    Long(i64),
    Text(String),
    Texts(Vec<String>),
    Bytes(Arc<[u8]>),
}

impl Value {
    fn parameter(&self) -> (Parameter<'_>, Type) {
        match self {
            Self::Int(number) => (Parameter::Sized(number), Type::INT4),
            Self::Long(number) => (Parameter::Sized(number), Type::INT8),
            Self::Text(text) => (Parameter::Sized(text), Type::TEXT),
            Self::Texts(texts) => (Parameter::Sized(texts), Type::TEXT_ARRAY),
            Self::Bytes(bytes) => (Parameter::Bytes(bytes), Type::BYTEA),
        }
    }
}

/// A reference to a parameter: bytes have no size that the driver's trait object could borrow.
enum Parameter<'a> {
    Sized(&'a (dyn ToSql + Sync)),
    Bytes(&'a [u8]),
}

/// One connection.
pub(crate) struct Session {
    client: Client,
    /// Whether the database has warned since the connection was made. The answer to a statement
    /// after a warning may not be what it seems: a commit whose wait for a standby was cancelled is
    /// reported as a success.
    is_warned: Arc<AtomicBool>,
}

impl Session {
    /// Executes one statement: one round trip.
    pub(crate) async fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let parameters: Vec<_> = values.iter().map(Value::parameter).collect();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> = parameters
            .iter()
            .map(|(parameter, kind)| match parameter {
                Parameter::Sized(value) => (*value, kind.clone()),
                Parameter::Bytes(bytes) => (bytes as &(dyn ToSql + Sync), kind.clone()),
            })
            .collect();
        let answer = tokio::time::timeout(ANSWER_MAX, self.client.query_typed(sql, &parameters));
        match answer.await {
            Ok(_) if self.is_warned.load(Ordering::SeqCst) => {
                Err(Failure::Broken("the database has sent a warning".to_owned()))
            }
            Ok(rows) => rows.map_err(|error| Failure::of(&error)),
            Err(_) => Err(Failure::Broken("the database does not answer".to_owned())),
        }
    }

    fn is_open(&self) -> bool {
        !self.client.is_closed()
    }
}

/// Receives what a connection sends, until it ends.
async fn receive<S, T>(mut connection: Connection<S, T>, is_warned: Arc<AtomicBool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            is_warned.store(true, Ordering::SeqCst);
        }
    }
}

struct Inner {
    location: PostgresLocation,
    spare: Mutex<Vec<Session>>,
}

/// A database. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Database {
    inner: Arc<Inner>,
    network: NetworkSender,
}

impl Database {
    pub(crate) fn new(location: PostgresLocation) -> std::io::Result<(Self, Network)> {
        let network = Network::start("baton-postgres")?;
        let sender = network.sender().ok_or_else(|| std::io::Error::other("it has ended"))?;
        let inner = Arc::new(Inner { location, spare: Mutex::default() });
        Ok((Self { inner, network: sender }, network))
    }

    pub(crate) fn location(&self) -> &PostgresLocation {
        &self.inner.location
    }

    /// Runs work on the network thread, and waits for it. None if that thread has ended.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.network.wait(work)
    }

    /// Starts work whose result is not awaited here.
    pub(crate) fn spawn(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        self.network.spawn(work)
    }

    /// Connects.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Session, Failure> {
        let location = &self.inner.location;
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let is_warned = Arc::new(AtomicBool::new(false));
        let client = match &location.trust {
            None => {
                let (client, connection) = location.config.connect(NoTls).await.map_err(failed)?;
                drop(tokio::spawn(receive(connection, Arc::clone(&is_warned))));
                client
            }
            Some(trust) => {
                let tls = MakeEncrypted::new(trust);
                let (client, connection) = location.config.connect(tls).await.map_err(failed)?;
                drop(tokio::spawn(receive(connection, Arc::clone(&is_warned))));
                client
            }
        };
        let (timeout, commit) = match purpose {
            Purpose::Append => ("0", ""),
            Purpose::Beat => ("2s", "off"),
            Purpose::Other => ("5s", ""),
        };
        let session = Session { client, is_warned };
        let settings = [location.schema.as_str(), timeout, commit];
        let settings = settings.map(|text| Value::Text(text.to_owned()));
        session.query(SESSION, &settings).await?;
        Ok(session)
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Session>> {
        self.inner.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn attempt(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let spare = self.spare().pop().filter(Session::is_open);
        let session = match spare {
            Some(session) => session,
            None => self.connect(Purpose::Other).await?,
        };
        let rows = session.query(sql, values).await;
        let mut spare = self.spare();
        if !matches!(rows, Err(Failure::Broken(_))) && spare.len() < SPARE_MAX {
            spare.push(session);
        }
        rows
    }

    /// Executes one statement that has the same effect when it is repeated. It is repeated while
    /// connections break.
    pub(crate) async fn query(&self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, Failure> {
        let begun = now_ms();
        loop {
            match self.attempt(sql, &values).await {
                Err(Failure::Broken(_) | Failure::Again(_)) if now_ms() < begun + REPEAT_MS => {
                    tokio::time::sleep(PAUSE).await;
                }
                answered => return answered,
            }
        }
    }

    /// Executes one statement, and does not repeat it.
    pub(crate) async fn query_once(
        &self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Failure> {
        self.attempt(sql, &values).await
    }

    /// Like [`query`](Self::query), for a statement that has exactly one row; not repeated.
    pub(crate) async fn query_one(&self, sql: &str, values: Vec<Value>) -> Result<Row, Failure> {
        let rows = self.attempt(sql, &values).await?;
        let none = || Failure::Refused("a row that must exist is missing".to_owned());
        rows.into_iter().next().ok_or_else(none)
    }

    /// Executes several statements without parameters.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), Failure> {
        let session = self.connect(Purpose::Other).await?;
        session.client.batch_execute(sql).await.map_err(|error| Failure::of(&error))
    }

    /// [`query`](Self::query) for blocking callers.
    pub(crate) fn ask(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Failure> {
        let database = self.clone();
        let answer = self.wait(async move { database.query(sql, values).await });
        answer.unwrap_or_else(|| Err(Failure::Broken("the log is being closed".to_owned())))
    }
}
