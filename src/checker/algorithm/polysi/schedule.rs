//! A run of the history from its beginning: what may come next comes next, and where nothing may
//! the last steps are taken back. Finds orders where most written values are repeated, so that many
//! orders explain the reads, and says nothing where it finds none.
//!
//! A step is a vertex: the start of a transaction reads, its commit writes, a whole transaction does
//! both. A value is not overwritten while a read waits for it that no later write can serve. What
//! sessions did is likelier to have happened at one time if they had done as large a part of all
//! that they did.

use super::deeds::{Deed, Deeds, OneDeeds, Part, part_at, progress};
use super::polygraph::Polygraph;
use super::reach::{Reach, Reached};
use super::writers::KeyWriters;
use crate::checker::budget::Budget;
use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;
use crate::history::{Atom, Key, Txn};

/// Steps at most, those that were taken back included, for each vertex.
const STEPS_MAX: usize = 100;

/// Looks for an order of all vertices that explains every read.
pub(super) fn schedule(
    polygraph: &Polygraph<'_>,
    deeds: &Deeds,
    order: &[Vertex],
    budget: Budget,
) -> Option<Vec<Vertex>> {
    let mut run = Run::new(polygraph, deeds, order);
    run.search(budget).then_some(run.order)
}

struct Run<'p> {
    polygraph: &'p Polygraph<'p>,
    deeds: &'p Deeds,
    /// Where in its session a transaction stands: between 0 and 1.
    progress: Vec<f32>,
    next: Rows<Vertex, Vertex>,
    /// How many vertices must still come before one.
    missing: Vec<u32>,
    is_done: Vec<bool>,
    /// Vertices of which nothing is missing, but for those that are done.
    ready: Vec<Vertex>,
    ready_place: Vec<u32>,
    /// By key: what ready vertices want to read.
    waiting: Vec<Vec<(Atom, Vertex)>>,
    values: Vec<Atom>,
    /// Who is between its start and its commit and writes a key.
    running: Vec<Option<Txn>>,
    /// By write: the reads that may be of it.
    serves: Vec<Vec<u32>>,
    /// By read: how many writes to come may serve it.
    left: Vec<u32>,
    /// By read: writers of the key that come before its reader, the last of each session.
    before: Vec<Vec<Txn>>,
    is_read: Vec<bool>,
    /// By key: how many reads wait for the value of the moment, which none to come can serve.
    urgent: Vec<u32>,
    order: Vec<Vertex>,
    old: Vec<(Key, Atom)>,
    noise: u64,
    noise_scale: f32,
    harm_scale: f32,
}

const NOT_READY: u32 = u32::MAX;

impl<'p> Run<'p> {
    fn new(polygraph: &'p Polygraph<'p>, deeds: &'p Deeds, order: &[Vertex]) -> Self {
        let resolved = polygraph.resolved;
        let history = resolved.history;
        let mut missing = vec![0; polygraph.len];
        for (_, to) in polygraph.edges.iter().filter(|(from, to)| from != to) {
            missing[*to] += 1;
        }
        let edges: Vec<(Vertex, Vertex)> = polygraph
            .edges
            .iter()
            .copied()
            .filter(|(from, to)| from != to)
            .collect();
        let mut run = Self {
            polygraph,
            deeds,
            progress: progress(polygraph.resolved),
            next: Rows::of(polygraph.len, &edges),
            missing,
            is_done: vec![false; polygraph.len],
            ready: Vec::new(),
            ready_place: vec![NOT_READY; polygraph.len],
            waiting: vec![Vec::new(); history.key_count()],
            values: history.all_keys().map(|key| history.initial(key)).collect(),
            running: vec![None; history.key_count()],
            serves: vec![Vec::new(); resolved.writer.len()],
            left: Vec::new(),
            before: Vec::new(),
            is_read: Vec::new(),
            urgent: vec![0; history.key_count()],
            order: Vec::new(),
            old: Vec::new(),
            noise: 1,
            noise_scale: 1.0,
            harm_scale: 1.0,
        };
        run.look_at_reads(deeds, order);
        for vertex in (0..polygraph.len).map(Vertex::at) {
            if run.missing[vertex] == 0 {
                run.enter(vertex);
            }
        }
        run
    }

    /// What serves which read, and what a read must wait for.
    fn look_at_reads(&mut self, deeds: &Deeds, order: &[Vertex]) {
        let polygraph = self.polygraph;
        let resolved = polygraph.resolved;
        let (reach, reached) = (Reach::new(polygraph, order), Reached::new(polygraph, order));
        let writers = KeyWriters::of_all(resolved);
        for reader in resolved.live() {
            for read in &deeds.of(reader).reads {
                let versions = deeds.versions(read).iter();
                let later = versions.filter(|version| !resolved.writer[**version].is_initial());
                let mut left = 0;
                for version in later {
                    self.serves[version.index()].push(read.at);
                    left += 1;
                }
                self.left.push(left);
                self.is_read.push(false);
                self.urgent[read.key] += u32::from(left == 0);
                let view = polygraph.view;
                self.before
                    .push(writers.last_seen(view, &reach, &reached, read.key, reader));
            }
        }
    }

    /// Steps forward, and back where nothing may come next.
    fn search(&mut self, budget: Budget) -> bool {
        let steps_max = STEPS_MAX * self.polygraph.len;
        let (mut best, mut back) = (0, 4);
        for step in 0..steps_max {
            if self.order.len() == self.polygraph.len {
                return true;
            }
            if step.is_multiple_of(1024) && budget.is_over() {
                return false;
            }
            if let Some(vertex) = self.choose() {
                self.go(vertex);
                continue;
            }
            if self.order.len() > best {
                (best, back) = (self.order.len(), 4);
            } else {
                back = (back + back / 8 + 1).min(self.polygraph.len);
            }
            self.noise_scale = [1.0, 1.0, 4.0, 8.0][self.below(4) as usize];
            self.harm_scale = [1.0, 1.0, 0.3, 0.0][self.below(4) as usize];
            let keep = self
                .order
                .len()
                .saturating_sub(1 + self.below(back as u64) as usize);
            while self.order.len() > keep {
                self.take_back();
            }
        }
        false
    }

    /// The vertex that comes next.
    fn choose(&mut self) -> Option<Vertex> {
        let mut best: Option<(f32, Vertex)> = None;
        for at in 0..self.ready.len() {
            let vertex = self.ready[at];
            let Some((transaction, part)) = part_at(self.polygraph, vertex) else {
                return Some(vertex);
            };
            if !self.may(transaction, part) {
                continue;
            }
            // What changes nothing for others may always come next.
            if self.deeds.of(transaction).writes.is_empty() {
                return Some(vertex);
            }
            let noise = self.below(1 << 16) as f32 / (1 << 16) as f32;
            let mut score = self.progress[transaction] + noise * self.noise_scale;
            if part.writes() {
                score += self.harm(transaction, vertex) * self.harm_scale;
            }
            if best.is_none_or(|(least, _)| score < least) {
                best = Some((score, vertex));
            }
        }
        best.map(|(_, vertex)| vertex)
    }

    fn may(&self, transaction: Txn, part: Part) -> bool {
        let (reads, writes) = (part.reads(), part.writes());
        let deeds = self.deeds.of(transaction);
        let agrees = |read: &Deed| self.values[read.key] == read.value;
        if reads && !deeds.reads.iter().all(agrees) {
            return false;
        }
        let is_free = |write: &Deed| self.running[write.key].is_none();
        if reads && !writes {
            return deeds.writes.iter().all(is_free);
        }
        !writes
            || deeds
                .writes
                .iter()
                .all(|write| self.may_write(transaction, deeds, write))
    }

    fn may_write(&self, transaction: Txn, deeds: &OneDeeds, write: &Deed) -> bool {
        let mine = |read: &&Deed| {
            let at = read.at as usize;
            read.key == write.key && self.left[at] == 0 && !self.is_read[at]
        };
        let own = deeds.reads.iter().filter(mine).count() as u32;
        if self.values[write.key] != write.value && self.urgent[write.key] > own {
            return false;
        }
        self.serves[write.at as usize].iter().all(|read| {
            let read = *read as usize;
            let is_done = |before: &Txn| {
                *before == transaction || self.is_done[self.polygraph.view.end(*before)]
            };
            self.is_read[read] || self.left[read] > 1 || self.before[read].iter().all(is_done)
        })
    }

    /// Reads that could come next and could no more, without those that could not and then could.
    fn harm(&self, transaction: Txn, vertex: Vertex) -> f32 {
        let mut harm = 0.0;
        for write in &self.deeds.of(transaction).writes {
            let held = self.values[write.key];
            if held == write.value {
                continue;
            }
            for (value, other) in &self.waiting[write.key] {
                if *other != vertex {
                    harm += f32::from(u8::from(*value == held))
                        - f32::from(u8::from(*value == write.value));
                }
            }
        }
        harm
    }

    fn enter(&mut self, vertex: Vertex) {
        self.ready_place[vertex] = self.ready.len() as u32;
        self.ready.push(vertex);
        if let Some((transaction, part)) = part_at(self.polygraph, vertex)
            && part.reads()
        {
            for read in &self.deeds.of(transaction).reads {
                self.waiting[read.key].push((read.value, vertex));
            }
        }
    }

    fn leave(&mut self, vertex: Vertex) {
        let place = self.ready_place[vertex] as usize;
        self.ready.swap_remove(place);
        if let Some(moved) = self.ready.get(place) {
            self.ready_place[*moved] = place as u32;
        }
        self.ready_place[vertex] = NOT_READY;
        if let Some((transaction, part)) = part_at(self.polygraph, vertex)
            && part.reads()
        {
            for read in &self.deeds.of(transaction).reads {
                self.waiting[read.key].retain(|(_, other)| *other != vertex);
            }
        }
    }

    fn go(&mut self, vertex: Vertex) {
        self.leave(vertex);
        self.is_done[vertex] = true;
        self.order.push(vertex);
        if let Some((transaction, part)) = part_at(self.polygraph, vertex) {
            let (reads, writes) = (part.reads(), part.writes());
            let deeds = self.deeds.of(transaction);
            for read in deeds.reads.iter().filter(|_| reads) {
                self.is_read[read.at as usize] = true;
                self.urgent[read.key] -= u32::from(self.left[read.at as usize] == 0);
            }
            for write in &deeds.writes {
                self.running[write.key] = (!writes).then_some(transaction);
                if !writes {
                    continue;
                }
                self.old.push((write.key, self.values[write.key]));
                self.values[write.key] = write.value;
                for read in &self.serves[write.at as usize] {
                    let read = *read as usize;
                    self.left[read] -= 1;
                    self.urgent[write.key] +=
                        u32::from(self.left[read] == 0 && !self.is_read[read]);
                }
            }
        }
        for at in 0..self.next.row(vertex).len() {
            let next = self.next.row(vertex)[at];
            self.missing[next] -= 1;
            if self.missing[next] == 0 {
                self.enter(next);
            }
        }
    }

    /// Takes the last step back.
    fn take_back(&mut self) {
        let Some(vertex) = self.order.pop() else {
            return;
        };
        for at in 0..self.next.row(vertex).len() {
            let next = self.next.row(vertex)[at];
            if self.missing[next] == 0 {
                self.leave(next);
            }
            self.missing[next] += 1;
        }
        if let Some((transaction, part)) = part_at(self.polygraph, vertex) {
            let (reads, writes) = (part.reads(), part.writes());
            let deeds = self.deeds.of(transaction);
            for write in deeds.writes.iter().rev() {
                self.running[write.key] = (reads != writes && writes).then_some(transaction);
                if !writes {
                    continue;
                }
                for read in &self.serves[write.at as usize] {
                    let read = *read as usize;
                    self.urgent[write.key] -=
                        u32::from(self.left[read] == 0 && !self.is_read[read]);
                    self.left[read] += 1;
                }
                if let Some((key, value)) = self.old.pop() {
                    self.values[key] = value;
                }
            }
            for read in deeds.reads.iter().filter(|_| reads) {
                self.urgent[read.key] += u32::from(self.left[read.at as usize] == 0);
                self.is_read[read.at as usize] = false;
            }
        }
        self.is_done[vertex] = false;
        self.enter(vertex);
    }

    /// A number below a bound, the same in every run (splitmix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.noise = self.noise.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.noise;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
