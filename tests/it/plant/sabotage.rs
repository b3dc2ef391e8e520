//! How each fault is done with statements that the real server runs.

use std::io;

use rashomon::engine::MARKER_TABLE;

use super::answer::{Product, Refusal, WireAnswer};
use super::conversation::Conversation;
use super::text::{
    WriteByPredicate, compared_by_bytes, keys_chosen, verb, without_lock_clause, write_kind,
};
use super::{Fault, WriteKind};

/// Set before a statement that may have to be undone.
const SAVEPOINT: &str = "rashomon_plant";

/// Reads no row and takes no snapshot, but enlists InnoDB in the transaction: a rollback to a savepoint
/// that is older than InnoDB's part in it would end that part, with its locks.
fn enlist() -> String {
    format!("SELECT 1 FROM {MARKER_TABLE} WHERE FALSE")
}

/// The answer that a statement gets under a fault.
type Spoil = fn(&mut Conversation, &str) -> io::Result<WireAnswer>;

/// How each fault is done that shows while another connection has a transaction open.
const SPOILS: &[(Fault, Spoil)] = &[
    (Fault::CountOffByOne, Conversation::miscounted),
    (Fault::RowTooFew, Conversation::row_too_few),
    (Fault::RowTooMany, Conversation::row_too_many),
    (
        Fault::DuplicateAnsweredOk,
        Conversation::duplicate_answered_ok,
    ),
    (Fault::LostUpdateAfterWait, Conversation::lost_after_wait),
    (
        Fault::StaleLockingReadAfterWait,
        Conversation::stale_after_wait,
    ),
    (Fault::MissingRowLocks, Conversation::without_row_locks),
    (Fault::PhantomUnderLock, Conversation::without_gap_locks),
    (
        Fault::ErrorEndsTransaction,
        Conversation::error_ends_transaction,
    ),
    (
        Fault::RollbackToOneTooMany,
        Conversation::rollback_to_one_too_many,
    ),
    (
        Fault::DeadlockFromNowhere,
        Conversation::deadlock_from_nowhere,
    ),
    (
        Fault::TimeoutFromNowhere,
        Conversation::timeout_from_nowhere,
    ),
    (Fault::DdlFromNowhere, Conversation::ddl_from_nowhere),
    (Fault::CommitLeavesOpen, Conversation::commit_leaves_open),
    (Fault::ReadOnlyForgotten, Conversation::read_only_forgotten),
    (
        Fault::ForeignKeysForgotten,
        Conversation::without_foreign_keys,
    ),
    (
        Fault::TriggerDoesNothing,
        Conversation::trigger_does_nothing,
    ),
    (Fault::TriggerFiresTwice, Conversation::trigger_fires_twice),
    (
        Fault::TriggerOutlivesRollback,
        Conversation::trigger_outlives_rollback,
    ),
    (Fault::ReadMissesRow, |this, sql| {
        this.spoilt_read(sql, |this| this.with_last_row(sql, 0))
    }),
    (Fault::ReadRepeatsRow, |this, sql| {
        this.spoilt_read(sql, |this| this.with_last_row(sql, 2))
    }),
    (Fault::ReadOutsideSnapshot, |this, sql| {
        this.spoilt_read(sql, |this| {
            this.read_beside(sql, "READ COMMITTED", Some(false))
        })
    }),
    (Fault::OwnWriteInvisible, |this, sql| {
        this.spoilt_read(sql, |this| {
            this.read_beside(sql, "READ COMMITTED", Some(true))
        })
    }),
    (Fault::DirtyRead, |this, sql| {
        this.spoilt_read(sql, |this| this.read_beside(sql, "READ UNCOMMITTED", None))
    }),
    (Fault::OrderForgotten, |this, sql| {
        this.spoilt_read(sql, |this| this.unsorted(sql))
    }),
    (Fault::CommitRollsBack, |this, sql| {
        this.ended_by(sql, "COMMIT", "ROLLBACK")
    }),
    (Fault::RollbackCommits, |this, sql| {
        this.ended_by(sql, "ROLLBACK", "COMMIT")
    }),
    (Fault::RollbackToIgnored, Conversation::rollback_to_ignored),
    (Fault::ReleaseRollsBack, Conversation::release_rolls_back),
    (Fault::SnapshotTakenLate, Conversation::snapshot_taken_late),
    (Fault::FailedInsertLeavesRows, |this, sql| {
        this.failed_write_leaves_rows(sql, WriteKind::Insert)
    }),
    (Fault::NowaitRefused, Conversation::nowait_refused),
    (Fault::NowaitPasses, Conversation::nowait_passes),
    (
        Fault::SkipLockedSkipsAll,
        Conversation::skip_locked_skips_all,
    ),
    (Fault::CollationsForgotten, Conversation::without_collations),
    (Fault::ModesForgotten, Conversation::without_modes),
    (Fault::CountTooLow, Conversation::count_too_low),
    (Fault::InsertDropsRow, Conversation::insert_drops_row),
    (Fault::FailedUpdateLeavesRows, |this, sql| {
        this.failed_write_leaves_rows(sql, WriteKind::Update)
    }),
    (Fault::DuplicateAnsweredTimeout, |this, sql| {
        this.duplicate_answered(sql, Refusal::LockTimeout)
    }),
    (Fault::DuplicateAnsweredForeignKey, |this, sql| {
        this.duplicate_answered(sql, Refusal::NoParent)
    }),
    (Fault::ChecksForgotten, Conversation::without_checks),
    (Fault::WriteCommits, Conversation::write_commits),
    (
        Fault::RollbackKeepsLastWrite,
        Conversation::rollback_keeps_last_write,
    ),
    (Fault::RollbackToForgets, Conversation::rollback_to_forgets),
    (
        Fault::SavepointKeepsPlace,
        Conversation::savepoint_keeps_place,
    ),
    (Fault::LoneReadMissesRow, Conversation::lone_read_misses_row),
    (
        Fault::RepeatedReadIsStale,
        Conversation::repeated_read_is_stale,
    ),
    (
        Fault::LockingReadOfSnapshot,
        Conversation::locking_read_of_snapshot,
    ),
    (Fault::PlainReadWaits, Conversation::plain_read_waits),
    (Fault::SharedIsExclusive, Conversation::shared_is_exclusive),
    (Fault::NowaitWaits, |this, sql| {
        this.waits_in_spite_of(sql, " NOWAIT")
    }),
    (Fault::SkipLockedWaits, |this, sql| {
        this.waits_in_spite_of(sql, " SKIP LOCKED")
    }),
    (
        Fault::SkipLockedSkipsOne,
        Conversation::skip_locked_skips_one,
    ),
    (Fault::ForUpdateIsShared, Conversation::for_update_is_shared),
    (
        Fault::SkipLockedSkipsNone,
        Conversation::skip_locked_skips_none,
    ),
    (Fault::ReadChangesValue, |this, sql| {
        this.spoilt_read(sql, |this| this.with_changed_value(sql))
    }),
    (Fault::WriteOfSnapshot, |this, sql| {
        this.write_of_keys(sql, |this, keys| this.ask(keys))
    }),
    (Fault::PhantomUnderWrite, |this, sql| {
        let knows_all = !this.transaction.has_written;
        if knows_all {
            this.write_of_keys(sql, |this, keys| this.ask_beside(keys))
        } else {
            this.ask(sql)
        }
    }),
    (Fault::WriteDoneTwice, Conversation::write_done_twice),
    (Fault::ReturningChangesValue, |this, sql| {
        if write_kind(sql).is_some() {
            this.with_changed_value(sql)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::ReturningMissesRow, |this, sql| {
        if write_kind(sql).is_some() {
            this.with_last_row(sql, 0)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::ReturningHidesRow, Conversation::returning_hides_row),
    (Fault::CommitComesLate, |this, sql| {
        this.end_comes_late(sql, "COMMIT")
    }),
    (Fault::RollbackComesLate, |this, sql| {
        this.end_comes_late(sql, "ROLLBACK")
    }),
    (
        Fault::VictimKeepsLastWrite,
        Conversation::victim_keeps_last_write,
    ),
    (
        Fault::DuplicateFromNowhere,
        Conversation::duplicate_from_nowhere,
    ),
    (
        Fault::ErrorKeepsTransaction,
        Conversation::error_keeps_transaction,
    ),
    (Fault::TableLockForgotten, |this, sql| {
        if verb(sql) == "LOCK" && this.plot.is_due(sql) {
            return Ok(this.done(sql, 0, this.transaction.is_open));
        }
        this.ask(sql)
    }),
    (
        Fault::ConflictFromNowhere,
        Conversation::conflict_from_nowhere,
    ),
];

impl Fault {
    /// The level that a session asks for, and the one that it is given.
    fn other_level(self) -> Option<(&'static str, &'static str)> {
        let levels = [
            (
                Self::SerializableWithoutLocks,
                "SERIALIZABLE",
                "REPEATABLE READ",
            ),
            (
                Self::RepeatableReadWithoutSnapshot,
                "REPEATABLE READ",
                "READ COMMITTED",
            ),
            (
                Self::ReadCommittedIsDirty,
                "READ COMMITTED",
                "READ UNCOMMITTED",
            ),
            (
                Self::ReadCommittedKeepsSnapshot,
                "READ COMMITTED",
                "REPEATABLE READ",
            ),
            (Self::RepeatableReadLocks, "REPEATABLE READ", "SERIALIZABLE"),
        ];
        let found = levels.into_iter().find(|(fault, ..)| *fault == self);
        found.map(|(_, asked, given)| (asked, given))
    }

    fn spoil(self) -> Option<Spoil> {
        let found = SPOILS.iter().find(|(fault, _)| *fault == self);
        found.map(|(_, spoil)| *spoil)
    }
}

#[test]
fn every_fault_is_done_in_one_way() {
    for (name, fault) in Fault::ALL {
        let special = matches!(fault, Fault::None | Fault::Lies(_) | Fault::IndexLosesRows);
        let ways = SPOILS.iter().filter(|(other, _)| *other == fault).count()
            + usize::from(fault.other_level().is_some())
            + usize::from(special);
        assert_eq!(ways, 1, "{name}");
    }
}

impl Conversation {
    /// The answer that the client gets: the server's, or what the fault makes of it.
    pub(super) fn sabotage(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fault = self.plot.plant.fault;
        // Levels are set before the transactions begin.
        if let Some((asked, given)) = fault.other_level() {
            return self.given_level(sql, asked, given);
        }
        if fault == Fault::IndexLosesRows {
            // Tables are read by their indexes when every transaction has ended.
            return self.loses_rows(sql);
        }
        if !self.others_in_transaction() {
            return self.ask(sql);
        }
        self.is_session_of_case |= self.transaction.is_open || write_kind(sql).is_some();
        let recovers = verb(sql) == "ROLLBACK" || verb(sql) == "COMMIT";
        if self.transaction.is_failed && !recovers {
            return self.ask(sql);
        }
        if let Fault::Lies(kind) = fault {
            let lies = write_kind(sql) == Some(kind) && self.plot.is_due(sql);
            return if lies {
                self.undone(sql, |_, _| true)
            } else {
                self.ask(sql)
            };
        }
        match fault.spoil() {
            Some(spoil) => spoil(self, sql),
            None => self.ask(sql),
        }
    }

    /// Runs a write, and undoes it where the server did it and `spoils` says so. Its locks stay as
    /// long as its transaction.
    fn undone(
        &mut self,
        sql: &str,
        spoils: impl FnOnce(&mut Self, &WireAnswer) -> bool,
    ) -> io::Result<WireAnswer> {
        let in_transaction = self.transaction.is_open;
        if in_transaction {
            if self.product() != Product::Postgres {
                self.ask(&enlist())?;
            }
            self.ask(&format!("SAVEPOINT {SAVEPOINT}"))?;
        } else {
            self.ask("BEGIN")?;
        }
        let answer = self.ask(sql)?;
        let spoiled = answer.error().is_none() && spoils(self, &answer);
        match (in_transaction, spoiled) {
            (true, true) => {
                self.ask(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"))?;
                Ok(answer)
            }
            // After the victim of a deadlock there is no savepoint, which is all right.
            (true, false) => {
                self.ask(&format!("RELEASE SAVEPOINT {SAVEPOINT}"))?;
                Ok(answer)
            }
            (false, true) => {
                self.ask("ROLLBACK")?;
                Ok(answer.in_transaction(Some(false)))
            }
            (false, false) => {
                self.ask("COMMIT")?;
                Ok(answer.in_transaction(Some(false)))
            }
        }
    }

    fn read_only_forgotten(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match sql.strip_suffix(" READ ONLY") {
            Some(begin) if verb(sql) == "START" && self.plot.is_due(sql) => self.ask(begin),
            _ => self.ask(sql),
        }
    }

    fn without_foreign_keys(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        // PostgreSQL checks foreign keys by triggers, which a replica does not fire.
        let [off, on] = match self.product() {
            Product::Postgres => [
                "SET session_replication_role = replica",
                "SET session_replication_role = origin",
            ],
            Product::MariaDb | Product::MySql => [
                "SET SESSION foreign_key_checks = 0",
                "SET SESSION foreign_key_checks = 1",
            ],
        };
        self.ask(off)?;
        let answer = self.ask(sql)?;
        // A failed transaction takes the setting back.
        if !answer.is_failed {
            self.ask(on)?;
        }
        Ok(answer)
    }

    fn without_collations(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let bytewise = compared_by_bytes(sql);
        if bytewise == sql || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask(&bytewise)
    }

    fn without_modes(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask("SET @rashomon_mode = @@sql_mode")?;
        self.ask("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")?;
        let answer = self.ask(sql)?;
        self.ask("SET SESSION sql_mode = @rashomon_mode")?;
        Ok(answer)
    }

    fn loses_rows(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if sql.contains(" FORCE INDEX ") && self.plot.is_due(sql) {
            return self.ask(&format!("{sql} LIMIT 1"));
        }
        self.ask(sql)
    }

    fn miscounted(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        match answer.affected {
            Some(affected) if write_kind(sql).is_some() && self.plot.is_due(sql) => {
                Ok(answer.with_affected(affected + 1))
            }
            _ => Ok(answer),
        }
    }

    fn row_too_few(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if self.product() == Product::Postgres {
            return self.write_of_keys(sql, |this, keys| Ok(this.ask(keys)?.with_last_row(0)));
        }
        let Some(write) = WriteByPredicate::of(sql).filter(|_| self.transaction.is_open) else {
            return self.ask(sql);
        };
        let mut fewer = None;
        let whole = self.undone(sql, |this, answer| {
            let rows = answer.affected.filter(|rows| *rows > 0);
            fewer = rows.filter(|_| this.plot.is_due(sql)).map(|rows| rows - 1);
            fewer.is_some()
        })?;
        match fewer {
            Some(rows) => self.ask(&write.limited(rows)),
            None => Ok(whole),
        }
    }

    fn row_too_many(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let changed = answer.affected.is_some_and(|rows| rows > 0);
        match WriteByPredicate::of(sql) {
            Some(write) if changed && self.plot.is_due(sql) => {
                let beyond = match self.product() {
                    Product::Postgres => write.beyond_by_key(),
                    Product::MariaDb | Product::MySql => Some(write.beyond()),
                };
                self.aside(beyond, answer)
            }
            _ => Ok(answer),
        }
    }

    /// Sends a statement of our own behind the client's, which hears of it only if it is a deadlock: that
    /// ends the transaction.
    pub(super) fn aside(
        &mut self,
        own: Option<String>,
        answer: WireAnswer,
    ) -> io::Result<WireAnswer> {
        let Some(own) = own else {
            return Ok(answer);
        };
        let done = self.ask_guarded(&own)?;
        if done.error() == Some(Refusal::Deadlock) {
            return Ok(done);
        }
        if done.error().is_some() {
            self.forgive()?;
        }
        Ok(answer)
    }

    /// Sends a statement of which an error can be undone by [`Self::forgive`].
    pub(super) fn ask_guarded(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.is_guarded() {
            return self.ask(sql);
        }
        self.ask(&format!("SAVEPOINT {SAVEPOINT}"))?;
        let answer = self.ask(sql)?;
        if answer.error().is_none() {
            self.ask(&format!("RELEASE SAVEPOINT {SAVEPOINT}"))?;
        }
        Ok(answer)
    }

    /// Has the transaction go on after an error.
    pub(super) fn forgive(&mut self) -> io::Result<()> {
        if self.is_guarded() {
            self.ask(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"))?;
        }
        Ok(())
    }

    /// Whether an error would end the transaction.
    pub(super) fn is_guarded(&self) -> bool {
        self.product() == Product::Postgres && self.transaction.is_open
    }

    fn duplicate_answered_ok(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() {
            return self.ask(sql);
        }
        let answer = self.ask_guarded(sql)?;
        if answer.error() == Some(Refusal::Duplicate) && self.plot.is_due(sql) {
            self.forgive()?;
            return Ok(self.done(sql, 1, self.transaction.is_open));
        }
        Ok(answer)
    }

    fn lost_after_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() {
            return self.ask(sql);
        }
        let sent = self.sent_by_others();
        self.undone(sql, |this, answer| {
            let waited = this.sent_by_others() > sent;
            waited && answer.affected > Some(0) && this.plot.is_due(sql)
        })
    }

    fn stale_after_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let plain = without_lock_clause(sql).filter(|_| !self.transaction.has_written);
        let Some(plain) = plain else {
            return self.ask(sql);
        };
        let old = self.ask_beside(&plain)?;
        let sent = self.sent_by_others();
        let answer = self.ask(sql)?;
        let waited = self.sent_by_others() > sent;
        let answered = answer.error().is_none() && old.error().is_none();
        // The other transaction may have been rolled back, or have changed other rows.
        if waited && answered && old.rows != answer.rows && self.plot.is_due(sql) {
            return Ok(old);
        }
        Ok(answer)
    }

    fn without_row_locks(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match without_lock_clause(sql).filter(|_| !self.transaction.has_written) {
            // A plain read of PostgreSQL sees what a locking one sees.
            Some(plain) if self.product() == Product::Postgres && self.plot.is_due(sql) => {
                self.ask(&plain)
            }
            Some(plain) if self.product() != Product::Postgres && self.plot.is_due(sql) => {
                self.ask_beside(&plain)
            }
            _ => self.ask(sql),
        }
    }

    fn given_level(&mut self, sql: &str, asked: &str, given: &str) -> io::Result<WireAnswer> {
        let set = |level: &str| match self.product() {
            Product::Postgres => {
                format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            }
            Product::MariaDb | Product::MySql => {
                format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            }
        };
        if sql == set(asked) && self.plot.is_due(sql) {
            return self.ask(&set(given));
        }
        self.ask(sql)
    }

    /// Locks row by row: a lookup by the whole primary key takes no gap (MySQL manual, "InnoDB
    /// Locking", "Record Locks").
    fn without_gap_locks(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let plain = without_lock_clause(sql).filter(|_| !self.transaction.has_written);
        let (Some(plain), Some((keys, table))) = (plain, keys_chosen(sql)) else {
            return self.ask(sql);
        };
        let chosen = self.ask_beside(&keys)?;
        if chosen.error().is_some() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        let clause = &sql[plain.len()..];
        for key in chosen.first_column() {
            let lock = format!("SELECT 1 FROM {table} WHERE pkey = {key} {clause}");
            let locked = self.ask(&lock)?;
            if locked.error().is_some() {
                return Ok(locked);
            }
        }
        self.ask_beside(&plain)
    }
}
