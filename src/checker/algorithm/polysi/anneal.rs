//! An order by simulated annealing: every vertex has a moment, vertices move to moments that the
//! known edges allow, and fewer and fewer moves are taken that leave more reads without their value.
//!
//! Finds orders where most written values are repeated, so that many orders explain the reads. A run
//! from the beginning (`schedule`) meets a mistake long after it was made, and the solver takes back
//! one choice at a time; here all of the history comes to rest at once. Says nothing where it finds
//! no order, but comes near, and the solver begins from there.
//!
//! For snapshot isolation the start of a transaction that writes a key is to be what comes last
//! before its commit among all starts and commits of the key's writers. A vertex that only reads is in nobody's
//! way, and goes at once where few of its reads are wrong (`heat_bath`).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::deeds::{Deeds, part_at, progress};
use super::heat_bath::WrongReads;
use super::key_line::{KeyLine, NOTHING, TimedAccess, Wrong, lines};
use super::movable::Movable;
use super::polygraph::{Polygraph, VertexView};
use crate::checker::budget::Budget;
use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Key;

/// A move that leaves one access more wrong is taken with probability `exp(-1 / heat)`; the heat
/// falls from the first of these to the second.
const HOT: f64 = 0.4;
const COLD: f64 = 0.15;

/// Where at most one access is wrong for so many vertices, the order is heated again, to loosen what holds the
/// last ones in place.
const FEW_WRONG: usize = 200;

/// How often it is.
const AGAIN_MAX: usize = 4;

/// The heat that it falls from then: less than at first, so that most of the order stays as it is.
const WARM: f64 = 0.26;

/// The share of the first moves that each such time has.
const AGAIN_PART: f64 = 0.3;

/// The share of moves that mend an access that is wrong; the others are of any vertex.
const MENDING: f64 = 0.2;

/// The share of moves of a whole transaction, where it has a start and a commit.
const TOGETHER: f64 = 0.2;

/// After so many moves moments are spread anew, for between two of them there must be others.
const SPREAD_AFTER: usize = 1 << 18;

/// How far on either side writes of a value are looked for.
const LOOK_MAX: usize = 40;

/// What so many moves led to.
pub(super) struct Annealed {
    /// An order of all vertices that has every known edge.
    pub(super) order: Vec<Vertex>,
    /// How many accesses are wrong in it; none means that it explains every read.
    pub(super) wrong: usize,
}

/// Looks for an order that explains every read, from one that has the known edges, with so many moves
/// for each vertex at most.
pub(super) fn anneal(
    polygraph: &Polygraph<'_>,
    deeds: &Deeds,
    order: &[Vertex],
    moves: usize,
    budget: Budget,
) -> Annealed {
    let mut annealing = Annealing::new(polygraph, deeds, order);
    let moves = moves * polygraph.len;
    annealing.cool(HOT, moves, budget);
    for _ in 0..AGAIN_MAX {
        if annealing.wrong.all.len() * FEW_WRONG > polygraph.len {
            break;
        }
        annealing.cool(WARM, (moves as f64 * AGAIN_PART) as usize, budget);
    }
    Annealed {
        order: annealing.order(),
        wrong: annealing.wrong.all.len(),
    }
}

struct Annealing {
    is_split: bool,
    moments: Vec<f64>,
    movable: Movable,
    /// By vertex: whether no other depends on where it is.
    only_reads: Vec<bool>,
    /// Scratch of `read_elsewhere`.
    wrong_reads: WrongReads,
    /// Scratch: for each key of the vertex the place of its access, and the place it would have.
    places: Vec<(usize, usize)>,
    /// By vertex the keys of its accesses.
    keys: Rows<Vertex, Key>,
    lines: Vec<KeyLine>,
    /// By access: its vertex and its key.
    owners: Vec<(Vertex, Key)>,
    wrong: Wrong,
    numbers: ChaCha8Rng,
}

impl Annealing {
    fn new(polygraph: &Polygraph<'_>, deeds: &Deeds, order: &[Vertex]) -> Self {
        let order = &likely_order(polygraph, order);
        let mut moments = vec![0.0; polygraph.len];
        for (place, vertex) in order.iter().enumerate() {
            moments[*vertex] = place as f64;
        }
        let (lines, owners) = lines(polygraph, deeds, order);
        let mut only_reads = vec![true; polygraph.len];
        let accesses = lines.iter().flat_map(|line| &line.accesses);
        for access in accesses.filter(|access| access.write != NOTHING) {
            only_reads[access.vertex] = false;
        }
        let mut annealing = Self {
            is_split: polygraph.view == VertexView::Split,
            moments,
            movable: Movable::new(polygraph, order, &owners),
            only_reads,
            wrong_reads: WrongReads::default(),
            places: Vec::new(),
            keys: Rows::of(polygraph.len, &owners),
            lines,
            wrong: Wrong {
                all: Vec::new(),
                place: vec![NOTHING; owners.len()],
            },
            owners,
            numbers: ChaCha8Rng::seed_from_u64(0),
        };
        for line in &annealing.lines {
            let all = line.accesses.len();
            line.look(0, all, annealing.is_split, &mut annealing.wrong);
        }
        annealing
    }

    /// Makes so many moves, while the heat falls from `hot`.
    fn cool(&mut self, hot: f64, moves: usize, budget: Budget) {
        let mut heat = hot;
        for made in 0..moves {
            if self.wrong.all.is_empty() {
                return;
            }
            if made.is_multiple_of(1024) {
                if budget.is_over() {
                    return;
                }
                heat = hot * (COLD / hot).powf(made as f64 / moves as f64);
            }
            if made.is_multiple_of(SPREAD_AFTER) {
                self.spread();
            }
            if self.is_split && self.part() < TOGETHER {
                self.move_together(heat);
                continue;
            }
            let Some((vertex, within)) = self.propose() else {
                continue;
            };
            if self.only_reads[vertex] {
                self.read_elsewhere(vertex, heat);
                continue;
            }
            let Some(moment) = self.moment_for(vertex, within) else {
                continue;
            };
            let change = self.change(vertex, moment);
            if self.is_taken(change, heat) {
                self.shift(vertex, moment);
            }
        }
    }

    fn is_taken(&mut self, change: i32, heat: f64) -> bool {
        change <= 0 || self.part() < (-f64::from(change) / heat).exp()
    }

    /// Moves the start and the commit of a transaction, as far from each other as they are.
    fn move_together(&mut self, heat: f64) {
        let vertex = match self.part() < MENDING {
            true => self.any_wrong().0,
            false => self.any_vertex(),
        };
        let transaction = vertex.of_start_or_commit();
        let (start, commit) = (Vertex::start(transaction), Vertex::commit(transaction));
        if self.only_reads[start] {
            return self.read_elsewhere(start, heat);
        }
        let (from_start, from_commit) = (self.moments[start], self.moments[commit]);
        let (of_start, of_commit) = (self.allowed(start, commit), self.allowed(commit, start));
        let (begin, end) = (of_start.0.max(of_commit.0), of_start.1.min(of_commit.1));
        let to_start = begin + (end - begin) * self.part();
        let mut to_commit = to_start + (from_commit - from_start);
        if to_commit >= end {
            to_commit = to_start + (end - to_start) * self.part();
        }
        if !(begin < to_start && to_start < to_commit && to_commit < end) {
            return;
        }
        let mut change = 0;
        for (vertex, moment) in [(start, to_start), (commit, to_commit)] {
            change += self.change(vertex, moment);
            self.shift(vertex, moment);
        }
        if !self.is_taken(change, heat) {
            for (vertex, moment) in [(commit, from_commit), (start, from_start)] {
                self.look_up(vertex, moment);
                self.shift(vertex, moment);
            }
        }
    }

    /// Between which moments the known edges allow a vertex, those of another left out.
    fn allowed(&self, vertex: Vertex, other: Vertex) -> (f64, f64) {
        let (mut begin, mut end) = (-1.0, self.moments.len() as f64);
        let (before, after) = (
            self.movable.before.row(vertex),
            self.movable.after.row(vertex),
        );
        for before in before.iter().filter(|v| **v != other) {
            begin = self.moments[*before].max(begin);
        }
        for after in after.iter().filter(|v| **v != other) {
            end = self.moments[*after].min(end);
        }
        (begin, end)
    }

    /// A vertex, and between which moments it may go.
    fn propose(&mut self) -> Option<(Vertex, (f64, f64))> {
        match self.part() < MENDING {
            true => self.mend(),
            false => Some((self.any_vertex(), (f64::NEG_INFINITY, f64::INFINITY))),
        }
    }

    /// A moment between two that the known edges allow a vertex.
    fn moment_for(&mut self, vertex: Vertex, within: (f64, f64)) -> Option<f64> {
        let (begin, end) = self.allowed(vertex, vertex);
        let (begin, end) = (begin.max(within.0), end.min(within.1));
        let moment = begin + (end - begin) * self.part();
        (begin < moment && moment < end).then_some(moment)
    }

    /// Moves a vertex that only reads.
    fn read_elsewhere(&mut self, vertex: Vertex, heat: f64) {
        let (begin, end) = self.allowed(vertex, vertex);
        self.wrong_reads.clear();
        self.places.clear();
        for key in self.keys.row(vertex) {
            let line = &self.lines[*key];
            let here = line.place(self.moments[vertex], vertex);
            self.places.push((here, here));
            let read = line.accesses[here].read;
            self.wrong_reads.add(line, read, (begin, end));
        }
        let parts = [self.part(), self.part()];
        let moment = self.wrong_reads.draw((begin, end), heat, parts);
        if begin < moment && moment < end {
            for (key, (from, to)) in self.keys.row(vertex).iter().zip(&mut self.places) {
                *to = self.lines[*key].place_near(*from, moment, vertex);
            }
            self.shift(vertex, moment);
        }
    }

    fn any_vertex(&mut self) -> Vertex {
        let at = self.below(self.movable.all.len());
        self.movable.all[at]
    }

    /// The vertex and the key of an access that is wrong; there is one.
    fn any_wrong(&mut self) -> (Vertex, Key) {
        let place = self.below(self.wrong.all.len());
        self.owners[self.wrong.all[place] as usize]
    }

    /// A vertex whose move may mend an access that is wrong, and between which moments.
    fn mend(&mut self) -> Option<(Vertex, (f64, f64))> {
        let (vertex, key) = self.any_wrong();
        let moment = self.moments[vertex];
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        let (way, chosen) = (self.below(4), self.part());
        let line = &self.lines[key];
        let here = line.place(moment, vertex);
        let is_write = |access: &&TimedAccess| access.write != NOTHING;
        let last = line.accesses[..here].iter().rev().find(is_write);
        match way {
            0 => Some((vertex, everywhere)),
            // What it met goes elsewhere, or behind it.
            1 => Some((last?.vertex, everywhere)),
            2 => Some((last?.vertex, (moment, f64::INFINITY))),
            // What it should have met comes between.
            _ => {
                let wanted = line.accesses.get(here)?.read;
                let begin = last.map_or(f64::NEG_INFINITY, |last| self.moments[last.vertex]);
                let near = here.saturating_sub(LOOK_MAX)..line.accesses.len().min(here + LOOK_MAX);
                let is_wanted = |access: &&TimedAccess| wanted != NOTHING && access.write == wanted;
                let mut found = line.accesses[near].iter().filter(is_wanted);
                let chosen = (chosen * found.clone().count() as f64) as usize;
                Some((found.nth(chosen)?.vertex, (begin, moment)))
            }
        }
    }

    /// How many accesses more are wrong when a vertex moves to a moment.
    fn change(&mut self, vertex: Vertex, moment: f64) -> i32 {
        self.look_up(vertex, moment);
        let places = self.keys.row(vertex).iter().zip(&self.places);
        let change = |(key, (from, to)): (&Key, &(usize, usize))| {
            self.lines[*key].change(*from, *to, self.is_split)
        };
        places.map(change).sum()
    }

    /// Moves a vertex to the moment that `places` is for.
    fn shift(&mut self, vertex: Vertex, moment: f64) {
        for (key, (from, to)) in self.keys.row(vertex).iter().zip(&self.places) {
            let line = &mut self.lines[*key];
            line.shift(*from, *to, moment, self.is_split, &mut self.wrong);
        }
        self.moments[vertex] = moment;
    }

    /// Notes where the accesses of a vertex stand, and where they would at a moment.
    fn look_up(&mut self, vertex: Vertex, moment: f64) {
        self.places.clear();
        for key in self.keys.row(vertex) {
            let line = &self.lines[*key];
            let from = line.place(self.moments[vertex], vertex);
            self.places
                .push((from, line.place_near(from, moment, vertex)));
        }
    }

    /// Gives every vertex its place in the order as its moment.
    fn spread(&mut self) {
        for (place, vertex) in self.order().into_iter().enumerate() {
            self.moments[vertex] = place as f64;
        }
        for line in &mut self.lines {
            for (moment, access) in line.moments.iter_mut().zip(&line.accesses) {
                *moment = self.moments[access.vertex];
            }
        }
    }

    fn order(&self) -> Vec<Vertex> {
        self.movable.order(&self.moments)
    }

    /// A number from 0 to 1, without either.
    fn part(&mut self) -> f64 {
        (f64::from(self.numbers.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.part() * bound as f64) as usize
    }
}

/// A vertex that may come next, the one first that stands earliest in its session.
#[derive(PartialEq)]
struct ReadyVertex(f32, Vertex);

impl Eq for ReadyVertex {}

impl PartialOrd for ReadyVertex {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ReadyVertex {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// An order of the known edges in which sessions go on side by side.
fn likely_order(polygraph: &Polygraph<'_>, order: &[Vertex]) -> Vec<Vertex> {
    let progress = progress(polygraph.resolved);
    let edges = polygraph.edges.iter().filter(|(from, to)| from != to);
    let edges: Vec<_> = edges.copied().collect();
    let mut missing = vec![0u32; polygraph.len];
    for (_, to) in &edges {
        missing[*to] += 1;
    }
    let next = Rows::of(polygraph.len, &edges);
    let enter = |vertex: Vertex| {
        let at = part_at(polygraph, vertex).map_or(0.0, |(t, _)| progress[t]);
        ReadyVertex(at, vertex)
    };
    let first = order.iter().filter(|v| missing[**v] == 0);
    let mut heap: BinaryHeap<ReadyVertex> = first.map(|v| enter(*v)).collect();
    let mut likely = Vec::with_capacity(polygraph.len);
    while let Some(ReadyVertex(_, vertex)) = heap.pop() {
        likely.push(vertex);
        for to in next.row(vertex) {
            missing[*to] -= 1;
            if missing[*to] == 0 {
                heap.push(enter(*to));
            }
        }
    }
    likely
}
