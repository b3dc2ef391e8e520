//! The level of a session whose statements set it themselves.

use crate::dialect::Dialect;
use crate::model::{Effect, IsolationLevel, Setting, StatementKind};
use crate::statement::{LevelScope, level_set};

/// What the statements of a session do, in their order.
pub(super) struct LevelLine<'l> {
    pub(super) sql: &'l str,
    pub(super) effect: &'l mut Effect,
}

/// The one level at which everything runs that a session does, by its statements or else by the header. Those that set it are marked
/// as such that set no other level, and judged as if the header had named it; where it must not differ from the header's, only if it
/// is that. None, and nothing is marked, where the session does something at a level and something else at another one, or sets one in
/// a way that is not read.
pub(super) fn one_level(
    lines: &mut [LevelLine<'_>],
    header: Option<IsolationLevel>,
    may_differ: bool,
    dialect: &Dialect,
) -> Option<IsolationLevel> {
    let mut reader = LevelReader::new(header);
    for line in lines.iter() {
        reader.take(line, dialect)?;
    }
    let fits = |level: &IsolationLevel| {
        (may_differ && dialect.levels.contains(level)) || header == Some(*level)
    };
    let level = reader.used.or(header).filter(fits)?;
    for line in lines {
        if line.effect.setting == Some(Setting::Level) {
            line.effect.setting = Some(Setting::SameLevel);
        }
    }
    Some(level)
}

struct LevelReader {
    /// Of what comes next outside of a transaction, and of the next one that names none.
    session: Option<IsolationLevel>,
    /// Of the next transaction alone.
    next: Option<IsolationLevel>,
    /// Of the transaction that is open, and whether it has done anything.
    open: Option<(Option<IsolationLevel>, bool)>,
    /// At which everything ran so far.
    used: Option<IsolationLevel>,
}

impl LevelReader {
    fn new(header: Option<IsolationLevel>) -> Self {
        Self {
            session: header,
            next: None,
            open: None,
            used: None,
        }
    }

    /// None where the session is seen at two levels, or what a statement sets is not known.
    fn take(&mut self, line: &LevelLine<'_>, dialect: &Dialect) -> Option<()> {
        let effect = &line.effect;
        if effect.setting == Some(Setting::Level) {
            match (level_set(line.sql, dialect)?, &mut self.open) {
                ((LevelScope::Begun, level), open) => *open = Some((Some(level), false)),
                ((LevelScope::Session, level), None) => self.session = Some(level),
                ((LevelScope::OneTransaction, level), Some((of_this, false))) => {
                    *of_this = Some(level);
                }
                ((LevelScope::OneTransaction, level), None) => self.next = Some(level),
                ((LevelScope::Session | LevelScope::OneTransaction, _), Some(_)) => return None,
            }
        } else if effect.kind.is_begin() {
            self.open = Some((self.next.take().or(self.session), false));
        } else if effect.chains && self.open.is_some() {
            // The next transaction has the level of this one.
            self.open = self.open.map(|(level, _)| (level, false));
        } else if effect.kind.is_end() {
            self.open = None;
        } else if matches!(
            effect.kind,
            StatementKind::Opaque | StatementKind::PhysicalDdl
        ) && self.open.is_some_and(|(level, _)| level != self.session)
        {
            // It may end the transaction.
            return None;
        } else if !effect.kind.is_control() {
            let level = match &mut self.open {
                Some((level, has_done)) => {
                    *has_done = true;
                    *level
                }
                None => self.next.take().or(self.session),
            };
            let level = level?;
            if *self.used.get_or_insert(level) != level {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LevelLine, one_level};
    use crate::dialect::dialect_of;
    use crate::model::IsolationLevel::{self, ReadCommitted, RepeatableRead, Serializable};
    use crate::model::{Effect, Setting};
    use crate::statement::analyze;

    fn level_of(
        engine: &str,
        header: Option<IsolationLevel>,
        script: &str,
    ) -> Option<IsolationLevel> {
        let dialect = dialect_of(engine, if engine == "postgres" { "18" } else { "11.8" });
        let sqls: Vec<&str> = script.split("; ").collect();
        let effects = sqls.iter().map(|sql| analyze(sql, &dialect));
        let mut effects: Vec<Effect> = effects.collect();
        let lines = sqls.iter().zip(&mut effects);
        let mut lines: Vec<LevelLine<'_>> = lines
            .map(|(sql, effect)| LevelLine { sql, effect })
            .collect();
        let level = one_level(&mut lines, header, true, &dialect);
        let is_left = |effect: &Effect| effect.setting == Some(Setting::Level);
        // What sets another level than the one of the case keeps the oracles away.
        let sets = script.contains("ISOLATION");
        assert_eq!(
            effects.iter().any(is_left),
            sets && level.is_none(),
            "{script}"
        );
        level
    }

    #[test]
    fn a_session_that_runs_at_one_level_has_that_level() {
        let rc = Some(ReadCommitted);
        for (engine, script, wanted) in [
            (
                "postgres",
                "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT",
                Some(Serializable),
            ),
            (
                "postgres",
                "BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT",
                Some(Serializable),
            ),
            (
                "mysql",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN; SELECT 1; COMMIT",
                Some(Serializable),
            ),
            (
                "mysql",
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1; BEGIN; SELECT 1; COMMIT",
                Some(RepeatableRead),
            ),
            (
                "mysql",
                "SELECT 1; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT 1",
                rc,
            ),
            ("postgres", "BEGIN; SELECT 1; COMMIT", rc),
            // Two levels.
            (
                "mysql",
                "SELECT 1; SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1",
                None,
            ),
            (
                "mysql",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN; SELECT 1; COMMIT; SELECT 1",
                None,
            ),
            (
                "postgres",
                "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT; SELECT 1",
                None,
            ),
            (
                "postgres",
                "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT; BEGIN; SELECT 1; COMMIT",
                None,
            ),
            // Refused, or of the next transaction.
            (
                "postgres",
                "BEGIN; SELECT 1; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT",
                None,
            ),
            (
                "mysql",
                "BEGIN; SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT",
                None,
            ),
            (
                "mysql",
                "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1",
                None,
            ),
        ] {
            assert_eq!(level_of(engine, rc, script), wanted, "{engine}: {script}");
        }
        let begun = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; COMMIT";
        assert_eq!(level_of("postgres", None, begun), Some(RepeatableRead));
        assert_eq!(level_of("postgres", None, "BEGIN; SELECT 1; COMMIT"), None);
    }
}
