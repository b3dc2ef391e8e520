//! A bare connection.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

use super::answer::answer;
use super::failure;
use super::names::{MAINTENANCE, NAME};
use super::overheard::{Overheard, SharedTags};
use crate::engine::access::Access;
use crate::engine::cell::first_text;
use crate::engine::connection::TransactionState;
use crate::engine::error::EngineError;
use crate::engine::session::{BareSession, Fitness, StatementFailure, hang};
use crate::engine::target::Password;
use crate::model::Outcome;

/// `no_active_sql_transaction`.
const NO_TRANSACTION: &str = "25P01";

/// `in_failed_sql_transaction`.
const FAILED_TRANSACTION: &str = "25P02";

/// A connection whose answers are not classified: what the guard and the watcher use.
pub(in crate::engine) struct PostgresSession {
    /// Drives the connection while an answer is waited for, and at no other time.
    runtime: Runtime,
    client: Client,
    id: u64,
    deadline: Duration,
    fitness: Fitness,
    /// The count of the last command tag, where rows came with it.
    reported: Option<u64>,
    tags: SharedTags,
}

impl PostgresSession {
    /// Connects to a database, or to the one that the login goes to. The URL's socket, where it
    /// names one, is preferred to its host.
    pub(super) fn open(access: &Access, database: Option<&str>) -> Result<Self, EngineError> {
        let own = access.target.database().unwrap_or(MAINTENANCE);
        let config = config(access, database.unwrap_or(own));
        let route = Route::of(access);
        let address = route.address();
        let cannot = |cause: String| EngineError::Connect {
            engine: NAME,
            address: address.clone(),
            cause,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| cannot(error.to_string()))?;
        let tags = SharedTags::default();
        let connecting = route.connect(&config, tags.clone());
        let connected = runtime
            .block_on(async { tokio::time::timeout(access.deadline, connecting).await })
            .map_err(|_| cannot(format!("no answer within {} s", access.deadline.as_secs())))?;
        let client = connected.map_err(|cause| match cause {
            NotConnected::Socket(error) => cannot(format!("error connecting to server: {error}")),
            NotConnected::Login(error) => failure::of_connect(address.clone(), &error),
        })?;
        let mut session = Self {
            runtime,
            client,
            id: 0,
            deadline: access.deadline,
            fitness: Fitness::default(),
            reported: None,
            tags,
        };
        session.run("SET standard_conforming_strings = on")?;
        let rows = session.rows("SELECT pg_backend_pid()")?;
        session.id = first_text(&rows)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        Ok(session)
    }
}

impl BareSession for PostgresSession {
    fn engine(&self) -> &'static str {
        NAME
    }

    /// The process that serves the connection.
    fn id(&self) -> u64 {
        self.id
    }

    fn send(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        self.fitness.check(NAME, sql)?;
        self.reported = None;
        self.tags.forget();
        let (client, deadline) = (&self.client, self.deadline);
        let answered = self
            .runtime
            .block_on(async { tokio::time::timeout(deadline, answer(client, sql)).await });
        let failure = match answered {
            Ok(Ok((outcome, reported))) => {
                self.reported = reported;
                return Ok(outcome);
            }
            Ok(Err(error)) => failure::of_statement(sql, &error),
            Err(_) => StatementFailure::NoAnswer(hang(sql, deadline)),
        };
        self.fitness.judge(failure)
    }

    fn reported(&self) -> Option<u64> {
        self.reported
    }

    fn command_tag(&self) -> Option<String> {
        self.tags.first()
    }

    /// A savepoint can be made in a transaction only; a failed one says that it is failed.
    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        let sql = "SAVEPOINT rashomon_state";
        match self.send(sql)? {
            Outcome::Rejected(error) if error.code == NO_TRANSACTION => Ok(TransactionState::None),
            Outcome::Rejected(error) if error.code == FAILED_TRANSACTION => {
                Ok(TransactionState::Open)
            }
            Outcome::Rejected(error) => Err(EngineError::Rejected {
                engine: NAME,
                sql: sql.to_owned(),
                message: format!("{} {}", error.code, error.message),
            }),
            Outcome::Rows(_) | Outcome::Affected(_) => {
                self.run("RELEASE SAVEPOINT rashomon_state")?;
                Ok(TransactionState::Open)
            }
        }
    }
}

/// Why there is no connection.
enum NotConnected {
    Socket(io::Error),
    Login(tokio_postgres::Error),
}

/// Where a server listens.
enum Route {
    /// The file of a socket.
    Socket(PathBuf),
    Port(String, u16),
}

impl Route {
    fn of(access: &Access) -> Self {
        let target = &access.target;
        let port = target.port().unwrap_or(5432);
        match target.parameter("socket") {
            Some(socket) => {
                let (folder, named) = socket_of(socket);
                Self::Socket(folder.join(format!(".s.PGSQL.{}", named.unwrap_or(port))))
            }
            None => Self::Port(target.host().to_owned(), port),
        }
    }

    /// The same for people.
    fn address(&self) -> String {
        match self {
            Self::Socket(file) => file.display().to_string(),
            Self::Port(host, port) => format!("{host}:{port}"),
        }
    }

    /// Logs in there.
    async fn connect(&self, config: &Config, tags: SharedTags) -> Result<Client, NotConnected> {
        match self {
            Self::Socket(file) => {
                let socket = UnixStream::connect(file).await;
                log_in(config, socket.map_err(NotConnected::Socket)?, tags).await
            }
            Self::Port(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port)).await;
                let socket = socket.map_err(NotConnected::Socket)?;
                socket.set_nodelay(true).map_err(NotConnected::Socket)?;
                log_in(config, socket, tags).await
            }
        }
    }
}

async fn log_in(
    config: &Config,
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    tags: SharedTags,
) -> Result<Client, NotConnected> {
    let connected = config
        .connect_raw(Overheard::new(socket, tags), NoTls)
        .await;
    let (client, connection) = connected.map_err(NotConnected::Login)?;
    // The statement that waits for an answer gets the reason why the connection ended.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Who logs in, and to which database.
fn config(access: &Access, database: &str) -> Config {
    let target = &access.target;
    let mut config = Config::new();
    config
        .dbname(database)
        .ssl_mode(SslMode::Disable)
        .application_name("rashomon");
    if let Some(user) = target.user() {
        config.user(user);
    }
    if let Some(password) = &access.password {
        config.password(Password::reveal(password));
    }
    config
}

/// The folder of a socket, and its port where the path names the file itself.
fn socket_of(path: &str) -> (&Path, Option<u16>) {
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL."));
    match (port.and_then(|port| port.parse().ok()), path.parent()) {
        (Some(port), Some(folder)) => (folder, Some(port)),
        _ => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_a_folder_or_the_file_in_it() {
        assert_eq!(
            socket_of("/run/postgresql"),
            (Path::new("/run/postgresql"), None)
        );
        assert_eq!(
            socket_of("/run/x/.s.PGSQL.5433"),
            (Path::new("/run/x"), Some(5433))
        );
        assert_eq!(
            socket_of("/run/.s.PGSQL.x"),
            (Path::new("/run/.s.PGSQL.x"), None)
        );
    }
}
