//! Choices one after the other, as the order of the moment has them.
//!
//! Orders of real executions leave most choices free, and then this is all that is needed: the
//! solver alone finds the same, but takes back thousands of choices for each that was wrong.

use std::cmp::Reverse;

use super::acyclic::Acyclic;
use super::open::{OpenChoice, OpenReads};
use super::polygraph::{Chain, Constraint, Polygraph};
use super::prune::pair;
use crate::checker::budget::Budget;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// Rounds of greedy choices before the solver is asked; each begins with the order of the last.
const GREEDY_ROUNDS: usize = 16;

/// The same where writers of reads are to be chosen, too.
const OPEN_ROUNDS: usize = 32;

/// The result of the greedy rounds.
pub(super) enum Greedy {
    /// An order of everything.
    Order(Vec<Vertex>),
    /// Of the round that chose most an order of the known edges that has it, and the source of each
    /// open read that was chosen.
    Left(Vec<Vertex>, Vec<Option<u32>>),
    TimeIsOver,
}

/// Something to be chosen, by its place.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// Which of two chains comes first.
    Pair(u32),
    /// Which version an open read saw.
    Read(u32),
}

pub(super) fn greedily(
    polygraph: &Polygraph<'_>,
    open: &OpenReads,
    mut order: Vec<Vertex>,
    budget: Budget,
) -> Greedy {
    let reads = (0..open.reads.len() as u32).map(Choice::Read);
    let pairs = (0..polygraph.constraints.len() as u32).map(Choice::Pair);
    let mut choices: Vec<Choice> = reads.chain(pairs).collect();
    let rounds = match open.reads.is_empty() {
        true => GREEDY_ROUNDS,
        false => OPEN_ROUNDS,
    };
    // The round that left least, how much that was, its order and its sources.
    let mut best: Option<(usize, Vec<Vertex>, Vec<Option<u32>>)> = None;
    for _ in 0..rounds {
        if budget.is_over() {
            return Greedy::TimeIsOver;
        }
        let mut run = Run::new(polygraph, open, &order);
        // What found no way goes first in the next round: most of it does find one then.
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for (at, choice) in choices.iter().enumerate() {
            if at.is_multiple_of(4096) && budget.is_over() {
                return Greedy::TimeIsOver;
            }
            let found = match *choice {
                Choice::Pair(place) => run.order(polygraph.constraints[place as usize]),
                Choice::Read(place) => run.read(place as usize),
            };
            match found {
                true => rest.push(*choice),
                false => first.push(*choice),
            }
        }
        order = run.graph.order();
        if first.is_empty() {
            return Greedy::Order(order);
        }
        if best.as_ref().is_none_or(|(left, ..)| first.len() < *left) {
            best = Some((first.len(), order.clone(), run.sources));
        }
        first.append(&mut rest);
        choices = first;
    }
    match best {
        Some((_, order, sources)) => Greedy::Left(order, sources),
        None => Greedy::Left(order, Vec::new()),
    }
}

/// One round.
struct Run<'p> {
    polygraph: &'p Polygraph<'p>,
    open: &'p OpenReads,
    graph: Acyclic,
    /// For each chain those that were put behind it.
    behind: Vec<Vec<u32>>,
    /// For each chain the open reads that were decided to see its last version.
    readers: Vec<Vec<Txn>>,
    /// The source of each open read.
    sources: Vec<Option<u32>>,
    edges: Vec<(Vertex, Vertex)>,
}

impl<'p> Run<'p> {
    fn new(polygraph: &'p Polygraph<'p>, open: &'p OpenReads, order: &[Vertex]) -> Self {
        Self {
            polygraph,
            open,
            graph: Acyclic::new(polygraph.len, &polygraph.edges, order),
            behind: vec![Vec::new(); polygraph.chains.len()],
            readers: vec![Vec::new(); polygraph.chains.len()],
            sources: vec![None; open.reads.len()],
            edges: Vec::new(),
        }
    }

    /// Puts one chain before the other, if that closes no cycle.
    fn order(&mut self, constraint: Constraint) -> bool {
        let (one, other) = pair(self.polygraph, constraint);
        let place = |chain: &Chain| self.graph.place(first_vertex(self.polygraph, chain));
        let both = (constraint.one, constraint.other);
        let (likely, unlikely) = match place(&one) <= place(&other) {
            true => both,
            false => (both.1, both.0),
        };
        self.put(likely, unlikely) || self.put(unlikely, likely)
    }

    fn put(&mut self, before: u32, after: u32) -> bool {
        let polygraph = self.polygraph;
        let chain = |at: u32| polygraph.chains[at as usize];
        let (one, other) = (chain(before), chain(after));
        self.edges.clear();
        polygraph.between(&one, &other, |edge| self.edges.push(edge));
        for reader in &self.readers[before as usize] {
            if *reader != other.first {
                let edge = (*reader, other.first, DependencyEdge::Anti);
                self.edges.push(polygraph.view.edge(edge.0, edge.1, edge.2));
            }
        }
        let is_added = self.add();
        if is_added {
            self.behind[before as usize].push(after);
        }
        is_added
    }

    /// Chooses the version of a read: the last before it, if that closes no cycle.
    fn read(&mut self, at: usize) -> bool {
        let open = self.open;
        let choice = &open.reads[at];
        let view = self.polygraph.view;
        let here = self.graph.place(view.begin(choice.reader));
        let mut sources: Vec<(bool, Reverse<u32>, usize)> = Vec::new();
        for (source, version) in choice.sources.iter().enumerate() {
            let place = match version.writer.is_initial() {
                true => 0,
                false => self.graph.place(view.end(version.writer)),
            };
            sources.push((place > here, Reverse(place), source));
        }
        sources.sort_unstable();
        let found = sources
            .into_iter()
            .find(|(_, _, source)| self.see(choice, *source));
        self.sources[at] = found.map(|(_, _, source)| source as u32);
        found.is_some()
    }

    fn see(&mut self, choice: &OpenChoice, source: usize) -> bool {
        let source = &choice.sources[source];
        self.edges.clear();
        self.edges.extend(&source.edges);
        if let Some(chain) = source.chain {
            for after in &self.behind[chain as usize] {
                let writer = self.polygraph.chains[*after as usize].first;
                if writer != choice.reader {
                    let view = self.polygraph.view;
                    self.edges
                        .push(view.edge(choice.reader, writer, DependencyEdge::Anti));
                }
            }
        }
        let is_added = self.add();
        if is_added && let Some(chain) = source.chain {
            self.readers[chain as usize].push(choice.reader);
        }
        is_added
    }

    /// Adds all edges, or none.
    fn add(&mut self) -> bool {
        let begin = self.graph.added();
        let graph = &mut self.graph;
        let mut edges = self.edges.iter();
        let is_added = edges.all(|(from, to)| graph.add(*from, *to, [0, 0]).is_ok());
        if !is_added {
            graph.keep(begin);
        }
        is_added
    }
}

/// The vertex at which the first transaction of a chain is reached.
pub(super) fn first_vertex(polygraph: &Polygraph<'_>, chain: &Chain) -> Vertex {
    polygraph.view.begin(chain.first)
}
