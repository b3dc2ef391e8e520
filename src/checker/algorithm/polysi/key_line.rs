//! What happens to each key in an order of moments, and which accesses are wrong there.

use super::deeds::{Deed, Deeds, Part, part_at};
use super::polygraph::Polygraph;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Key;

/// Stands for no value.
pub(super) const NOTHING: u32 = u32::MAX;

/// The start of a transaction that writes the key.
pub(super) const BEGINS: u32 = u32::MAX - 1;

/// What one vertex does to one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedAccess {
    pub(super) vertex: Vertex,
    /// Its place among all accesses.
    pub(super) at: u32,
    /// The value that it reads, by its place among all values.
    pub(super) read: u32,
    pub(super) write: u32,
}

/// What a key holds, and the start of the transaction that is to write it next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyMoment {
    pub(super) value: u32,
    pub(super) begun: u32,
}

/// All that happens to one key, by moment.
#[derive(Clone, Debug)]
pub(super) struct KeyLine {
    pub(super) initial: u32,
    pub(super) accesses: Vec<TimedAccess>,
    /// Of each access. Apart, for they are looked through far more often than the accesses.
    pub(super) moments: Vec<f64>,
}

/// The accesses that are wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) all: Vec<u32>,
    /// By access: its place there.
    pub(super) place: Vec<u32>,
}

impl Wrong {
    pub(super) fn set(&mut self, access: u32, is_wrong: bool) {
        let place = self.place[access as usize];
        if is_wrong == (place != NOTHING) {
            return;
        }
        if is_wrong {
            self.place[access as usize] = self.all.len() as u32;
            self.all.push(access);
            return;
        }
        self.all.swap_remove(place as usize);
        if let Some(moved) = self.all.get(place as usize) {
            self.place[*moved as usize] = place;
        }
        self.place[access as usize] = NOTHING;
    }
}

impl KeyMoment {
    /// What is held after an access, and whether the access is wrong.
    pub(super) fn step(self, access: &TimedAccess, is_split: bool) -> (Self, bool) {
        let mut is_wrong = access.read != NOTHING && access.read != self.value;
        let held = match access.write {
            NOTHING => self,
            BEGINS => Self {
                begun: access.vertex.number() / 2,
                ..self
            },
            value => {
                is_wrong |= is_split && self.begun != access.vertex.number() / 2;
                Self {
                    value,
                    begun: NOTHING,
                }
            }
        };
        (held, is_wrong)
    }
}

impl KeyLine {
    /// Where the access of a vertex of a moment stands, or would.
    pub(super) fn place(&self, moment: f64, vertex: Vertex) -> usize {
        self.place_between(0, self.moments.len(), moment, vertex)
    }

    /// The same for a moment that is likely to be near the one of a place.
    pub(super) fn place_near(&self, near: usize, moment: f64, vertex: Vertex) -> usize {
        let len = self.moments.len();
        let mut step = 1;
        if self.moments[near] < moment {
            let mut begin = near;
            while begin + step < len && self.moments[begin + step] < moment {
                begin += step;
                step *= 2;
            }
            let end = (begin + step).min(len);
            return self.place_between(begin, end, moment, vertex);
        }
        let mut end = near;
        while step <= end && self.moments[end - step] >= moment {
            end -= step;
            step *= 2;
        }
        self.place_between(end.saturating_sub(step), end, moment, vertex)
    }

    /// The same where all accesses before `begin` are earlier, and none from `end` on is.
    fn place_between(&self, begin: usize, end: usize, moment: f64, vertex: Vertex) -> usize {
        let part = &self.moments[begin..end];
        let first = begin + part.partition_point(|other| *other < moment);
        let others = self.moments[first..].iter().zip(&self.accesses[first..]);
        let is_before =
            |(other, access): &(&f64, &TimedAccess)| **other == moment && access.vertex < vertex;
        first + others.take_while(is_before).count()
    }

    /// What is held before a place.
    pub(super) fn held(&self, place: usize) -> KeyMoment {
        let mut begun = None;
        for access in self.accesses[..place].iter().rev() {
            match access.write {
                NOTHING => (),
                BEGINS => begun = begun.or(Some(access.vertex.number() / 2)),
                value => {
                    let begun = begun.unwrap_or(NOTHING);
                    return KeyMoment { value, begun };
                }
            }
        }
        KeyMoment {
            value: self.initial,
            begun: begun.unwrap_or(NOTHING),
        }
    }

    /// How many accesses more are wrong when the one at a place moves to where another stands.
    pub(super) fn change(&self, from: usize, to: usize, is_split: bool) -> i32 {
        if to == from || to == from + 1 {
            return 0;
        }
        let moved = &self.accesses[from];
        let (begin, end) = (from.min(to), from.max(to));
        let mut now = self.held(begin);
        let mut then = now;
        let mut change = 0;
        let mut count = |held: &mut KeyMoment, access: &TimedAccess, sign: i32| {
            let (after, is_wrong) = held.step(access, is_split);
            *held = after;
            change += sign * i32::from(is_wrong);
        };
        let between = match from < to {
            true => {
                count(&mut now, moved, -1);
                from + 1..to
            }
            false => {
                count(&mut then, moved, 1);
                to..from
            }
        };
        for access in &self.accesses[between] {
            count(&mut now, access, -1);
            count(&mut then, access, 1);
        }
        let rest = match from < to {
            true => {
                count(&mut then, moved, 1);
                end
            }
            false => {
                count(&mut now, moved, -1);
                end + 1
            }
        };
        for access in &self.accesses[rest..] {
            if now == then {
                break;
            }
            count(&mut now, access, -1);
            count(&mut then, access, 1);
        }
        change
    }

    /// Moves an access, and looks again at what that may have changed.
    pub(super) fn shift(
        &mut self,
        from: usize,
        to: usize,
        moment: f64,
        is_split: bool,
        wrong: &mut Wrong,
    ) {
        self.moments[from] = moment;
        if to == from || to == from + 1 {
            return;
        }
        match from < to {
            true => {
                self.accesses[from..to].rotate_left(1);
                self.moments[from..to].rotate_left(1);
            }
            false => {
                self.accesses[to..=from].rotate_right(1);
                self.moments[to..=from].rotate_right(1);
            }
        }
        self.look(from.min(to), from.max(to), is_split, wrong);
    }

    /// Looks at the accesses of some places, and at those behind until the next write.
    pub(super) fn look(&self, begin: usize, end: usize, is_split: bool, wrong: &mut Wrong) {
        let mut held = self.held(begin);
        for (place, access) in self.accesses.iter().enumerate().skip(begin) {
            let (after, is_wrong) = held.step(access, is_split);
            held = after;
            wrong.set(access.at, is_wrong);
            if place > end && access.write < BEGINS {
                break;
            }
        }
    }
}

/// What happens to every key in an order of all vertices, and of every access its vertex and its key.
pub(super) fn lines(
    polygraph: &Polygraph<'_>,
    deeds: &Deeds,
    order: &[Vertex],
) -> (Vec<KeyLine>, Vec<(Vertex, Key)>) {
    let history = polygraph.resolved.history;
    let mut values: Vec<_> = history.all_keys().map(|key| history.initial(key)).collect();
    values.extend(deeds.all().map(|deed| deed.value));
    values.sort_unstable();
    values.dedup();
    let number = |value| values.binary_search(&value).map_or(NOTHING, |at| at as u32);
    let line = |key| KeyLine {
        initial: number(history.initial(key)),
        accesses: Vec::new(),
        moments: Vec::new(),
    };
    let mut lines: Vec<KeyLine> = history.all_keys().map(line).collect();
    let mut owners = Vec::new();
    for (place, vertex) in order.iter().enumerate() {
        for (key, read, writes) in accesses(polygraph, deeds, *vertex) {
            lines[key].moments.push(place as f64);
            lines[key].accesses.push(TimedAccess {
                vertex: *vertex,
                at: owners.len() as u32,
                read: read.map_or(NOTHING, |read| number(read.value)),
                write: match writes {
                    Writes::Nothing => NOTHING,
                    Writes::Begins => BEGINS,
                    Writes::Value(write) => number(write.value),
                },
            });
            owners.push((*vertex, key));
        }
    }
    (lines, owners)
}

/// What a vertex does to a key beside reading it.
#[derive(Clone, Copy)]
enum Writes<'d> {
    Nothing,
    Begins,
    Value(&'d Deed),
}

/// What a vertex reads and writes, key by key.
fn accesses<'d>(
    polygraph: &Polygraph<'_>,
    deeds: &'d Deeds,
    vertex: Vertex,
) -> Vec<(Key, Option<&'d Deed>, Writes<'d>)> {
    let Some((transaction, part)) = part_at(polygraph, vertex) else {
        return Vec::new();
    };
    let deeds = deeds.of(transaction);
    let reads = deeds.reads.iter().filter(|_| part.reads());
    let mut all: Vec<_> = reads
        .map(|read| (read.key, Some(read), Writes::Nothing))
        .collect();
    for write in &deeds.writes {
        let writes = match part {
            Part::Reads => Writes::Begins,
            Part::Writes | Part::Both => Writes::Value(write),
        };
        match all.iter_mut().find(|access| access.0 == write.key) {
            Some(access) => access.2 = writes,
            None => all.push((write.key, None, writes)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::tests::Numbers;

    /// A line of whole transactions, or of starts and commits, some of which fit.
    fn random(numbers: &mut Numbers, is_split: bool) -> KeyLine {
        let mut accesses = Vec::new();
        for place in 0..3 + numbers.below(8) as u32 {
            let vertex =
                Vertex::new(numbers.below(8) as u32 * 2 + u32::from(is_split) * (place % 2));
            let value = numbers.below(3) as u32;
            let starts = is_split && vertex.is_start();
            let write = match numbers.below(3) {
                0 => NOTHING,
                _ if starts => BEGINS,
                _ => value,
            };
            let read = match numbers.below(3) {
                0 => NOTHING,
                other => other as u32,
            };
            accesses.push(TimedAccess {
                vertex,
                at: place,
                read,
                write,
            });
        }
        let initial = numbers.below(3) as u32;
        line_of(initial, accesses)
    }

    /// A line whose accesses have the moments 0, 1 and so on.
    fn line_of(initial: u32, accesses: Vec<TimedAccess>) -> KeyLine {
        KeyLine {
            initial,
            moments: (0..accesses.len()).map(|place| place as f64).collect(),
            accesses,
        }
    }

    fn nothing_wrong(line: &KeyLine) -> Wrong {
        Wrong {
            all: Vec::new(),
            place: vec![NOTHING; line.accesses.len()],
        }
    }

    /// The accesses that are wrong, found from the beginning.
    fn counted(line: &KeyLine, is_split: bool) -> Vec<u32> {
        let mut wrong = nothing_wrong(line);
        line.look(0, line.accesses.len(), is_split, &mut wrong);
        wrong.all.sort_unstable();
        wrong.all
    }

    #[test]
    fn what_a_move_changes_is_what_counting_anew_says() {
        let mut numbers = Numbers(3);
        let mut changes = [0; 3];
        for round in 0..20_000 {
            let is_split = round % 2 == 0;
            let mut line = random(&mut numbers, is_split);
            let len = line.accesses.len() as u64;
            let mut wrong = nothing_wrong(&line);
            line.look(0, line.accesses.len(), is_split, &mut wrong);
            let from = numbers.below(len) as usize;
            let moment = numbers.below(len + 1) as f64 - 0.5;
            let to = line.place(moment, line.accesses[from].vertex);
            for near in 0..line.accesses.len() {
                let vertex = line.accesses[from].vertex;
                assert_eq!(line.place_near(near, moment, vertex), to, "{near} {line:?}");
            }
            let before = counted(&line, is_split).len() as i32;
            let change = line.change(from, to, is_split);
            line.shift(from, to, moment, is_split, &mut wrong);
            assert!(line.moments.is_sorted());
            let after = counted(&line, is_split);
            assert_eq!(after.len() as i32 - before, change, "{line:?}");
            wrong.all.sort_unstable();
            assert_eq!(wrong.all, after, "{line:?}");
            changes[(change.signum() + 1) as usize] += 1;
        }
        assert!(changes.iter().all(|count| *count > 1_000), "{changes:?}");
    }

    #[test]
    fn between_the_start_and_the_commit_of_a_writer_no_other_writes() {
        let access = |place: u32, vertex, write| TimedAccess {
            vertex,
            at: place,
            read: NOTHING,
            write,
        };
        let [one, other] = [1, 2].map(crate::history::Txn::new);
        let (start, commit) = (Vertex::start, Vertex::commit);
        let accesses = vec![
            access(0, start(one), BEGINS),
            access(1, start(other), BEGINS),
            access(2, commit(other), 7),
            access(3, commit(one), 8),
        ];
        let mut line = line_of(0, accesses);
        assert_eq!(counted(&line, true), [3]);
        assert_eq!(line.change(0, 3, true), -1);
        let mut wrong = nothing_wrong(&line);
        line.shift(0, 3, 2.5, true, &mut wrong);
        assert_eq!(counted(&line, true), Vec::<u32>::new());
    }
}
