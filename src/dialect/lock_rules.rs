//! Which locks of a row, and of a table, exclude which, and what a write takes.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::text::{DialectError, DialectText};
use crate::model::{LockStrength, TableLockMode};

/// What a write does to a row, as far as its lock depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockingWrite {
    /// It leaves every unique key as it is.
    Update,
    /// It gives a unique key another value.
    UpdateOfKey,
    Delete,
}

impl LockingWrite {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Update, Self::UpdateOfKey, Self::Delete];

    /// As dialect files spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::UpdateOfKey => "update-of-key",
            Self::Delete => "delete",
        }
    }
}

/// Which locks of a row or a table different transactions cannot have at once, and what a write takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRules {
    excluded: BTreeSet<(LockStrength, LockStrength)>,
    writes: BTreeMap<LockingWrite, LockStrength>,
    excluded_tables: BTreeSet<(TableLockMode, TableLockMode)>,
}

impl LockRules {
    /// Whether nobody has one of these locks of a row while another transaction has the other.
    pub fn exclude(&self, one: LockStrength, other: LockStrength) -> bool {
        self.excluded.contains(&(one, other))
    }

    /// Whether nobody has one of these locks of a table while another transaction has the other.
    pub fn exclude_tables(&self, one: TableLockMode, other: TableLockMode) -> bool {
        self.excluded_tables.contains(&(one, other))
    }

    /// Whether nobody changes a row while another transaction has this lock of it, not even where its keys stay.
    pub fn keeps_changes_out(&self, lock: LockStrength) -> bool {
        self.exclude(lock, self.of_write(LockingWrite::Update))
    }

    /// The lock that a write takes of a row which is there.
    pub fn of_write(&self, change: LockingWrite) -> LockStrength {
        let strength = self.writes.get(&change).copied();
        strength.unwrap_or(LockStrength::Update)
    }
}

fn strengths() -> [(&'static str, LockStrength); 4] {
    LockStrength::ALL.map(|strength| (strength.slug(), strength))
}

/// Of each kind of lock, the others that exclude it, as a dialect file has them.
pub(super) type ExclusionEntries = BTreeMap<Spanned<String>, Vec<Spanned<String>>>;

/// The rules of a dialect file, of rows and of tables. Where it names none there are two kinds of locks: those for a change
/// exclude all, and shared ones exclude these.
pub(super) fn lock_rules(
    source: &DialectText<'_>,
    (excludes, tables): (&ExclusionEntries, &ExclusionEntries),
    writes: &BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<LockRules, DialectError> {
    let mut excluded = pairs(source, excludes, &strengths())?;
    if excludes.is_empty() {
        use LockStrength::{Share, Update};
        excluded.extend([(Update, Update), (Update, Share), (Share, Update)]);
    }
    let changes = LockingWrite::ALL.map(|change| (change.slug(), change));
    let writes = writes.iter().map(|(change, strength)| {
        let key = format!("write-locks.{}", change.get_ref());
        let change = source.word(change, &changes)?;
        Ok((change, source.value(&key, strength, &strengths())?))
    });
    Ok(LockRules {
        excluded,
        writes: writes.collect::<Result<_, _>>()?,
        excluded_tables: pairs(
            source,
            tables,
            &TableLockMode::ALL.map(|mode| (mode.slug(), mode)),
        )?,
    })
}

/// The pairs that exclude each other, each both ways.
fn pairs<T: Copy + Ord>(
    source: &DialectText<'_>,
    excludes: &ExclusionEntries,
    words: &[(&str, T)],
) -> Result<BTreeSet<(T, T)>, DialectError> {
    let mut excluded = BTreeSet::new();
    for (one, others) in excludes {
        let one = source.word(one, words)?;
        for other in others {
            let other = source.word(other, words)?;
            excluded.extend([(one, other), (other, one)]);
        }
    }
    Ok(excluded)
}
