//! How each fault is done with statements that the real server runs.

use std::io;

use rashomon::engine::MARKER_TABLE;

use super::Fault;
use super::answer::{Product, Refusal, WireAnswer};
use super::conversation::Conversation;
use super::text::{WriteByPredicate, compared_by_bytes, verb, write_kind};

/// Set before a statement that may have to be undone.
const SAVEPOINT: &str = "rashomon_plant";

/// Reads no row and takes no snapshot, but enlists InnoDB in the transaction: a rollback to a savepoint
/// that is older than InnoDB's part in it would end that part, with its locks.
pub(super) fn enlist() -> String {
    format!("SELECT 1 FROM {MARKER_TABLE} WHERE FALSE")
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
        if self.is_commit_due {
            return self.behind_a_due_commit(sql);
        }
        let answer = if self.others_in_transaction() {
            self.spoilt(sql, fault)?
        } else {
            self.ask(sql)?
        };
        self.note_moment(&answer)?;
        Ok(answer)
    }

    /// The answer beside another connection's transaction.
    fn spoilt(&mut self, sql: &str, fault: Fault) -> io::Result<WireAnswer> {
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
    pub(super) fn undone(
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

    pub(super) fn read_only_forgotten(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match sql.strip_suffix(" READ ONLY") {
            Some(begin) if verb(sql) == "START" && self.plot.is_due(sql) => self.ask(begin),
            _ => self.ask(sql),
        }
    }

    pub(super) fn without_foreign_keys(&mut self, sql: &str) -> io::Result<WireAnswer> {
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

    pub(super) fn without_collations(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let bytewise = compared_by_bytes(sql);
        if bytewise == sql || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask(&bytewise)
    }

    pub(super) fn without_modes(&mut self, sql: &str) -> io::Result<WireAnswer> {
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

    pub(super) fn miscounted(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        match answer.affected {
            Some(affected) if write_kind(sql).is_some() && self.plot.is_due(sql) => {
                Ok(answer.with_affected(affected + 1))
            }
            _ => Ok(answer),
        }
    }

    pub(super) fn row_too_few(&mut self, sql: &str) -> io::Result<WireAnswer> {
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

    pub(super) fn row_too_many(&mut self, sql: &str) -> io::Result<WireAnswer> {
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

    pub(super) fn duplicate_answered_ok(&mut self, sql: &str) -> io::Result<WireAnswer> {
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
}
