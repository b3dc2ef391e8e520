//! Savepoints: few names, so that they are set again while they are open.

use super::expand::Expander;
use crate::dialect::EqualSavepoints;

/// How many names there are. Every session draws from the same ones: a savepoint belongs to its
/// transaction, whatever another session calls its own.
const NAMES: usize = 4;

/// How often, in a hundred, the innermost one is used: a return that undoes too much shows where
/// another one is open below it.
const INNERMOST_PERCENT: usize = 50;

impl Expander<'_, '_, '_> {
    /// The name of a savepoint to set.
    pub(super) fn new_savepoint(&mut self) -> String {
        let name = format!("sp{}", 1 + self.entropy.below(NAMES));
        match self.dialect.equal_savepoints {
            EqualSavepoints::Replace => self.savepoints.retain(|open| *open != name),
            EqualSavepoints::Nest => {}
        }
        self.savepoints.push(name.clone());
        name
    }

    /// An open savepoint; those set after it are gone once it is used. A name that is open twice
    /// means the newest of the two.
    pub(super) fn open_savepoint(&mut self) -> Option<String> {
        let count = self.savepoints.len();
        let newest = count.saturating_sub(1);
        let at = if self.entropy.percent(INNERMOST_PERCENT) {
            newest
        } else {
            self.entropy.below(count)
        };
        let name = self.savepoints.get(at)?.clone();
        let at = self.savepoints.iter().rposition(|open| *open == name)?;
        let released = self.text.starts_with("RELEASE");
        self.savepoints.truncate(if released { at } else { at + 1 });
        Some(name)
    }
}
