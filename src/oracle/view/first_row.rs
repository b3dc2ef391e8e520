//! A write that fails for several of its rows, each in its own way, is refused for the one that comes first.
//! In a table without a clustered key rows come in the order in which they were put there, which no
//! statement fixes: put there again for the serial run they may come in another one.

use super::super::compare::Mismatch;
use super::alone::Alone;
use crate::engine::EngineError;
use crate::model::{Aspect, CaseStatement, Direction, Form};

impl Alone<'_> {
    /// Whether a write that was refused otherwise than on its view is refused as in the run, once another
    /// row of a table without a clustered key comes first.
    pub(super) fn is_refused_for_another_row(
        &mut self,
        statement: &CaseStatement,
        mismatches: &[Mismatch],
    ) -> Result<bool, EngineError> {
        let [
            Mismatch {
                aspect: Aspect::Error,
                direction: Direction::OtherError,
                ..
            },
        ] = mismatches
        else {
            return Ok(false);
        };
        let effect = &statement.effect;
        if !effect.kind.is_write() || effect.forms.contains(&Form::OrderBy) {
            return Ok(false);
        }
        let seen = self.promised(statement.id);
        for (table, rows) in &seen {
            let shape = self.evidence.case.table(table);
            if shape.is_none_or(|shape| shape.clustered_key().is_some()) {
                continue;
            }
            for first in rows.keys() {
                self.put_first(table, rows, first)?;
                if self.judge_on(statement, seen.clone(), true)?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
