//! Which fault is done by which method.

use std::io;

use super::answer::{Refusal, WireAnswer};
use super::conversation::Conversation;
use super::locks;
use super::text::{SavepointStep, at_returning, savepoint_step, verb, write_kind};
use super::{Fault, WriteKind};

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
    (Fault::StaleLockingReadAfterWait, |this, sql| {
        this.old_after_wait(sql, "READ COMMITTED")
    }),
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
    (Fault::ChainBeginsNone, Conversation::chain_begins_none),
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
        this.failed_write_leaves_rows(sql, WriteKind::Insert, true)
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
        this.failed_write_leaves_rows(sql, WriteKind::Update, true)
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
    (
        Fault::InsertSelectOfSnapshot,
        Conversation::insert_select_of_snapshot,
    ),
    (
        Fault::InsertSelectLocksNothing,
        Conversation::insert_select_locks_nothing,
    ),
    (
        Fault::UpdateOfOldValueAfterWait,
        Conversation::update_of_old_value_after_wait,
    ),
    (Fault::DeadlockAfterWait, |this, sql| {
        this.refused_after_wait(sql, Refusal::Deadlock)
    }),
    (Fault::TimeoutAfterWait, Conversation::timeout_after_wait),
    (Fault::ConflictAfterWait, |this, sql| {
        this.refused_after_wait(sql, Refusal::Conflict)
    }),
    (Fault::SurvivorDiesToo, Conversation::survivor_dies_too),
    (
        Fault::DuplicateToldEarly,
        Conversation::duplicate_told_early,
    ),
    (
        Fault::WriteAnsweredEarly,
        Conversation::write_answered_early,
    ),
    (Fault::SkipLockedLocksNothing, |this, sql| {
        this.locks_nothing(sql, locks::skips_locked)
    }),
    (Fault::ShareLocksNothing, |this, sql| {
        this.locks_nothing(sql, locks::shares)
    }),
    (Fault::LocksFirstRowOnly, Conversation::locks_first_row_only),
    (Fault::JoinLocksOneTable, Conversation::join_locks_one_table),
    (Fault::SummaryLocksNothing, |this, sql| {
        this.locks_nothing(sql, locks::summarizes)
    }),
    (Fault::JoinLocksNothing, |this, sql| {
        this.locks_nothing(sql, locks::joins)
    }),
    (
        Fault::SerializableWithoutGaps,
        Conversation::serializable_without_gaps,
    ),
    (
        Fault::SnapshotTakenEarly,
        Conversation::snapshot_taken_early,
    ),
    (
        Fault::TransactionKeepsSnapshot,
        Conversation::transaction_keeps_snapshot,
    ),
    (Fault::LoneReadIsLate, Conversation::lone_read_is_late),
    (
        Fault::SubqueryReadsFresher,
        Conversation::subquery_reads_fresher,
    ),
    (
        Fault::WriteSubqueryOfSnapshot,
        Conversation::write_subquery_of_snapshot,
    ),
    (
        Fault::CommitLosesLastWrite,
        Conversation::commit_loses_last_write,
    ),
    (
        Fault::RollbackToKeepsLastWrite,
        Conversation::rollback_to_keeps_last_write,
    ),
    (
        Fault::RollbackToRenewsSnapshot,
        Conversation::rollback_to_renews_snapshot,
    ),
    (
        Fault::MovedRowLeavesOldOne,
        Conversation::moved_row_leaves_old_one,
    ),
    (Fault::MovedRowVanishes, Conversation::moved_row_vanishes),
    (
        Fault::LimitedWriteTakesLast,
        Conversation::limited_write_takes_last,
    ),
    (Fault::LoneFailedInsertLeavesRows, |this, sql| {
        this.failed_write_leaves_rows(sql, WriteKind::Insert, false)
    }),
    (Fault::ReadOnlyFollows, Conversation::read_only_follows),
    (
        Fault::ReplaceKeepsColumns,
        Conversation::replace_keeps_columns,
    ),
    (Fault::WaitedReadIsDirty, |this, sql| {
        this.old_after_wait(sql, "READ UNCOMMITTED")
    }),
    (
        Fault::CommitRefusedButDone,
        Conversation::commit_refused_but_done,
    ),
    (
        Fault::WriteSubqueryLocksNothing,
        Conversation::write_subquery_locks_nothing,
    ),
    (Fault::InsertIdOff, Conversation::insert_id_off),
    (Fault::LoneWriteInSteps, Conversation::lone_write_in_steps),
    (
        Fault::PredicateNotRechecked,
        Conversation::predicate_not_rechecked,
    ),
    (Fault::WriteLooksTwice, Conversation::write_looks_twice),
    (Fault::IgnoreDoesNotWait, Conversation::ignore_does_not_wait),
    (
        Fault::LoneWriteComesLate,
        Conversation::lone_write_comes_late,
    ),
    (Fault::WriteLocksTable, Conversation::write_locks_table),
    (Fault::WaitedWritePassesOver, |this, sql| {
        this.waited_write_leaves(sql, 1, |_| &[])
    }),
    (
        Fault::WaitedReadMissesRow,
        Conversation::waited_read_misses_row,
    ),
    (Fault::NoOpLocksNothing, Conversation::no_op_locks_nothing),
    (Fault::UpdateLocksKey, Conversation::update_locks_key),
    (Fault::WaitedWriteMissesRow, |this, sql| {
        this.waited_write_leaves(sql, 2, |keys| &keys[1..])
    }),
    (
        Fault::ForeignKeyCheckDoesNotWait,
        Conversation::foreign_key_check_does_not_wait,
    ),
    (Fault::TimeoutButDone, Conversation::timeout_but_done),
    (Fault::VictimCommits, Conversation::victim_commits),
    (Fault::InnerLockIgnored, Conversation::inner_lock_ignored),
    (Fault::PlainWriteMiscounted, |this, sql| {
        if at_returning(sql).1.is_empty() {
            this.miscounted(sql)
        } else {
            this.ask(sql)
        }
    }),
    (
        Fault::FailedCommitSaysCommit,
        Conversation::failed_commit_says_commit,
    ),
    (
        Fault::KeyShareIsExclusive,
        Conversation::key_share_is_exclusive,
    ),
    (Fault::UpsertConflictFromNowhere, |this, sql| {
        if write_kind(sql) == Some(WriteKind::Upsert) {
            this.conflict_from_nowhere(sql)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::ReleaseIgnored, |this, sql| {
        this.only_answered(sql, |sql| {
            matches!(savepoint_step(sql), Some(SavepointStep::Release(_)))
        })
    }),
    (Fault::SavepointForgotten, |this, sql| {
        this.only_answered(sql, |sql| {
            matches!(savepoint_step(sql), Some(SavepointStep::Set(_)))
        })
    }),
    (Fault::DdlDoesNothing, |this, sql| {
        let is_ddl = |sql: &str| ["CREATE", "DROP", "ALTER"].contains(&verb(sql).as_str());
        this.only_answered(sql, is_ddl)
    }),
    (
        Fault::LoneWriteStaysOpen,
        Conversation::lone_write_stays_open,
    ),
    (Fault::UpsertMiscounted, |this, sql| {
        if write_kind(sql) == Some(WriteKind::Upsert) {
            this.miscounted(sql)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::OrderSwapsRows, |this, sql| {
        this.spoilt_read(sql, |this| this.with_rows_swapped(sql))
    }),
    (Fault::NowaitRefusesOwn, |this, sql| {
        if this.transaction.has_written {
            this.nowait_refused(sql)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::SkipLockedSkipsOwn, |this, sql| {
        if this.transaction.has_written {
            this.skip_locked_skips_one(sql)
        } else {
            this.ask(sql)
        }
    }),
    (Fault::SnapshotRenewedOnce, |this, sql| {
        this.spoilt_read(sql, |this| {
            if this.transaction.done.reads > 0 {
                this.read_beside(sql, "READ COMMITTED", Some(false))
            } else {
                this.ask(sql)
            }
        })
    }),
    (
        Fault::GoneSavepointFound,
        Conversation::gone_savepoint_found,
    ),
    (
        Fault::EqualSavepointsAreOne,
        Conversation::equal_savepoints_are_one,
    ),
    (
        Fault::OwnInsertInvisible,
        Conversation::own_insert_invisible,
    ),
    (Fault::OwnDeleteVisible, Conversation::own_delete_visible),
    (
        Fault::OwnUpdateInvisible,
        Conversation::own_update_invisible,
    ),
    (
        Fault::LockingReadMissesOwn,
        Conversation::locking_read_misses_own,
    ),
    (Fault::WriteMissesOwn, Conversation::write_misses_own),
    (Fault::UpdateMissesOwn, Conversation::update_misses_own),
    (Fault::SubqueryMissesOwn, Conversation::subquery_misses_own),
    (Fault::InsertEvictsRow, Conversation::insert_evicts_row),
    (
        Fault::WriteTouchesOtherTable,
        Conversation::write_touches_other_table,
    ),
    (Fault::ReadDeletesRow, Conversation::read_deletes_row),
    (Fault::CommitDeletesRow, Conversation::commit_deletes_row),
    (
        Fault::SavepointDeletesRow,
        Conversation::savepoint_deletes_row,
    ),
    (Fault::UpsertCountsOne, Conversation::upsert_counts_one),
    (Fault::IgnoredCountsOne, Conversation::ignored_counts_one),
    (Fault::IgnoreReplaces, Conversation::ignore_replaces),
    (Fault::ReplaceKeepsRow, Conversation::replace_keeps_row),
    (
        Fault::JoinedWriteMissesRow,
        Conversation::joined_write_misses_row,
    ),
    (Fault::MergeLies, Conversation::merge_lies),
    (Fault::DuplicateButDone, Conversation::duplicate_but_done),
    (Fault::FailureAnsweredOk, Conversation::failure_answered_ok),
    (Fault::NullBecomesZero, Conversation::null_becomes_zero),
    (
        Fault::DefaultBecomesNull,
        Conversation::default_becomes_null,
    ),
    (
        Fault::LoneWriteDoneTwice,
        Conversation::lone_write_done_twice,
    ),
    (Fault::CounterGoesBack, Conversation::counter_goes_back),
    (Fault::ReturningGivesOld, Conversation::returning_gives_old),
    (
        Fault::DuplicateLocksNothing,
        Conversation::duplicate_locks_nothing,
    ),
    (Fault::SavepointCommits, |this, sql| {
        this.savepoint_commits(sql, |step| matches!(step, SavepointStep::Set(_)))
    }),
    (Fault::ReleaseCommits, |this, sql| {
        this.savepoint_commits(sql, |step| matches!(step, SavepointStep::Release(_)))
    }),
    (
        Fault::ErrorUndoesWriteBefore,
        Conversation::error_undoes_write_before,
    ),
    (Fault::CommitChains, Conversation::commit_chains),
    (
        Fault::BetweenMissesUpper,
        Conversation::between_misses_upper,
    ),
    (Fault::LoneReadIsDirty, Conversation::lone_read_is_dirty),
    (
        Fault::LockingReadMissesRow,
        Conversation::locking_read_misses_row,
    ),
];

impl Fault {
    /// The level that a session asks for, and the one that it is given.
    pub(super) fn other_level(self) -> Option<(&'static str, &'static str)> {
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

    pub(super) fn spoil(self) -> Option<Spoil> {
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
