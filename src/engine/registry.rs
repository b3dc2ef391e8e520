//! Every engine, and the one that a TARGET URL asks for.

use std::str::FromStr;

use url::Url;

use super::error::EngineError;
use super::mysql_protocol::PRODUCTS;
use super::opening::{Engine, OpenOptions};
use super::postgres::Postgres;
use super::server::Server;
use super::simulated::Simulated;
use super::sqlite::Sqlite;
use super::target::Target;

/// Every engine, in the order of the documentation. The products that speak MySQL's protocol are
/// listed in [`PRODUCTS`].
fn engines() -> impl Iterator<Item = &'static dyn Engine> {
    let products = PRODUCTS.iter().map(|product| product as &dyn Engine);
    let embedded: [&'static dyn Engine; 1] = [&Sqlite];
    let others: [&'static dyn Engine; 2] = [&Postgres, &Simulated];
    embedded.into_iter().chain(products).chain(others)
}

/// Opens the server that a TARGET URL names.
///
/// # Errors
/// As [`Engine::open`], and when the URL cannot be understood.
pub fn open(target: &str, options: &OpenOptions) -> Result<Box<dyn Server>, EngineError> {
    let target: Target = target.parse()?;
    engine_of(&target)?.open(&target, options)
}

/// The engine of a target.
pub(super) fn engine_of(target: &Target) -> Result<&'static dyn Engine, EngineError> {
    engine_named(target.scheme())
}

fn engine_named(scheme: &str) -> Result<&'static dyn Engine, EngineError> {
    engines()
        .find(|engine| engine.name() == scheme)
        .ok_or_else(|| EngineError::Target(unknown_scheme(scheme)))
}

impl FromStr for Target {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        // The text may hold a password, so no message repeats it.
        let nameless = || {
            let address = address_without_scheme(text)?;
            Some(EngineError::Target(without_scheme(address)))
        };
        let url = Url::parse(text).map_err(|error| {
            nameless().unwrap_or_else(|| {
                EngineError::Target(format!(
                    "the target is no URL ({error}): expected one of {}",
                    spellings()
                ))
            })
        })?;
        let engine = engine_named(url.scheme()).map_err(|error| nameless().unwrap_or(error))?;
        Self::of_url(&url, engine.address())
    }
}

/// The HOST:PORT of a text that lacks only the scheme: `localhost:3306`, `root@127.0.0.1:3306`.
fn address_without_scheme(text: &str) -> Option<&str> {
    let address = text.rsplit_once('@').map_or(text, |(_, address)| address);
    let (host, port) = address.rsplit_once(':')?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-.[]:".contains(c);
    let is_address = !host.is_empty() && host.chars().all(is_host) && port.parse::<u16>().is_ok();
    is_address.then_some(address)
}

fn without_scheme(address: &str) -> String {
    let urls: Vec<String> = engines()
        .filter(|engine| engine.address().has_host())
        .map(|engine| format!("{}://USER@{address}", engine.name()))
        .collect();
    format!(
        "the target does not name its engine: write {}",
        urls.join(" or ")
    )
}

fn spellings() -> String {
    let names: Vec<String> = engines()
        .map(|engine| format!("{}:", engine.name()))
        .collect();
    names.join(" ")
}

/// The message for a scheme that no engine has.
fn unknown_scheme(scheme: &str) -> String {
    if scheme == "postgresql" {
        return "unknown engine \"postgresql\": write postgres:// in the target".to_owned();
    }
    format!("unknown engine {scheme:?}: one of {}", spellings())
}
