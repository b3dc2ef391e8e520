//! Engines: connections, databases, the lock view. An engine knows no oracle.
//!
//! A [`Server`] is one running engine that was opened, identified and found safe to use. An error
//! that the engine answers is an [`Outcome::Rejected`](crate::model::Outcome::Rejected);
//! [`EngineError`] means *we have no answer*. Engines that are reached over a connection share one
//! server over the trait of `protocol`; `registry` lists them all.

mod access;
mod cell;
mod clean;
mod connection;
mod diagnosis;
mod disk;
mod doctor;
mod error;
mod guard;
mod images;
mod marker;
mod mysql_protocol;
mod opening;
mod postgres;
mod protocol;
mod registry;
mod server;
mod session;
mod simulated;
mod sqlite;
mod target;
mod timestamps;

pub use clean::{Cleaned, clean, clean_target};
pub use connection::{Connection, TransactionState, Watcher, poll_interval};
pub use diagnosis::{Demand, Diagnosis, DiagnosisLine, Health, Topic};
pub use doctor::doctor;
pub use error::EngineError;
pub use images::{MARIADB_IMAGE, MYSQL_IMAGE, POSTGRES_IMAGE, SERVER_IMAGES, ServerImage};
pub use marker::{Leftover, MARKER_TABLE, Marker, check_database_name};
pub use opening::{Engine, OpenOptions, STATEMENT_DEADLINE};
pub use registry::open;
pub use server::{Identity, Server, require_cases};
pub use simulated::{EngineFlavour, Fault};
pub use target::{Password, Target};
pub use timestamps::{Mark, Resolver, Timestamps};
