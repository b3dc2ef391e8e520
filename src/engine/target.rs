//! TARGET URLs: which server, how to reach it, and a password that is printed nowhere.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use url::Url;

use super::error::EngineError;

/// A password. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The first line of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn from_file(path: &Path) -> Result<Self, EngineError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            EngineError::Target(format!(
                "cannot read the password file {}: {error}",
                path.display()
            ))
        })?;
        Ok(Self(text.lines().next().unwrap_or_default().to_owned()))
    }

    /// `RASHOMON_PASSWORD`, where it is set.
    pub fn from_environment() -> Option<Self> {
        std::env::var("RASHOMON_PASSWORD").ok().map(Self)
    }

    /// For the login, and for nothing else.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What the URL of an engine names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// A file or folder, or nothing: the engine lives in this process.
    Path,
    /// Nothing: the engine lives in this process and keeps nothing.
    Process,
    /// A host; databases of our own are made there, and none is named.
    Host,
    /// A host and the database that the login goes to.
    HostAndDatabase,
}

impl AddressKind {
    /// Whether the server is reached over a connection to somewhere.
    pub(super) fn has_host(self) -> bool {
        match self {
            Self::Host | Self::HostAndDatabase => true,
            Self::Path | Self::Process => false,
        }
    }
}

/// A parsed TARGET. Its `Display` is the URL without the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    scheme: String,
    address: Address,
    password: Option<Password>,
    /// The query part, decoded.
    parameters: BTreeMap<String, String>,
}

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    /// A file, for engines that live in the process; none is a temporary folder.
    Path(Option<PathBuf>),
    /// This process.
    Process,
    Host {
        user: Option<String>,
        host: String,
        port: Option<u16>,
        /// Where the login goes, on engines whose logins go to one database.
        database: Option<String>,
    },
}

impl Target {
    /// Reads a URL whose scheme is that of an engine with addresses of this kind.
    pub(super) fn of_url(url: &Url, kind: AddressKind) -> Result<Self, EngineError> {
        if url.fragment().is_some() {
            return Err(EngineError::Target(
                "a target has no part after #: write %23 where it belongs to a name".to_owned(),
            ));
        }
        let address = match kind {
            AddressKind::Path => Address::Path(file_path(url)?),
            AddressKind::Process => nowhere(url)?,
            AddressKind::Host | AddressKind::HostAndDatabase => host_address(url, kind)?,
        };
        Ok(Self {
            scheme: url.scheme().to_owned(),
            address,
            password: url.password().map(|text| Password(decoded(text))),
            parameters: url.query_pairs().into_owned().collect(),
        })
    }

    /// The engine that the URL asks for.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.address {
            Address::Path(path) => path.as_deref(),
            Address::Host { .. } | Address::Process => None,
        }
    }

    /// Whether a run makes a temporary folder for its databases.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self.address, Address::Path(None))
    }

    /// The same, with its databases in this folder.
    pub(super) fn in_folder(&self, folder: &Path) -> Self {
        Self {
            address: Address::Path(Some(folder.to_owned())),
            ..self.clone()
        }
    }

    pub(super) fn user(&self) -> Option<&str> {
        match &self.address {
            Address::Host { user, .. } => user.as_deref(),
            Address::Path(_) | Address::Process => None,
        }
    }

    pub(super) fn host(&self) -> &str {
        match &self.address {
            Address::Host { host, .. } => host,
            Address::Path(_) | Address::Process => "",
        }
    }

    pub(super) fn port(&self) -> Option<u16> {
        match &self.address {
            Address::Host { port, .. } => *port,
            Address::Path(_) | Address::Process => None,
        }
    }

    pub(super) fn database(&self) -> Option<&str> {
        match &self.address {
            Address::Host { database, .. } => database.as_deref(),
            Address::Path(_) | Address::Process => None,
        }
    }

    /// The password of the URL.
    pub fn password(&self) -> Option<&Password> {
        self.password.as_ref()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Refuses parameters that the engine does not know: a misspelled one must not be silent.
    pub(super) fn only_parameters(&self, known: &[&str]) -> Result<(), EngineError> {
        match self
            .parameters
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        {
            None => Ok(()),
            Some(name) => Err(EngineError::Target(format!(
                "{} takes no parameter {name:?}: one of {}",
                self.scheme,
                known.join(", ")
            ))),
        }
    }
}

/// The address of an engine that has none.
fn nowhere(url: &Url) -> Result<Address, EngineError> {
    if url.has_host() || !url.path().is_empty() {
        return Err(EngineError::Target(format!(
            "the target names a place: {0} keeps nothing anywhere, write {0}: and parameters after ?",
            url.scheme()
        )));
    }
    Ok(Address::Process)
}

fn file_path(url: &Url) -> Result<Option<PathBuf>, EngineError> {
    if url.host_str().is_some_and(|host| !host.is_empty()) {
        return Err(EngineError::Target(
            "a file target has no host: sqlite:PATH, with one slash before an absolute path"
                .to_owned(),
        ));
    }
    let path = decoded(url.path());
    Ok((!path.is_empty()).then(|| PathBuf::from(path)))
}

fn host_address(url: &Url, kind: AddressKind) -> Result<Address, EngineError> {
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return Err(EngineError::Target(format!(
            "the target names no host: {0}://USER:PW@HOST:PORT?socket=PATH",
            url.scheme()
        )));
    };
    let database = decoded(url.path().trim_start_matches('/'));
    if !database.is_empty() && kind == AddressKind::Host {
        return Err(EngineError::Target(
            "the target names a database: leave it out, databases of our own are created"
                .to_owned(),
        ));
    }
    let user = decoded(url.username());
    Ok(Address::Host {
        user: (!user.is_empty()).then_some(user),
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port(),
        database: (!database.is_empty()).then_some(database),
    })
}

/// Undoes percent-encoding. A plus sign stands for itself, as everywhere but in a query.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26");
    url::form_urlencoded::parse(format!("={text}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Percent-encodes what would end a part of a URL, or mean something else in it.
fn encoded(text: &str, reserved: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if c == '%' || reserved.contains(c) {
            shown.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        match &self.address {
            Address::Process => {}
            Address::Path(path) => {
                if let Some(path) = path {
                    f.write_str(&encoded(&path.display().to_string(), "?#"))?;
                }
            }
            Address::Host {
                user,
                host,
                port,
                database,
            } => {
                f.write_str("//")?;
                if let Some(user) = user {
                    write!(f, "{}@", encoded(user, "@:/?#"))?;
                }
                if host.contains(':') {
                    write!(f, "[{host}]")?;
                } else {
                    f.write_str(host)?;
                }
                if let Some(port) = port {
                    write!(f, ":{port}")?;
                }
                if let Some(database) = database {
                    write!(f, "/{}", encoded(database, "?#"))?;
                }
            }
        }
        for (index, (name, value)) in self.parameters.iter().enumerate() {
            let before = if index == 0 { '?' } else { '&' };
            let (name, value) = (encoded(name, "=&#+"), encoded(value, "&#+"));
            write!(f, "{before}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().expect(text)
    }

    fn message(text: &str) -> String {
        text.parse::<Target>().expect_err(text).to_string()
    }

    #[test]
    fn an_address_without_a_scheme_is_shown_with_one() {
        for text in [
            "localhost:3306",
            "127.0.0.1:3306",
            "root@db-1.example:3306",
            "[::1]:3306",
        ] {
            let message = message(text);
            let address = text.trim_start_matches("root@");
            for engine in ["mysql", "mariadb", "tidb"] {
                let url = format!("{engine}://USER@{address}");
                assert!(message.contains(&url), "{message}");
            }
        }
        let secret = message("root:s3cret@localhost:3306");
        assert!(!secret.contains("s3cret"), "{secret}");
    }

    #[test]
    fn a_target_is_read_back_as_it_is_shown() {
        for text in [
            "sqlite:",
            "simulated:?flavour=innodb",
            "sqlite:/var/db/a%3Fb%23c%25d.db?journal=delete",
            "mysql://b%40b%3A@[::1]:3307?socket=/run/a%26b%2B%25%20c%23.sock",
            "postgres://u@h/data%3Fbase",
        ] {
            let meant = target(text);
            assert_eq!(
                target(&meant.to_string()),
                Target {
                    password: None,
                    ..meant
                }
            );
        }
    }

    #[test]
    fn a_password_is_kept_and_never_shown() {
        let target = target("mysql://bob:s%40cr%2Bt+%26x@db.example:3307?socket=/run/a%20b.sock");
        assert_eq!(target.password().map(Password::reveal), Some("s@cr+t+&x"));
        assert_eq!(
            target.to_string(),
            "mysql://bob@db.example:3307?socket=/run/a b.sock"
        );
        for shown in [format!("{target}"), format!("{target:?}")] {
            assert!(!shown.contains("s@cr"), "{shown}");
        }
        assert_eq!(target.parameter("socket"), Some("/run/a b.sock"));
    }

    #[test]
    fn sqlite_targets_name_a_file_or_nothing() {
        assert_eq!(target("sqlite:").path(), None);
        assert_eq!(target("sqlite:?journal=delete").path(), None);
        assert_eq!(
            target("sqlite:?journal=delete").parameter("journal"),
            Some("delete")
        );
        assert_eq!(
            target("sqlite:/tmp/a%20b.db").path(),
            Some(Path::new("/tmp/a b.db"))
        );
        assert_eq!(
            target("sqlite:rel/x+y.db").path(),
            Some(Path::new("rel/x+y.db"))
        );
    }

    #[test]
    fn what_is_not_understood_says_what_is_expected() {
        assert!(message("simulated:file").contains("simulated:"));
        assert!(message("postgresql://u@h").contains("postgres://"));
        assert!(message("oracle://u@h").contains("unknown engine"));
        assert!(message("mysql://u@h/prod").contains("names a database"));
        assert!(message("mysql:socket").contains("names no host"));
        assert!(message("nonsense").contains("sqlite:"));
        let secret = message("no url at all:hunter2@");
        assert!(!secret.contains("hunter2"), "{secret}");
    }

    #[test]
    fn only_postgres_logs_in_to_a_database() {
        let target = target("postgres://u:secret@h:5433/my%20db?socket=/run/pg");
        assert_eq!(target.database(), Some("my db"));
        assert_eq!(
            target.to_string(),
            "postgres://u@h:5433/my db?socket=/run/pg"
        );
    }

    #[test]
    fn an_unknown_parameter_is_refused() {
        let target = target("sqlite:?jurnal=delete");
        let error = target.only_parameters(&["journal"]).expect_err("misspelt");
        assert!(error.to_string().contains("jurnal"));
    }
}
