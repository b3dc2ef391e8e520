//! A recorded history on its way to a file, in our own line format.

use std::io::{self, Write};

use super::{Progress, Recorder, WorkloadSettings};
use crate::history::Recorded;
use crate::history::format::{HEADER, write_promise};
use crate::model::ConsistencyModel;

/// Called with every tick; false ends the run.
type OnTick<'a> = dyn FnMut(&Progress) -> bool + 'a;

/// Writes a line for each transaction, and whole lines only, so that a file is a history while it
/// still grows.
pub struct HistoryFile<'a> {
    out: &'a mut dyn Write,
    /// Lines since the last flush.
    lines: Vec<u8>,
    on_tick: Option<&'a mut OnTick<'a>>,
}

/// Lines are handed on when they fill this many bytes, and with every tick.
const FLUSH_BYTES: usize = 64 << 10;

impl<'a> HistoryFile<'a> {
    /// Writes the beginning of the file: format, settings, what the server promises for such a history,
    /// initial values.
    ///
    /// # Errors
    /// When the stream fails.
    pub fn new(
        out: &'a mut dyn Write,
        settings: &WorkloadSettings,
        server: &str,
        promised: Option<ConsistencyModel>,
    ) -> io::Result<Self> {
        writeln!(out, "{HEADER}")?;
        let level = settings.level.map_or("default", |level| level.slug());
        writeln!(
            out,
            "# {} on {server}, isolation {level}, {} sessions, {} keys ({}), seed {}",
            settings.kind.name(),
            settings.sessions,
            settings.keys,
            settings.distribution,
            settings.seed
        )?;
        // Of a level that nobody named it is not known what it promises.
        if let Some(level) = settings.level {
            write_promise(out, promised, &format!("{server} at {level}"))?;
        } else if promised.is_some() {
            write_promise(
                out,
                promised,
                &format!("{server}, one statement a transaction"),
            )?;
        }
        if !settings.kind.stores_lists() {
            writeln!(out, "initial 0")?;
        }
        out.flush()?;
        Ok(Self {
            out,
            lines: Vec::with_capacity(FLUSH_BYTES * 2),
            on_tick: None,
        })
    }

    /// Sets what is called with the progress of the run.
    pub fn on_tick(mut self, on_tick: &'a mut OnTick<'a>) -> Self {
        self.on_tick = Some(on_tick);
        self
    }

    /// Writes the lines that are left.
    ///
    /// # Errors
    /// When the stream fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        self.out.flush()
    }
}

impl Recorder for HistoryFile<'_> {
    fn transaction(&mut self, transaction: Recorded) -> io::Result<()> {
        transaction.write(&mut self.lines)?;
        if self.lines.len() >= FLUSH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn tick(&mut self, progress: &Progress) -> bool {
        // A failed write fails again at the next transaction, which reports it.
        let is_written = self.flush().is_ok();
        let goes_on = self.on_tick.as_mut().is_none_or(|tell| tell(progress));
        is_written && goes_on
    }
}
