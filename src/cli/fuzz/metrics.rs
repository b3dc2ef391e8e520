//! `--metrics ADDR`: the numbers of a run for Prometheus, in its text format and as OpenMetrics.
//!
//! The server answers GET and nothing else, one request after the other: a scraper asks every few
//! seconds.

mod exposition;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::campaign::{RunEvent, RunSettings, Statistics, unix_seconds};
use crate::cli::exit::Failure;
use crate::engine::Identity;
use exposition::{Flavour, Numbers, exposition};

/// A client that says nothing for so long is let go.
const CLIENT_WITHIN: Duration = Duration::from_secs(2);

/// Longer requests are none of a scraper's.
const REQUEST_MAX: u64 = 16 * 1024;

/// Serves the numbers from a thread of its own, to the end of the program.
pub(super) struct MetricsServer {
    /// Where it listens: the port that was found, where 0 was asked for.
    pub(super) address: SocketAddr,
    numbers: Arc<Mutex<Numbers>>,
}

impl MetricsServer {
    /// # Errors
    /// When the address cannot be listened at.
    pub(super) fn start(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::environment(format!(
                "cannot serve --metrics at {address}: {error}; name another port"
            ))
        };
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let numbers = Arc::new(Mutex::new(Numbers::default()));
        let served = Arc::clone(&numbers);
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let serve = move || {
            for client in listener.incoming().flatten() {
                if let Err(error) = answer(client, &served) {
                    tracing::debug!("a request for metrics was not answered: {error}");
                }
            }
        };
        thread.spawn(serve).map_err(cannot)?;
        Ok(Self { address, numbers })
    }

    /// The run that the numbers are of.
    pub(super) fn started(&mut self, settings: &RunSettings, identity: &Identity) {
        let mut numbers = lock(&self.numbers);
        numbers.run.clone_from(&settings.run_id);
        numbers.server = identity.in_short();
    }

    pub(super) fn event(&mut self, event: &RunEvent) {
        let mut numbers = lock(&self.numbers);
        match event {
            RunEvent::Finding(_) => numbers.last_finding_unix_s = Some(unix_seconds()),
            RunEvent::ServerLost { worker, .. } => {
                numbers.waiting.insert(*worker);
            }
            RunEvent::ServerBack { worker, .. } => {
                numbers.waiting.remove(worker);
            }
            RunEvent::Smaller(_)
            | RunEvent::Flaky(_)
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::CanaryUnheard { .. }
            | RunEvent::Stopping(_)
            | RunEvent::Trouble(_) => {}
        }
    }

    pub(super) fn tick(&mut self, statistics: &Statistics, findings: usize, elapsed: Duration) {
        let mut numbers = lock(&self.numbers);
        numbers.statistics.clone_from(statistics);
        numbers.findings = findings;
        numbers.elapsed = elapsed;
    }
}

fn lock(numbers: &Mutex<Numbers>) -> std::sync::MutexGuard<'_, Numbers> {
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one request and answers it.
fn answer(client: TcpStream, numbers: &Mutex<Numbers>) -> std::io::Result<()> {
    client.set_read_timeout(Some(CLIENT_WITHIN))?;
    client.set_write_timeout(Some(CLIENT_WITHIN))?;
    let mut lines = BufReader::new((&client).take(REQUEST_MAX)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut flavour = Flavour::Prometheus;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let header = line.to_ascii_lowercase();
        if header.starts_with("accept:") && header.contains("application/openmetrics-text") {
            flavour = Flavour::OpenMetrics;
        }
    }
    let mut words = request.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics" | "/")) => {
            let text = exposition(&lock(numbers), flavour);
            ("200 OK", flavour.content_type(), text)
        }
        (Some("GET"), _) => (
            "404 Not Found",
            "text/plain",
            "ask for /metrics\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            "GET alone is answered\n".to_owned(),
        ),
    };
    write!(
        &client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    (&client).flush()
}
