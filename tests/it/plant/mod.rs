//! Faults planted between Rashomon and a real server that speaks MySQL's or PostgreSQL's protocol.
//!
//! [`PlantedServer::before`] listens on a port of its own and forwards to the server. Every client
//! connection has one server connection, so connection numbers and the lock view stay right. In a
//! database of cases, and only while another connection to it has an open transaction, it plants
//! one fault: serial runs, set-ups and calibration are answered as the server answers them.
//!
//! `fault.rs` says what each fault is, `names.rs` what it is called, `spoils.rs` which method does it; the methods
//! are in a file for each kind of fault, by what goes wrong.
//!
//! `examples/plant.rs` starts one by hand.

mod answer;
mod clauses;
mod conversation;
mod ends;
mod fault;
mod hasty;
mod line;
mod locks;
mod mysql;
mod names;
mod own;
mod packet;
mod postgres;
mod reads;
mod sabotage;
mod snapshots;
mod sources;
mod spoils;
mod strays;
mod text;
mod triggers;
mod waits;
mod writes;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use fault::{Fault, WriteKind};

/// Which of the statements that could show the fault do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    Always,
    /// One text of so many: a statement sent again shows it again, as a bug of the engine would.
    OneTextIn(u64),
    /// One turn of so many, by a count over the server's life: a fault that comes and goes.
    OneTurnIn(u64),
}

/// A fault and how often it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plant {
    pub(crate) fault: Fault,
    pub(crate) rate: Rate,
}

/// A server behind which faults are planted, for the life of the process.
pub(crate) struct PlantedServer {
    /// Where clients reach it: the real server's URL with another port.
    pub(crate) url: String,
    /// The text of every statement at which the fault was planted, in order.
    pub(crate) planted: Receiver<String>,
}

impl PlantedServer {
    /// Plants a fault before the server of this URL, which must name a TCP address.
    ///
    /// # Panics
    /// When the URL is none, the fault cannot be planted there, or no port is free.
    pub(crate) fn before(url: &str, plant: Plant) -> Self {
        assert!(plant.fault.fits(url), "{} is not for {url}", plant.fault);
        let mut public = url::Url::parse(url).expect("a URL");
        let host = public.host_str().expect("a host");
        let protocol = Protocol::of(public.scheme());
        let server = format!("{host}:{}", public.port().unwrap_or(protocol.port()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        public.set_host(Some("127.0.0.1")).expect("a host");
        public.set_port(Some(port)).expect("a port");
        // A socket would lead past the proxy.
        public.set_query(None);
        let (log, planted) = mpsc::channel();
        let plot = Arc::new(Plot::new(plant, log));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (plot, server) = (Arc::clone(&plot), server.clone());
                std::thread::spawn(move || conversation::hold(plot, protocol, &client, server));
            }
        });
        Self {
            url: public.to_string(),
            planted,
        }
    }
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    MySql,
    Postgres,
}

impl Protocol {
    fn of(scheme: &str) -> Self {
        match scheme {
            "postgres" => Self::Postgres,
            _ => Self::MySql,
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::MySql => 3306,
            Self::Postgres => 5432,
        }
    }
}

/// What all connections of a planted server share.
struct Plot {
    plant: Plant,
    turns: AtomicU64,
    log: Sender<String>,
    databases: Mutex<BTreeMap<String, BTreeMap<u64, Party>>>,
    numbers: AtomicU64,
}

/// What the others of a database know of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Party {
    in_transaction: bool,
    /// Statements that its client sent.
    sent: u64,
    /// Those of them that were answered.
    answered: u64,
    /// Those of them that were the victims of deadlocks.
    victims: u64,
}

impl Plot {
    fn new(plant: Plant, log: Sender<String>) -> Self {
        Self {
            plant,
            turns: AtomicU64::new(0),
            log,
            databases: Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether the fault shows at this statement. Asked once, where it could.
    fn is_due(&self, sql: &str) -> bool {
        let due = match self.plant.rate {
            Rate::Always => true,
            Rate::OneTextIn(texts) => digest(sql.as_bytes()).is_multiple_of(texts),
            Rate::OneTurnIn(turns) => {
                let turn = self.turns.fetch_add(1, Ordering::SeqCst);
                digest(&turn.to_le_bytes()).is_multiple_of(turns)
            }
        };
        if due {
            // Where nothing listens, nothing is lost.
            let _ = self.log.send(sql.to_owned());
        }
        due
    }

    fn with_parties<T>(
        &self,
        database: &str,
        work: impl FnOnce(&mut BTreeMap<u64, Party>) -> T,
    ) -> T {
        let mut databases = self
            .databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(databases.entry(database.to_owned()).or_default())
    }
}

/// The first eight bytes of BLAKE3.
fn digest(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let head = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(head)
}

/// Whether cases run interleaved in a database of this name.
fn is_for_cases(database: &str) -> bool {
    let others = ["rashomon_calibrate_", "rashomon_doctor_"];
    database.starts_with("rashomon_")
        && !database.ends_with("_serial")
        && !others.into_iter().any(|other| database.starts_with(other))
}
