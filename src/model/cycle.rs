//! A cycle of transactions, as findings tell it.

use std::fmt;

use super::TransactionId;

/// One dependency of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleStep {
    /// The transaction that comes first.
    pub from: TransactionId,
    /// Kind and item: `rw(t0 row 3)`.
    pub label: String,
    /// The transaction that comes after it.
    pub to: TransactionId,
}

/// Transactions of which each comes before the next, and the last before the first.
///
/// Its text, `T1 -rw(t0 row 3)-> T2 -ww(t0 row 3)-> T1`, stands in the headlines of findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionCycle {
    /// Never empty; each step begins where the one before it ends, and the first where the last one does.
    steps: Vec<CycleStep>,
}

impl TransactionCycle {
    /// The cycle of these transactions, each with the label of its dependency on the next one. None of none.
    pub fn new(dependencies: Vec<(TransactionId, String)>) -> Option<Self> {
        let first = dependencies.first()?.0;
        let next: Vec<TransactionId> = dependencies.iter().skip(1).map(|(from, _)| *from).collect();
        let next = next.into_iter().chain([first]);
        let steps = dependencies.into_iter().zip(next);
        Some(Self {
            steps: steps
                .map(|((from, label), to)| CycleStep { from, label, to })
                .collect(),
        })
    }

    /// The cycle that a headline ends with, or that lines tell a step each (`T1 -rw(t0)-> T2: why`).
    pub fn told(headline: &str, lines: &[String]) -> Option<Self> {
        in_headline(headline).or_else(|| in_lines(lines))
    }

    /// In the order of the cycle.
    pub fn steps(&self) -> &[CycleStep] {
        &self.steps
    }

    fn closed(steps: Vec<CycleStep>) -> Option<Self> {
        let next = steps.iter().cycle().skip(1);
        let is_closed = steps
            .iter()
            .zip(next)
            .all(|(step, next)| step.to == next.from);
        (!steps.is_empty() && is_closed).then_some(Self { steps })
    }
}

impl fmt::Display for TransactionCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            write!(f, "{} -{}-> ", step.from, step.label)?;
        }
        write!(f, "{}", self.steps[0].from)
    }
}

fn in_headline(headline: &str) -> Option<TransactionCycle> {
    // The cycle is the last thing that is told.
    let start = headline.rfind(": T").map_or(0, |at| at + 2);
    let mut rest = headline.get(start..)?;
    let mut steps = Vec::new();
    loop {
        let (step, after) = step(rest)?;
        let to = step.to;
        steps.push(step);
        if after.is_empty() {
            return TransactionCycle::closed(steps);
        }
        // The next step begins with the transaction that this one ends with.
        rest = rest.get(rest.len() - after.len() - to.to_string().len()..)?;
    }
}

fn in_lines(lines: &[String]) -> Option<TransactionCycle> {
    let steps = lines.iter().filter_map(|line| step(line));
    let told = steps.filter(|(_, after)| after.starts_with(':'));
    TransactionCycle::closed(told.map(|(step, _)| step).collect())
}

/// The step that a text begins with, and what stands behind it.
fn step(text: &str) -> Option<(CycleStep, &str)> {
    let (from, rest) = transaction(text)?;
    let (label, rest) = rest.strip_prefix(" -")?.split_once("-> ")?;
    let (to, rest) = transaction(rest)?;
    let label = label.to_owned();
    Some((CycleStep { from, label, to }, rest))
}

/// The transaction that a text begins with, and what stands behind it.
fn transaction(text: &str) -> Option<(TransactionId, &str)> {
    let digits = text.strip_prefix('T')?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let number = digits[..end].parse().ok()?;
    Some((TransactionId(number), &digits[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(steps: &[(u32, &str)]) -> TransactionCycle {
        let steps = steps
            .iter()
            .map(|(from, label)| (TransactionId(*from), (*label).to_owned()));
        TransactionCycle::new(steps.collect()).expect("a cycle")
    }

    #[test]
    fn a_cycle_is_read_back_from_the_headline_it_stands_in() {
        for told in [
            cycle(&[(1, "rw(t0 row 3)"), (2, "ww(t0 row 3)")]),
            cycle(&[(2, "so"), (12, "rw(t0 row 'a -b')"), (3, "wr(t1)")]),
            cycle(&[(1, "wr(t0 row -1)"), (2, "rw(t0)")]),
        ] {
            for before in ["cycle: ", "lost update (G-single) at READ COMMITTED: ", ""] {
                let read = TransactionCycle::told(&format!("{before}{told}"), &[]);
                assert_eq!(read.as_ref(), Some(&told), "{before}{told}");
            }
        }
    }

    #[test]
    fn a_cycle_is_read_from_lines_that_tell_a_step_each() {
        let lines = [
            "T1 -RW(2)-> T2: T1 reads a version of 2 that T2 overwrites",
            "T2 -RW(5)-> T1: T2 reads a version of 5 that T1 overwrites",
            "T1 of session 1: r(2,0) w(5,1)",
        ];
        let lines = lines.map(str::to_owned);
        let read = TransactionCycle::told("the history violates it: write skew", &lines);
        assert_eq!(read, Some(cycle(&[(1, "RW(2)"), (2, "RW(5)")])));
    }

    #[test]
    fn what_does_not_close_is_no_cycle() {
        for text in [
            "T2.1 (update): it should have waited",
            "cycle: T1 -rw(t0)-> T2",
            "cycle: T1 -rw(t0)-> T2 -ww(t0)-> T3",
            "cycle: T1 -rw(t0)-> T2 -ww(t0)-> T1 and more",
            "cycle: T1 -> T1",
            "T1",
            "",
        ] {
            assert_eq!(TransactionCycle::told(text, &[]), None, "{text}");
        }
        let open = ["T1 -RW(2)-> T2: why".to_owned()];
        assert_eq!(TransactionCycle::told("", &open), None);
        assert_eq!(TransactionCycle::new(Vec::new()), None);
    }
}
