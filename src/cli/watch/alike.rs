//! Breaches that are alike: of one name, on one key.

use std::collections::BTreeMap;

use crate::checker::aion::Breach;
use crate::cli::terminal::grouped;
use crate::history::{Atom, Texts};
use crate::model::Anomaly;

/// So many of each group are told one by one.
const TOLD: usize = 2;

/// So many groups are told at the end.
const GROUPS_TOLD: usize = 20;

/// So many groups are remembered; what comes on other keys then is counted together.
const GROUPS_MAX: usize = 100_000;

/// The breaches so far, by name and key.
#[derive(Debug, Default)]
pub(super) struct AlikeBreaches {
    groups: BTreeMap<(Anomaly, Option<Atom>), AlikeGroup>,
    /// On keys that are not remembered, and not told one by one.
    elsewhere: u64,
}

#[derive(Debug, Default)]
struct AlikeGroup {
    /// The transactions of those that were told.
    first: Vec<Atom>,
    count: u64,
}

impl AlikeBreaches {
    /// Takes a breach; whether it is one of those that are told one by one.
    pub(super) fn take(&mut self, breach: &Breach) -> bool {
        let of = (breach.anomaly(), breach.key());
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&of) {
            self.elsewhere += 1;
            return false;
        }
        let group = self.groups.entry(of).or_default();
        group.count += 1;
        let is_told = group.first.len() < TOLD;
        group.first.extend(is_told.then_some(breach.transaction()));
        is_told
    }

    /// The groups of which not all were told, a line each, the largest first:
    /// `noconflict on key 141: T2350, T2361, and 593 alike`.
    pub(super) fn lines(&self, texts: &Texts) -> Vec<String> {
        let mut more: Vec<_> = self.groups.iter().filter(|(_, g)| g.untold() > 0).collect();
        more.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        let told = more.iter().take(GROUPS_TOLD);
        let mut lines: Vec<String> = told
            .map(|((anomaly, key), group)| {
                let on = key.map_or(String::new(), |key| {
                    format!(" on key {}", texts.spelled(key))
                });
                let names = group.first.iter().map(|label| texts.spelled(*label));
                let mut names: Vec<String> = names.map(|name| format!("T{name}")).collect();
                names.dedup();
                let (names, untold) = (names.join(", "), grouped(group.untold()));
                format!("{anomaly}{on}: {names}, and {untold} alike")
            })
            .collect();
        let rest = more.iter().skip(GROUPS_TOLD);
        let rest = rest.map(|(_, group)| group.untold()).sum::<u64>() + self.elsewhere;
        if rest > 0 {
            lines.push(format!("and {} more on other keys", grouped(rest)));
        }
        lines
    }
}

impl AlikeGroup {
    fn untold(&self) -> u64 {
        self.count - self.first.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(transaction: i64, key: i64) -> Breach {
        let atom = |number| Atom::integer(number).expect("small");
        Breach::Conflict {
            transaction: atom(transaction),
            other: atom(1),
            key: atom(key),
        }
    }

    #[test]
    fn the_first_of_a_group_are_told_and_the_others_counted() {
        let mut alike = AlikeBreaches::default();
        let told = (2..=7).filter(|t| alike.take(&overlap(*t, 141))).count();
        assert_eq!(told, 2);
        assert!(alike.take(&overlap(8, 5)));
        let lines = alike.lines(&Texts::default());
        assert_eq!(lines, ["noconflict on key 141: T2, T3, and 4 alike"]);
    }

    #[test]
    fn of_many_groups_the_largest_are_told_and_no_breach_is_left_out() {
        let mut alike = AlikeBreaches::default();
        for key in 0..30 {
            for transaction in 0..3 + i64::from(key == 17) {
                alike.take(&overlap(transaction, key));
            }
        }
        let lines = alike.lines(&Texts::default());
        assert_eq!(lines.len(), GROUPS_TOLD + 1);
        assert_eq!(lines[0], "noconflict on key 17: T0, T1, and 2 alike");
        assert_eq!(lines[GROUPS_TOLD], "and 10 more on other keys");
    }
}
