//! Where transactions come from: a thread reads and parses them, in batches.

use std::fs::File;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::waited::Waited;
use crate::campaign::StopFlag;
use crate::cli::exit::Failure;
use crate::history::format::Stream;
use crate::history::{Batch, HistoryError, Texts};

/// Batches on their way.
pub(super) struct WatchedSource {
    pub(super) batches: Receiver<Result<Batch, Failure>>,
    /// For batches to be filled again.
    empty: Sender<Batch>,
    pub(super) texts: Arc<Mutex<Texts>>,
}

/// Batches that may wait.
const BATCHES: usize = 4;

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// How often a file is looked at for having grown.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

impl WatchedSource {
    /// Lets a batch be filled again.
    pub(super) fn give_back(&self, batch: Batch) {
        // One more than can be used is dropped.
        let _ = self.empty.try_send(batch);
    }

    /// Reads the rest and forgets it, so that its writer does not wait for ever.
    pub(super) fn drain(&self) {
        while self.batches.recv().is_ok() {}
    }
}

/// Opens what a name stands for.
pub(super) fn open(name: &str, idle: Duration, stop: &StopFlag) -> Result<WatchedSource, Failure> {
    pumped(name, stream(name, idle, stop)?)
}

/// Starts to read a stream.
pub(super) fn pumped(name: &str, stream: Box<dyn Read + Send>) -> Result<WatchedSource, Failure> {
    let (sender, batches) = bounded(BATCHES);
    let (empty, returned) = bounded(BATCHES + 2);
    let texts = Arc::new(Mutex::new(Texts::default()));
    let pump = Pump {
        name: name.to_owned(),
        stream,
        sender,
        returned,
        texts: Arc::clone(&texts),
    };
    // The program does not wait for it: it may hang in a read.
    std::thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || pump.run())
        .map_err(|error| Failure::environment(format!("cannot start a thread: {error}")))?;
    Ok(WatchedSource {
        batches,
        empty,
        texts,
    })
}

fn stream(name: &str, idle: Duration, stop: &StopFlag) -> Result<Box<dyn Read + Send>, Failure> {
    if name == "-" {
        return Ok(Box::new(io::stdin()));
    }
    if let Some(address) = name.strip_prefix("tcp://") {
        let connected = TcpStream::connect(address);
        return match connected {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(Failure::environment(format!("{name}: {error}"))),
        };
    }
    let path = Path::new(name);
    let wrong = |error: io::Error| Failure::usage(format!("{name}: {error}"));
    let kind = std::fs::metadata(path).map_err(wrong)?.file_type();
    if kind.is_dir() {
        return Err(Failure::usage(format!("{name} is a folder")));
    }
    if kind.is_socket() {
        let connected = UnixStream::connect(path);
        return match connected {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(Failure::environment(format!("{name}: {error}"))),
        };
    }
    let file = File::open(path).map_err(wrong)?;
    if !kind.is_file() {
        return Ok(Box::new(file));
    }
    Ok(Box::new(Growing {
        file,
        at: 0,
        idle,
        stop: stop.clone(),
    }))
}

/// A file that may grow: it is over when it has not for a while.
struct Growing {
    file: File,
    at: u64,
    idle: Duration,
    stop: StopFlag,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waited = Waited::since(Instant::now(), self.idle);
        loop {
            let count = self.file.read(buffer)?;
            self.at += count as u64;
            let idle = waited.look(Instant::now());
            if count > 0 || self.stop.is_set() || idle >= self.idle {
                return Ok(count);
            }
            if self.file.metadata()?.len() < self.at {
                return Err(io::Error::other("the file became shorter"));
            }
            std::thread::sleep(LOOK_INTERVAL.min(self.idle));
        }
    }
}

/// The reading thread.
struct Pump {
    name: String,
    stream: Box<dyn Read + Send>,
    sender: Sender<Result<Batch, Failure>>,
    returned: Receiver<Batch>,
    texts: Arc<Mutex<Texts>>,
}

impl Pump {
    fn run(mut self) {
        let mut parser = Stream::default();
        let mut piece = vec![0; PIECE];
        loop {
            let count = match self.stream.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = format!("{}: {error}", self.name);
                    let _ = self.sender.send(Err(Failure::environment(message)));
                    return;
                }
            };
            let bytes = &piece[..count];
            let is_wanted = self.hand_over(|texts, batch| {
                let mut take = |item: crate::history::format::LineContent<'_>| batch.take(item);
                match count {
                    0 => parser.end(texts, &mut take),
                    _ => parser.feed(bytes, texts, &mut take),
                }
            });
            if !is_wanted || count == 0 {
                return;
            }
        }
    }

    /// Fills a batch and sends it, and what went wrong after it; whether to go on.
    fn hand_over(
        &self,
        fill: impl FnOnce(&mut Texts, &mut Batch) -> Result<(), HistoryError>,
    ) -> bool {
        let mut batch = self.returned.try_recv().unwrap_or_default();
        batch.clear();
        let mut filled = {
            let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
            fill(&mut texts, &mut batch)
        };
        if batch.has_lists() {
            filled = Err(HistoryError::CannotHold {
                format: "a watched history",
                what: "lists",
            });
        }
        // Lists taken for registers would be judged wrongly: nothing of it is handed over.
        let is_held_back = batch.is_empty() || batch.has_lists();
        let is_taken = is_held_back || self.sender.send(Ok(batch)).is_ok();
        match filled {
            Ok(()) => is_taken,
            Err(error) => {
                let message = format!("{}: {error}", self.name);
                // At the end of the program there is no receiver any more.
                let _ = self.sender.send(Err(Failure::usage(message)));
                false
            }
        }
    }
}
