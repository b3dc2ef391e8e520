//! The run: a database of its own, a thread a session, and the recorder.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{Client, Counters, SharedByClients};
use super::draw::{KeyWeights, SessionDraws};
use super::held::Held;
use super::outbox::Outbox;
use super::pending::EndedQueue;
use super::table::Table;
use super::{Progress, Recorder, WorkloadError, WorkloadSettings};
use crate::engine::{Connection, Server, Timestamps};

/// How often the recorder hears how far the run is.
const TICK: Duration = Duration::from_millis(100);

/// How often the recorder's thread fetches what the sessions have done.
const FETCH: Duration = Duration::from_millis(10);

/// Runs a workload in a database of this name, which it makes and drops.
///
/// `stop` is called about a hundred times a second; true ends the run.
///
/// # Errors
/// When the settings contradict each other, the server does not answer, a statement is rejected for
/// another reason than concurrency, or the recorder fails. The recorder has received every
/// transaction that ended before.
pub fn run(
    server: &dyn Server,
    database: &str,
    settings: &WorkloadSettings,
    recorder: &mut dyn Recorder,
    stop: &dyn Fn() -> bool,
) -> Result<Progress, WorkloadError> {
    let timestamps = check(server, settings)?;
    server.create_database(database)?;
    let result = in_database(server, database, settings, timestamps, recorder, stop);
    let dropped = server.drop_database(database);
    let progress = result?;
    dropped?;
    Ok(progress)
}

/// Refuses settings that cannot be run, before anything is created. Returns where timestamps come
/// from.
///
/// # Errors
/// When the settings make no sense or the server does not provide what they ask for.
pub fn check(
    server: &dyn Server,
    settings: &WorkloadSettings,
) -> Result<Option<Box<dyn Timestamps>>, WorkloadError> {
    check_numbers(server, settings)?;
    let timestamps = match settings.timestamps {
        true => Some(server.timestamps()?),
        false => None,
    };
    check_level(settings, timestamps.as_deref())?;
    Ok(timestamps)
}

/// Refuses numbers that are too large or too small, and levels that the server does not have.
fn check_numbers(server: &dyn Server, settings: &WorkloadSettings) -> Result<(), WorkloadError> {
    let wrong = |message: String| Err(WorkloadError::Settings(message));
    if settings.sessions == 0 || settings.sessions > 1000 {
        return wrong("the number of sessions must be 1 to 1,000".to_owned());
    }
    if settings.keys == 0 || settings.keys > 1_000_000 {
        return wrong("the number of keys must be 1 to 1,000,000".to_owned());
    }
    if settings.operations > 10_000 {
        return wrong("a transaction has at most 10,000 operations".to_owned());
    }
    if settings.reads_percent > 100 {
        return wrong("the share of reads must be 0 to 100 percent".to_owned());
    }
    let dialect = server.dialect();
    if let Some(level) = settings.level
        && !dialect.levels.contains(&level)
    {
        let levels: Vec<&str> = dialect.levels.iter().map(|level| level.slug()).collect();
        return wrong(format!(
            "{} has no isolation level {}: it has {}",
            dialect.engine,
            level.slug(),
            levels.join(", ")
        ));
    }
    Ok(())
}

/// Refuses a level at which timestamps mean nothing.
fn check_level(
    settings: &WorkloadSettings,
    timestamps: Option<&dyn Timestamps>,
) -> Result<(), WorkloadError> {
    let needed = timestamps.map(Timestamps::level);
    match (needed, settings.level) {
        (Some(needed), Some(level)) if needed != level => Err(WorkloadError::Settings(format!(
            "timestamps need the isolation level {}: pass --isolation {0}, or no level",
            needed.slug()
        ))),
        _ => Ok(()),
    }
}

fn in_database(
    server: &dyn Server,
    database: &str,
    settings: &WorkloadSettings,
    timestamps: Option<Box<dyn Timestamps>>,
    recorder: &mut dyn Recorder,
    stop: &dyn Fn() -> bool,
) -> Result<Progress, WorkloadError> {
    let table = Table::new(server.dialect());
    table.create(&mut *server.connect(database)?, settings)?;
    let mut pending = EndedQueue::new(match &timestamps {
        Some(timestamps) => Some(timestamps.resolver()?),
        None => None,
    });
    let mut stage = SharedByClients {
        server,
        database,
        settings,
        level: settings
            .level
            .or(timestamps.as_deref().map(Timestamps::level)),
        table,
        timestamps,
        began: Instant::now(),
        over: AtomicBool::new(false),
        counters: Counters::default(),
        next_session: AtomicU64::new(u64::from(settings.sessions)),
    };
    let connections = (0..settings.sessions)
        .map(|_| stage.connect())
        .collect::<Result<Vec<_>, _>>()?;
    stage.began = Instant::now();
    sessions(&stage, connections, &mut pending, recorder, stop)?;
    Ok(stage.progress())
}

/// Starts the sessions and takes their transactions until the last session has ended.
fn sessions(
    stage: &SharedByClients<'_>,
    connections: Vec<Box<dyn Connection>>,
    pending: &mut EndedQueue,
    recorder: &mut dyn Recorder,
    stop: &dyn Fn() -> bool,
) -> Result<(), WorkloadError> {
    let settings = stage.settings;
    let keys = KeyWeights::new(settings.distribution, settings.keys);
    let outbox = Outbox::new(connections.len());
    // All begin together.
    let barrier = Barrier::new(connections.len());
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (slot, connection) in (0u32..).zip(connections) {
            let draw = |session| SessionDraws::new(settings.seed, session, keys.clone());
            let draws = (draw(slot), draw(u32::MAX - slot));
            let (outbox, barrier) = (&outbox, &barrier);
            threads.push(scope.spawn(move || {
                // Dropped however the session ends, after a panic, too.
                let _left = Left(outbox);
                barrier.wait();
                let records = settings.records.then_some(outbox);
                let result = Client::new(stage, slot, connection, draws, records).run();
                if result.is_err() {
                    stage.over.store(true, Ordering::Relaxed);
                }
                result
            }));
        }
        let taken = take(stage, &outbox, pending, recorder, stop);
        stage.over.store(true, Ordering::Relaxed);
        // Sessions that wait for room must end.
        outbox.close();
        let mut result = Ok(());
        for thread in threads {
            let ended = match thread.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            if result.is_ok() {
                result = ended;
            }
        }
        // The recorder's error is the cause; those of the sessions follow from it.
        taken.and(result)
    })
}

/// Tells the outbox when a session is over.
struct Left<'o>(&'o Outbox);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Hands transactions to the recorder until all sessions have ended.
fn take(
    stage: &SharedByClients<'_>,
    outbox: &Outbox,
    pending: &mut EndedQueue,
    recorder: &mut dyn Recorder,
    stop: &dyn Fn() -> bool,
) -> Result<(), WorkloadError> {
    let mut next_tick = Instant::now() + TICK;
    let mut batch = Vec::new();
    let mut held = Held::new(stage.settings.sessions as usize);
    loop {
        // Asked before the fetch, which then includes the last transaction of every session.
        let is_last = outbox.is_last();
        outbox.fetch(&mut batch);
        for ended in batch.drain(..) {
            pending.push(ended);
        }
        if stop() {
            stage.over.store(true, Ordering::Relaxed);
        }
        let now = Instant::now();
        if now >= next_tick || is_last {
            next_tick = now + TICK;
            pending.advance()?;
            if !recorder.tick(&stage.progress()) {
                stage.over.store(true, Ordering::Relaxed);
            }
        }
        while let Some(ended) = pending.pop() {
            held.push(ended.client, ended.values, ended.recorded);
        }
        let drawn = |client| outbox.drawn(client);
        held.release(drawn, |recorded| {
            outbox.taken(&recorded);
            let taken = recorder.transaction(recorded);
            taken.map_err(WorkloadError::Recorder)
        })?;
        if is_last {
            break;
        }
        thread::sleep(FETCH);
    }
    match pending.left() {
        0 => Ok(()),
        left => Err(WorkloadError::Settings(format!(
            "the engine's log does not contain the start of {left} transactions"
        ))),
    }
}

impl SharedByClients<'_> {
    /// How far the run is.
    fn progress(&self) -> Progress {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        Progress {
            committed: count(&counters.committed),
            aborted: count(&counters.aborted),
            indeterminate: count(&counters.indeterminate),
            retries: count(&counters.retries),
            lost: count(&counters.lost),
            statements: count(&counters.statements),
            elapsed: self.began.elapsed(),
        }
    }
}
