//! Where a vertex that only reads goes: to a moment drawn from all that the known edges allow, the likelier the
//! fewer of its reads are wrong there (the heat-bath rule). That is what trying moments one by one would come to in
//! the end, for no other vertex depends on where it is.

use super::key_line::{BEGINS, KeyLine};

/// How many reads of one vertex are wrong, by moment.
#[derive(Debug, Default)]
pub(super) struct WrongReads {
    /// How many are wrong right behind the first moment.
    at_first: i32,
    /// The moments from which on one more is wrong, or one less.
    changes: Vec<(f64, i32)>,
}

impl WrongReads {
    pub(super) fn clear(&mut self) {
        self.at_first = 0;
        self.changes.clear();
    }

    /// Adds a read of a key, for the moments between two.
    pub(super) fn add(&mut self, line: &KeyLine, read: u32, (begin, end): (f64, f64)) {
        let first = line.moments.partition_point(|moment| *moment <= begin);
        let mut is_wrong = line.held(first).value != read;
        self.at_first += i32::from(is_wrong);
        let rest = line.moments[first..].iter().zip(&line.accesses[first..]);
        let inside = rest.take_while(|(moment, _)| **moment < end);
        for (moment, write) in inside.filter(|(_, access)| access.write < BEGINS) {
            if is_wrong != (write.write != read) {
                is_wrong = !is_wrong;
                let change = if is_wrong { 1 } else { -1 };
                self.changes.push((*moment, change));
            }
        }
    }

    /// Draws a moment between two: each wrong read makes one less likely by `exp(-1 / heat)`. `parts` are two random
    /// numbers between 0 and 1.
    pub(super) fn draw(&mut self, (begin, end): (f64, f64), heat: f64, parts: [f64; 2]) -> f64 {
        self.changes
            .sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let least = self.stretches(begin, end).map(|stretch| stretch.2).min();
        let least = least.unwrap_or(self.at_first);
        let factor = (-1.0 / heat).exp();
        let weight = |(from, to, wrong): (f64, f64, i32)| factor.powi(wrong - least) * (to - from);
        let sum: f64 = self.stretches(begin, end).map(weight).sum();
        let mut left = sum * parts[0];
        for stretch in self.stretches(begin, end) {
            let here = weight(stretch);
            if left < here {
                return stretch.0 + (stretch.1 - stretch.0) * parts[1];
            }
            left -= here;
        }
        begin + (end - begin) * parts[1]
    }

    /// The stretches between the changes: begin, end, how many reads are wrong.
    fn stretches(&self, begin: f64, end: f64) -> impl Iterator<Item = (f64, f64, i32)> {
        let (mut from, mut wrong) = (begin, self.at_first);
        let changes = self.changes.iter().copied().chain([(end, 0)]);
        changes.map(move |(to, change)| {
            let stretch = (from, to, wrong);
            (from, wrong) = (to, wrong + change);
            stretch
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_line::{NOTHING, TimedAccess};
    use super::*;
    use crate::checker::resolved::vertex::Vertex;
    use crate::checker::tests::Numbers;

    /// A key that holds 7, and is given these values at these moments.
    fn line(writes: &[(f64, u32)]) -> KeyLine {
        let access = |(at, write): (usize, &(f64, u32))| TimedAccess {
            vertex: Vertex::at(at),
            at: at as u32,
            read: NOTHING,
            write: write.1,
        };
        KeyLine {
            initial: 7,
            accesses: writes.iter().enumerate().map(access).collect(),
            moments: writes.iter().map(|write| write.0).collect(),
        }
    }

    #[test]
    fn moments_are_drawn_by_their_length_and_by_how_many_reads_are_wrong() {
        let lines = [
            line(&[(1.0, 8), (4.0, 9), (5.0, 7), (9.0, 8)]),
            line(&[(0.5, 8), (3.0, BEGINS), (6.0, 9), (7.0, 8)]),
        ];
        let mut reads = WrongReads::default();
        reads.clear();
        for line in &lines {
            reads.add(line, 8, (2.0, 8.0));
        }
        // From 2 to 4 none is wrong, to 6 one is, to 7 both are, to 8 one is.
        let heat = 0.5;
        let factor = (-1.0f64 / heat).exp();
        let weights = [2.0, 2.0 * factor, factor * factor, factor];
        let mut numbers = Numbers(5);
        let mut part = || (numbers.below(1 << 20) as f64 + 0.5) / f64::from(1 << 20);
        let mut counts = [0.0; 4];
        let rounds = 100_000;
        for _ in 0..rounds {
            let moment = reads.draw((2.0, 8.0), heat, [part(), part()]);
            assert!(2.0 < moment && moment < 8.0);
            let ends = [4.0, 6.0, 7.0, 8.0];
            let stretch = ends.iter().position(|end| moment < *end);
            counts[stretch.expect("before the end")] += 1.0 / f64::from(rounds);
        }
        let sum: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            assert!(
                (count - weight / sum).abs() < 0.01,
                "{counts:?} {weights:?}"
            );
        }
    }
}
