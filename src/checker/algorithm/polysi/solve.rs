//! What pruning leaves open: SAT modulo acyclicity.

use batsat::{Lit, Solver, SolverInterface, SolverOpts, Theory, TheoryArg, lbool};

use super::acyclic::{Acyclic, Cause};
use super::eager::solve_eagerly;
use super::greedy::{Greedy, first_vertex, greedily};
use super::open::OpenReads;
use super::polygraph::{Chain, Polygraph};
use super::prune::pair;
use super::sat::{Deadline, Levels, Solved, literal_of};
use crate::checker::budget::Budget;
use crate::checker::resolved::arcs::Rows;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// The edges that literals stand for, and the graph with those of the true ones.
struct Choices<'p> {
    polygraph: &'p Polygraph<'p>,
    graph: Acyclic,
    /// Edges by literal, one literal after the other.
    edges: Vec<(Vertex, Vertex)>,
    begins: Vec<u32>,
    /// By literal: what it says of the last version of a chain.
    meanings: Vec<Meaning>,
    /// For each chain those that are behind it, with the literals that say so, oldest first.
    behind: Vec<Vec<(Txn, u32)>>,
    /// For each chain the readers that are said to see its last version.
    readers: Vec<Vec<(Txn, u32)>>,
    levels: Levels,
    /// The literals that were seen, of those with a meaning.
    trail: Vec<(usize, u32)>,
    /// Edges of all literals by where they begin: their ends, and the literals.
    pending: Rows<Vertex, (Vertex, Lit)>,
    /// Edges that were added since what they exclude was looked for.
    fresh: Vec<((Vertex, Vertex), Cause)>,
    /// By literal: the true literals that exclude its negation.
    explained: Vec<Vec<Lit>>,
    conflicts: u32,
    conflict: Vec<Lit>,
}

/// With more literals than this what they exclude is never looked for.
const LOOKED_AT_MAX: usize = 1 << 20;

/// After so many conflicts what true literals exclude is looked for, and after as many more no
/// longer, and so on: either way is a thousand times as fast as the other on some histories.
const TURN: u32 = 2_000;

/// What a literal says of the last version of a chain, beside its edges.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Nothing,
    /// A chain with this first transaction follows.
    Behind(u32, Txn),
    /// This transaction reads it.
    Read(u32, Txn),
}

/// Begins with an order that has the known edges; gives up after so many conflicts.
pub(super) fn solve(
    polygraph: &Polygraph<'_>,
    open: &OpenReads,
    order: Vec<Vertex>,
    conflicts: u32,
    budget: Budget,
) -> Solved {
    if polygraph.constraints.is_empty() && open.reads.is_empty() {
        return Solved::Order(order);
    }
    match greedily(polygraph, open, order, budget) {
        Greedy::Left(order, sources) => {
            if !open.reads.is_empty()
                && let Some(solved) =
                    solve_eagerly(polygraph, &order, open, &sources, conflicts, budget)
            {
                return solved;
            }
            let mut choices = Choices::new(polygraph, &order);
            choices.solve(open, &sources, conflicts, budget)
        }
        Greedy::Order(order) => Solved::Order(order),
        Greedy::TimeIsOver => Solved::TimeIsOver,
    }
}

/// What can be had without asking the solver.
pub(super) fn solve_greedily(polygraph: &Polygraph<'_>, budget: Budget) -> Option<Vec<Vertex>> {
    let open = OpenReads { reads: Vec::new() };
    match greedily(polygraph, &open, polygraph.order().ok()?, budget) {
        Greedy::Order(order) => Some(order),
        Greedy::Left(..) | Greedy::TimeIsOver => None,
    }
}

/// The same without what can be had without asking the solver, and with a look at what literals
/// exclude either at first or in turn only.
#[cfg(test)]
pub(super) fn solve_only(polygraph: &Polygraph<'_>, open: &OpenReads, looks_first: bool) -> Solved {
    let Ok(order) = polygraph.order() else {
        return Solved::Stuck;
    };
    let mut choices = Choices::new(polygraph, &order);
    choices.conflicts = if looks_first { TURN } else { 0 };
    let sources = vec![None; open.reads.len()];
    choices.solve(open, &sources, u32::MAX, Budget::default())
}

impl<'p> Choices<'p> {
    fn new(polygraph: &'p Polygraph<'p>, order: &[Vertex]) -> Self {
        let chains = polygraph.chains.len();
        Self {
            polygraph,
            graph: Acyclic::new(polygraph.len, &polygraph.edges, order),
            edges: Vec::new(),
            begins: vec![0],
            meanings: Vec::new(),
            behind: vec![Vec::new(); chains],
            readers: vec![Vec::new(); chains],
            levels: Levels::default(),
            trail: Vec::new(),
            pending: Rows::of(polygraph.len, &[]),
            fresh: Vec::new(),
            explained: Vec::new(),
            conflicts: 0,
            conflict: Vec::new(),
        }
    }

    fn solve(
        &mut self,
        open: &OpenReads,
        sources: &[Option<u32>],
        conflicts: u32,
        budget: Budget,
    ) -> Solved {
        let deadline = Deadline::new(conflicts, budget);
        let mut solver = Solver::new(SolverOpts::default(), deadline);
        self.add_constraints(&mut solver);
        if !self.add_reads(&mut solver, open, sources) {
            return Solved::Stuck;
        }
        self.index();
        match solver.solve_limited_th(self, &[]) {
            answer if answer == lbool::TRUE => Solved::Order(self.graph.order()),
            answer if answer == lbool::FALSE => Solved::Stuck,
            _ => Solved::TimeIsOver,
        }
    }

    /// A variable for each pair of chains. The order of the greedy choices is tried first: false is
    /// what the solver tries first, and the odd literal of a variable is the negative one.
    fn add_constraints(&mut self, solver: &mut Solver<Deadline>) {
        let polygraph = self.polygraph;
        for constraint in &polygraph.constraints {
            let place = |chain: &Chain| self.graph.place(first_vertex(polygraph, chain));
            let (one, other) = pair(polygraph, *constraint);
            let one = (constraint.one, one);
            let other = (constraint.other, other);
            let (likely, unlikely) = match place(&one.1) <= place(&other.1) {
                true => (one, other),
                false => (other, one),
            };
            solver.new_var(lbool::UNDEF, true);
            for (before, after) in [(unlikely, likely), (likely, unlikely)] {
                polygraph.between(&before.1, &after.1, |edge| self.edges.push(edge));
                self.end_literal(Meaning::Behind(before.0, after.1.first));
            }
        }
    }

    /// A variable for each version that a read may be of, and that one of them is true; whether
    /// that leaves a way.
    fn add_reads(
        &mut self,
        solver: &mut Solver<Deadline>,
        open: &OpenReads,
        sources: &[Option<u32>],
    ) -> bool {
        for (read, likely) in open.reads.iter().zip(sources) {
            let mut clause = Vec::new();
            for (place, source) in (0u32..).zip(&read.sources) {
                let is_likely = *likely == Some(place);
                let var = solver.new_var(lbool::new(is_likely), true);
                clause.push(Lit::new(var, true));
                self.edges.extend(&source.edges);
                let meaning = source.chain.map(|chain| Meaning::Read(chain, read.reader));
                self.end_literal(meaning.unwrap_or(Meaning::Nothing));
                // What is false brings nothing.
                self.end_literal(Meaning::Nothing);
            }
            if !solver.add_clause_reuse(&mut clause) {
                return false;
            }
        }
        true
    }

    fn end_literal(&mut self, meaning: Meaning) {
        self.meanings.push(meaning);
        self.begins.push(self.edges.len() as u32);
    }

    /// Indexes the edges of all literals by where they begin.
    fn index(&mut self) {
        let literals = self.begins.len() - 1;
        if literals > LOOKED_AT_MAX {
            return;
        }
        let mut pending = Vec::with_capacity(self.edges.len());
        for literal in 0..literals {
            let edges = self.begins[literal] as usize..self.begins[literal + 1] as usize;
            let edges = self.edges[edges].iter();
            pending.extend(edges.map(|(from, to)| (*from, (*to, literal_of(literal as u32)))));
        }
        self.pending = Rows::of(self.polygraph.len, &pending);
        self.explained = vec![Vec::new(); literals];
    }

    /// Excludes literals of which an edge would close a cycle.
    fn exclude(&mut self, arguments: &mut TheoryArg<'_>) {
        let fresh = std::mem::take(&mut self.fresh);
        for ((from, to), cause) in fresh {
            self.graph.look_around(from, to);
            for ahead in self.graph.ahead() {
                for (end, literal) in self.pending.row(*ahead) {
                    if !self.graph.is_behind(*end) || arguments.value(literal.var()) != lbool::UNDEF
                    {
                        continue;
                    }
                    let mut reasons = self.graph.reasons_around(*end, *ahead);
                    reasons.extend(cause);
                    reasons.sort_unstable();
                    reasons.dedup();
                    let reasons = reasons.into_iter().map(literal_of);
                    self.explained[(!*literal).idx() as usize] = reasons.collect();
                    if !arguments.propagate(!*literal) {
                        return;
                    }
                }
            }
        }
    }

    /// Puts the edges of new literals into the graph.
    fn advance(&mut self, arguments: &mut TheoryArg<'_>) {
        while let Some(&literal) = arguments.model().get(self.levels.seen) {
            if let Err(reasons) = self.put(literal.idx()) {
                self.conflict.clear();
                self.conflict
                    .extend(reasons.into_iter().map(|reason| !literal_of(reason)));
                self.fresh.clear();
                self.conflicts += 1;
                arguments.raise_conflict(&self.conflict, true);
                return;
            }
            self.levels.seen += 1;
        }
        self.exclude(arguments);
    }

    /// Puts the edges of a true literal into the graph; the literals on a cycle that they close.
    fn put(&mut self, literal: u32) -> Result<(), Vec<u32>> {
        let at = literal as usize;
        for edge in self.begins[at] as usize..self.begins[at + 1] as usize {
            self.put_edge(self.edges[edge], [literal, literal])?;
        }
        // A reader of a version precedes the chains behind it.
        let anti = |reader: Txn, writer: Txn| {
            let view = self.polygraph.view;
            (reader != writer).then(|| view.edge(reader, writer, DependencyEdge::Anti))
        };
        match self.meanings[at] {
            Meaning::Nothing => return Ok(()),
            Meaning::Behind(chain, first) => {
                let readers = self.readers[chain as usize].iter();
                let edges: Vec<_> = readers
                    .filter_map(|(reader, cause)| Some((anti(*reader, first)?, *cause)))
                    .collect();
                for (edge, cause) in edges {
                    self.put_edge(edge, [literal, cause])?;
                }
                self.behind[chain as usize].push((first, literal));
            }
            Meaning::Read(chain, reader) => {
                let behind = self.behind[chain as usize].iter();
                let edges: Vec<_> = behind
                    .filter_map(|(first, cause)| Some((anti(reader, *first)?, *cause)))
                    .collect();
                for (edge, cause) in edges {
                    self.put_edge(edge, [literal, cause])?;
                }
                self.readers[chain as usize].push((reader, literal));
            }
        }
        self.trail.push((self.levels.seen, literal));
        Ok(())
    }

    fn put_edge(&mut self, edge: (Vertex, Vertex), cause: Cause) -> Result<(), Vec<u32>> {
        if !self.explained.is_empty() && self.conflicts / TURN % 2 == 1 {
            self.fresh.push((edge, cause));
        }
        self.graph
            .add(edge.0, edge.1, cause)
            .map_err(|mut reasons| {
                reasons.extend(cause);
                reasons.sort_unstable();
                reasons.dedup();
                reasons
            })
    }
}

impl Theory for Choices<'_> {
    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.advance(arguments);
    }

    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.advance(arguments);
    }

    fn create_level(&mut self) {
        self.levels.create(self.graph.added());
    }

    fn pop_levels(&mut self, n: usize) {
        self.graph.keep(self.levels.pop(n));
        self.fresh.clear();
        while let Some((_, literal)) = self.trail.pop_if(|(at, _)| *at >= self.levels.seen) {
            match self.meanings[literal as usize] {
                Meaning::Nothing => {}
                Meaning::Behind(chain, _) => {
                    self.behind[chain as usize].pop();
                }
                Meaning::Read(chain, _) => {
                    self.readers[chain as usize].pop();
                }
            }
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, literal: Lit) -> &[Lit] {
        &self.explained[literal.idx() as usize]
    }
}
