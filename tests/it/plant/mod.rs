//! Faults planted between Rashomon and a real server that speaks MySQL's or PostgreSQL's protocol.
//!
//! [`PlantedServer::before`] listens on a port of its own and forwards to the server. Every client
//! connection has one server connection, so connection numbers and the lock view stay right. In a
//! database of cases, and only while another connection to it has an open transaction, it plants
//! one fault: serial runs, set-ups and calibration are answered as the server answers them.
//!
//! `examples/plant.rs` starts one by hand.

mod answer;
mod conversation;
mod ends;
mod line;
mod mysql;
mod packet;
mod postgres;
mod reads;
mod sabotage;
mod text;
mod triggers;
mod writes;

use std::collections::BTreeMap;
use std::fmt;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// A kind of statement that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Update,
    Delete,
    Insert,
    InsertSelect,
    Replace,
    Upsert,
}

/// What the planted engine does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Forwards everything.
    None,
    /// A write of this kind says what it did, keeps its locks, and its effect is undone.
    Lies(WriteKind),
    /// A write reports one affected row more than it had.
    CountOffByOne,
    /// A write by predicate leaves one row out, and reports it.
    RowTooFew,
    /// A write by predicate takes one row more, and does not report it.
    RowTooMany,
    /// A duplicate key is answered as one affected row.
    DuplicateAnsweredOk,
    /// A write that waited reports its effect, and the effect is undone.
    LostUpdateAfterWait,
    /// A locking read that waited answers the rows committed when it was sent.
    StaleLockingReadAfterWait,
    /// A locking read answers committed rows and locks nothing.
    MissingRowLocks,
    /// Sessions at SERIALIZABLE run at REPEATABLE READ: plain reads lock nothing.
    SerializableWithoutLocks,
    /// A locking read locks the rows that it finds, and no gap between them.
    PhantomUnderLock,
    /// A statement that fails ends its transaction, and does not say so.
    ErrorEndsTransaction,
    /// ROLLBACK TO goes back to the savepoint before the one that it names.
    RollbackToOneTooMany,
    /// A write in a transaction is rejected as the victim of a deadlock, without one.
    DeadlockFromNowhere,
    /// A write in a transaction is rejected for a lock that another transaction does not hold.
    TimeoutFromNowhere,
    /// A statement in a transaction is rejected for DDL that no session has sent.
    DdlFromNowhere,
    /// COMMIT is answered, and the transaction stays open.
    CommitLeavesOpen,
    /// A transaction that begins as READ ONLY takes writes.
    ReadOnlyForgotten,
    /// A read by an index gives its first row alone, whoever else is there.
    IndexLosesRows,
    /// A write looks for no parent, and leaves the children of the rows that it deletes or gives another
    /// key.
    ForeignKeysForgotten,
    /// The trigger of a write adds no row to its table.
    TriggerDoesNothing,
    /// The trigger of a write adds its rows twice.
    TriggerFiresTwice,
    /// ROLLBACK leaves what the trigger of the last write has added.
    TriggerOutlivesRollback,
    /// A plain read in a transaction misses its last row.
    ReadMissesRow,
    /// A plain read in a transaction gives its last row twice.
    ReadRepeatsRow,
    /// A plain read in a transaction that has written nothing sees what is committed now.
    ReadOutsideSnapshot,
    /// A plain read in a transaction misses what the transaction wrote.
    OwnWriteInvisible,
    /// A plain read in a transaction sees what others have not committed.
    DirtyRead,
    /// A sorted read in a transaction comes in no order.
    OrderForgotten,
    /// COMMIT is answered, and the transaction is rolled back.
    CommitRollsBack,
    /// ROLLBACK is answered, and the transaction is committed.
    RollbackCommits,
    /// ROLLBACK TO is answered, and nothing is undone.
    RollbackToIgnored,
    /// RELEASE SAVEPOINT goes back to the savepoint.
    ReleaseRollsBack,
    /// START TRANSACTION WITH CONSISTENT SNAPSHOT takes none.
    SnapshotTakenLate,
    /// Sessions at REPEATABLE READ run at READ COMMITTED.
    RepeatableReadWithoutSnapshot,
    /// An INSERT of several rows that meets a duplicate keeps the other rows.
    FailedInsertLeavesRows,
    /// NOWAIT is refused where nothing is locked.
    NowaitRefused,
    /// NOWAIT neither waits nor is refused where a row is locked: it reads what is committed.
    NowaitPasses,
    /// SKIP LOCKED skips every row.
    SkipLockedSkipsAll,
    /// Comparisons of the columns `x0` and `x1` with a value hold bytes against bytes, whatever the collation.
    CollationsForgotten,
    /// A write changes values that do not fit, as in no strict mode, whatever the session's mode.
    ModesForgotten,
    /// A write reports one affected row less than it had.
    CountTooLow,
    /// An INSERT of several rows leaves the last one out, and reports it.
    InsertDropsRow,
    /// An UPDATE that meets a duplicate keeps the rows that it had changed.
    FailedUpdateLeavesRows,
    /// A duplicate key is answered as a lock that was not granted.
    DuplicateAnsweredTimeout,
    /// A duplicate key is answered as a foreign key without a parent.
    DuplicateAnsweredForeignKey,
    /// A write does not look at CHECK constraints (MariaDB alone can be told so).
    ChecksForgotten,
    /// What a transaction has done is committed with each of its writes.
    WriteCommits,
    /// ROLLBACK leaves the last write of the transaction, and commits it.
    RollbackKeepsLastWrite,
    /// ROLLBACK TO forgets the savepoint that it goes back to.
    RollbackToForgets,
    /// A savepoint whose name is taken stays where it was.
    SavepointKeepsPlace,
    /// A plain read outside of a transaction misses its last row.
    LoneReadMissesRow,
    /// A plain read of a text that its transaction has read before gives the same answer, until the transaction writes.
    RepeatedReadIsStale,
    /// A locking read locks what it should, and gives what a plain read gives.
    LockingReadOfSnapshot,
    /// A plain read waits for the locks that a shared lock on its rows would wait for.
    PlainReadWaits,
    /// A shared lock is an exclusive one.
    SharedIsExclusive,
    /// NOWAIT waits.
    NowaitWaits,
    /// SKIP LOCKED waits.
    SkipLockedWaits,
    /// SKIP LOCKED leaves out the last row.
    SkipLockedSkipsOne,
    /// Sessions at READ COMMITTED run at READ UNCOMMITTED.
    ReadCommittedIsDirty,
    /// Sessions at READ COMMITTED run at REPEATABLE READ.
    ReadCommittedKeepsSnapshot,
    /// Sessions at REPEATABLE READ run at SERIALIZABLE: plain reads lock.
    RepeatableReadLocks,
    /// A locking read for a change takes a shared lock.
    ForUpdateIsShared,
    /// SKIP LOCKED gives the rows that it skips, too, as they were committed.
    SkipLockedSkipsNone,
    /// A plain read in a transaction gives another value in its last row.
    ReadChangesValue,
    /// A write by predicate chooses its rows by the transaction's snapshot.
    WriteOfSnapshot,
    /// A write by predicate locks the rows that it changes, and no gap between them.
    PhantomUnderWrite,
    /// A write in a transaction is done twice, and reports it once.
    WriteDoneTwice,
    /// A write that returns rows gives another value in the last one.
    ReturningChangesValue,
    /// A write that returns rows leaves the last one out.
    ReturningMissesRow,
    /// A write that returns rows leaves the last one out, and does not count it.
    ReturningHidesRow,
    /// COMMIT is answered before it is done, and another transaction's statement comes between.
    CommitComesLate,
    /// The same of ROLLBACK.
    RollbackComesLate,
    /// The victim of a deadlock leaves its last write, and commits it.
    VictimKeepsLastWrite,
    /// A write is refused for a duplicate key that is not there.
    DuplicateFromNowhere,
    /// A statement that fails leaves its transaction as it was before (PostgreSQL ends it).
    ErrorKeepsTransaction,
    /// A write is refused for a change since the snapshot that nobody made (PostgreSQL).
    ConflictFromNowhere,
    /// LOCK TABLE is answered and locks nothing (PostgreSQL).
    TableLockForgotten,
}

/// What only InnoDB's locks, levels, modes and statements can be made to do.
const MYSQL_ONLY: [Fault; 19] = [
    Fault::DdlFromNowhere,
    Fault::Lies(WriteKind::Replace),
    Fault::PhantomUnderLock,
    Fault::DirtyRead,
    Fault::SnapshotTakenLate,
    Fault::FailedUpdateLeavesRows,
    Fault::CollationsForgotten,
    Fault::ModesForgotten,
    Fault::ChecksForgotten,
    // No trigger is drawn there.
    Fault::TriggerDoesNothing,
    Fault::TriggerFiresTwice,
    Fault::TriggerOutlivesRollback,
    Fault::LockingReadOfSnapshot,
    Fault::ReadCommittedIsDirty,
    Fault::RepeatableReadLocks,
    Fault::WriteOfSnapshot,
    Fault::PhantomUnderWrite,
    Fault::IndexLosesRows,
    // A failed transaction of PostgreSQL runs nothing more.
    Fault::VictimKeepsLastWrite,
];

/// What only PostgreSQL can be made to do.
const POSTGRES_ONLY: [Fault; 3] = [
    Fault::ErrorKeepsTransaction,
    Fault::ConflictFromNowhere,
    Fault::TableLockForgotten,
];

impl Fault {
    /// Every fault, with its name on the command line of the example.
    pub(crate) const ALL: [(&str, Self); 83] = [
        ("none", Self::None),
        ("update-lies", Self::Lies(WriteKind::Update)),
        ("delete-lies", Self::Lies(WriteKind::Delete)),
        ("insert-lies", Self::Lies(WriteKind::Insert)),
        ("insert-select-lies", Self::Lies(WriteKind::InsertSelect)),
        ("replace-lies", Self::Lies(WriteKind::Replace)),
        ("upsert-lies", Self::Lies(WriteKind::Upsert)),
        ("count-off-by-one", Self::CountOffByOne),
        ("row-too-few", Self::RowTooFew),
        ("row-too-many", Self::RowTooMany),
        ("duplicate-answered-ok", Self::DuplicateAnsweredOk),
        ("lost-update-after-wait", Self::LostUpdateAfterWait),
        (
            "stale-locking-read-after-wait",
            Self::StaleLockingReadAfterWait,
        ),
        ("missing-row-locks", Self::MissingRowLocks),
        ("serializable-without-locks", Self::SerializableWithoutLocks),
        ("phantom-under-lock", Self::PhantomUnderLock),
        ("error-ends-transaction", Self::ErrorEndsTransaction),
        ("rollback-to-one-too-many", Self::RollbackToOneTooMany),
        ("deadlock-from-nowhere", Self::DeadlockFromNowhere),
        ("timeout-from-nowhere", Self::TimeoutFromNowhere),
        ("ddl-from-nowhere", Self::DdlFromNowhere),
        ("commit-leaves-open", Self::CommitLeavesOpen),
        ("read-only-forgotten", Self::ReadOnlyForgotten),
        ("index-loses-rows", Self::IndexLosesRows),
        ("foreign-keys-forgotten", Self::ForeignKeysForgotten),
        ("trigger-does-nothing", Self::TriggerDoesNothing),
        ("trigger-fires-twice", Self::TriggerFiresTwice),
        ("trigger-outlives-rollback", Self::TriggerOutlivesRollback),
        ("read-misses-row", Self::ReadMissesRow),
        ("read-repeats-row", Self::ReadRepeatsRow),
        ("read-outside-snapshot", Self::ReadOutsideSnapshot),
        ("own-write-invisible", Self::OwnWriteInvisible),
        ("dirty-read", Self::DirtyRead),
        ("order-forgotten", Self::OrderForgotten),
        ("commit-rolls-back", Self::CommitRollsBack),
        ("rollback-commits", Self::RollbackCommits),
        ("rollback-to-ignored", Self::RollbackToIgnored),
        ("release-rolls-back", Self::ReleaseRollsBack),
        ("snapshot-taken-late", Self::SnapshotTakenLate),
        (
            "repeatable-read-without-snapshot",
            Self::RepeatableReadWithoutSnapshot,
        ),
        ("failed-insert-leaves-rows", Self::FailedInsertLeavesRows),
        ("nowait-refused", Self::NowaitRefused),
        ("nowait-passes", Self::NowaitPasses),
        ("skip-locked-skips-all", Self::SkipLockedSkipsAll),
        ("collations-forgotten", Self::CollationsForgotten),
        ("modes-forgotten", Self::ModesForgotten),
        ("count-too-low", Self::CountTooLow),
        ("insert-drops-row", Self::InsertDropsRow),
        ("failed-update-leaves-rows", Self::FailedUpdateLeavesRows),
        ("duplicate-answered-timeout", Self::DuplicateAnsweredTimeout),
        (
            "duplicate-answered-foreign-key",
            Self::DuplicateAnsweredForeignKey,
        ),
        ("checks-forgotten", Self::ChecksForgotten),
        ("write-commits", Self::WriteCommits),
        ("rollback-keeps-last-write", Self::RollbackKeepsLastWrite),
        ("rollback-to-forgets", Self::RollbackToForgets),
        ("savepoint-keeps-place", Self::SavepointKeepsPlace),
        ("lone-read-misses-row", Self::LoneReadMissesRow),
        ("repeated-read-is-stale", Self::RepeatedReadIsStale),
        ("locking-read-of-snapshot", Self::LockingReadOfSnapshot),
        ("plain-read-waits", Self::PlainReadWaits),
        ("shared-is-exclusive", Self::SharedIsExclusive),
        ("nowait-waits", Self::NowaitWaits),
        ("skip-locked-waits", Self::SkipLockedWaits),
        ("skip-locked-skips-one", Self::SkipLockedSkipsOne),
        ("read-committed-is-dirty", Self::ReadCommittedIsDirty),
        (
            "read-committed-keeps-snapshot",
            Self::ReadCommittedKeepsSnapshot,
        ),
        ("repeatable-read-locks", Self::RepeatableReadLocks),
        ("for-update-is-shared", Self::ForUpdateIsShared),
        ("skip-locked-skips-none", Self::SkipLockedSkipsNone),
        ("read-changes-value", Self::ReadChangesValue),
        ("write-of-snapshot", Self::WriteOfSnapshot),
        ("phantom-under-write", Self::PhantomUnderWrite),
        ("write-done-twice", Self::WriteDoneTwice),
        ("returning-changes-value", Self::ReturningChangesValue),
        ("returning-misses-row", Self::ReturningMissesRow),
        ("returning-hides-row", Self::ReturningHidesRow),
        ("commit-comes-late", Self::CommitComesLate),
        ("rollback-comes-late", Self::RollbackComesLate),
        ("victim-keeps-last-write", Self::VictimKeepsLastWrite),
        ("duplicate-from-nowhere", Self::DuplicateFromNowhere),
        ("error-keeps-transaction", Self::ErrorKeepsTransaction),
        ("conflict-from-nowhere", Self::ConflictFromNowhere),
        ("table-lock-forgotten", Self::TableLockForgotten),
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, fault)| fault)
    }

    /// Whether it can be planted before the server of this URL.
    pub(crate) fn fits(self, url: &str) -> bool {
        let others = match Protocol::of(url.split("://").next().unwrap_or_default()) {
            Protocol::MySql => POSTGRES_ONLY.as_slice(),
            Protocol::Postgres => MYSQL_ONLY.as_slice(),
        };
        !others.contains(&self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Self::ALL.into_iter();
        let known = all.find(|(_, fault)| fault == self);
        f.write_str(known.map_or("without a name", |(name, _)| name))
    }
}

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
