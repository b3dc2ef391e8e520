//! Which locks of a row exclude which, and what a write takes.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::text::{DialectError, DialectText};
use crate::model::LockStrength;

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

/// Which locks of a row different transactions cannot have at once, and what a write takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRules {
    excluded: BTreeSet<(LockStrength, LockStrength)>,
    writes: BTreeMap<LockingWrite, LockStrength>,
}

impl LockRules {
    /// Whether nobody has one of these locks of a row while another transaction has the other.
    pub fn exclude(&self, one: LockStrength, other: LockStrength) -> bool {
        self.excluded.contains(&(one, other))
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

/// The rules of a dialect file. Where it names none there are two kinds of locks: those for a change
/// exclude all, and shared ones exclude these.
pub(super) fn lock_rules(
    source: &DialectText<'_>,
    excludes: &BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    writes: &BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<LockRules, DialectError> {
    let mut excluded = BTreeSet::new();
    for (one, others) in excludes {
        let one = source.word(one, &strengths())?;
        for other in others {
            let other = source.word(other, &strengths())?;
            excluded.extend([(one, other), (other, one)]);
        }
    }
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
    })
}
