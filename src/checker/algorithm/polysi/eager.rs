//! The same as `solve` for histories with open reads, with a theory that excludes at once what would
//! close a cycle: it knows what leads to what, a bit for each pair of vertices.
//!
//! A read of the last version of a chain excludes more than cycles of the edges of literals. Another
//! chain of the key does not stand between the two: if it follows the version, it follows the
//! reader, and if it precedes the reader, it precedes the version. For snapshot isolation, too, only
//! what was committed before a start counts as before: that the start of one writer comes before
//! the commit of another says nothing about their order.

use batsat::{Lit, Solver, SolverInterface, SolverOpts, Theory, TheoryArg, lbool};

use super::closure::{Because, Closure, Path, ones_of_word};
use super::greedy::first_vertex;
use super::open::OpenReads;
use super::polygraph::{Chain, Polygraph};
use super::prune::pair;
use super::sat::{Deadline, Levels, Solved, literal_of};
use super::watches::{Watch, Watches};
use crate::checker::budget::Budget;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// Vertices at most: what leads to what takes half a byte for each pair of them.
const VERTICES_MAX: usize = 1 << 14;

/// Pairs of vertices that are watched at most, each for one reason.
const WATCHES_MAX: usize = 1 << 23;

/// A literal that says that a read is of the last version of a chain.
#[derive(Clone, Copy, Debug)]
struct Source {
    literal: u32,
    reader: Txn,
    chain: u32,
}

/// Why a literal is false: paths that were there when so many edges were.
#[derive(Clone, Copy, Debug)]
struct Exclusion {
    paths: [Option<Path>; 2],
    time: usize,
}

/// The literals and the graph of the true ones.
pub(super) struct EagerChoices<'p> {
    polygraph: &'p Polygraph<'p>,
    graph: Closure,
    /// The order that pairs of chains are tried in first: the place of each vertex.
    place: Vec<u32>,
    /// Edges by literal, one literal after the other.
    edges: Vec<(Vertex, Vertex)>,
    begins: Vec<u32>,
    /// By literal: whether it gives a read a source.
    source: Vec<Option<Source>>,
    /// The sources of each open read, and those that are of each chain.
    of_read: Vec<Vec<Source>>,
    of_chain: Vec<Vec<Source>>,
    /// For each chain where those of its key begin and end.
    of_key: Vec<(u32, u32)>,
    watches: Watches,
    /// Whether all that was known from the beginning was looked at.
    is_begun: bool,
    levels: Levels,
    /// Edges that follow and are not in the graph.
    due: Vec<(Vertex, Vertex, Because)>,
    /// By literal that the theory made true.
    exclusions: Vec<Option<Exclusion>>,
    explanation: Vec<Lit>,
    /// The order of the graph when all literals were in it.
    order: Vec<Vertex>,
}

/// As [`super::solve::solve`] does, where it may; none where that would take too much memory.
pub(super) fn solve_eagerly(
    polygraph: &Polygraph<'_>,
    order: &[Vertex],
    open: &OpenReads,
    sources: &[Option<u32>],
    conflicts: u32,
    budget: Budget,
) -> Option<Solved> {
    if polygraph.len > VERTICES_MAX {
        return None;
    }
    let mut choices = EagerChoices::new(polygraph, order);
    let mut solver = Solver::new(SolverOpts::default(), Deadline::new(conflicts, budget));
    if !choices.add_reads(&mut solver, open, sources) {
        return Some(Solved::Stuck);
    }
    choices.add_constraints(&mut solver);
    choices.watch(open)?;
    Some(match solver.solve_limited_th(&mut choices, &[]) {
        answer if answer == lbool::TRUE => Solved::Order(choices.order),
        answer if answer == lbool::FALSE => Solved::Stuck,
        _ => Solved::TimeIsOver,
    })
}

impl<'p> EagerChoices<'p> {
    fn new(polygraph: &'p Polygraph<'p>, order: &[Vertex]) -> Self {
        let mut place = vec![0; polygraph.len];
        for (at, vertex) in (0u32..).zip(order) {
            place[*vertex] = at;
        }
        let mut of_key = Vec::new();
        for group in polygraph.chains.chunk_by(|one, other| one.key == other.key) {
            let begin = of_key.len() as u32;
            let range = (begin, begin + group.len() as u32);
            of_key.extend(group.iter().map(|_| range));
        }
        Self {
            polygraph,
            graph: Closure::new(polygraph.len, &polygraph.edges, order),
            place,
            edges: Vec::new(),
            begins: vec![0],
            source: Vec::new(),
            of_read: Vec::new(),
            of_chain: vec![Vec::new(); polygraph.chains.len()],
            of_key,
            watches: Watches::new(0, &[]),
            is_begun: false,
            levels: Levels::default(),
            due: Vec::new(),
            exclusions: Vec::new(),
            explanation: Vec::new(),
            order: Vec::new(),
        }
    }

    /// A variable for each version that a read may be of, and that one of them is true; whether
    /// that leaves a way. The solver tries first that a variable is false, and later what it was
    /// last: that the likely source is not the one is the variable then.
    fn add_reads(
        &mut self,
        solver: &mut Solver<Deadline>,
        open: &OpenReads,
        sources: &[Option<u32>],
    ) -> bool {
        for (read, likely) in open.reads.iter().zip(sources) {
            let mut clause = Vec::new();
            let mut of_read = Vec::new();
            for (place, source) in (0u32..).zip(&read.sources) {
                let var = solver.new_var(lbool::UNDEF, true);
                let yes = Lit::new(var, *likely != Some(place));
                clause.push(yes);
                let of_chain = source.chain.map(|chain| Source {
                    literal: yes.idx(),
                    reader: read.reader,
                    chain,
                });
                for literal in [Lit::new(var, true), Lit::new(var, false)] {
                    // What is false brings nothing.
                    let is_it = literal == yes;
                    self.edges.extend(source.edges.iter().filter(|_| is_it));
                    self.end_literal(of_chain.filter(|_| is_it));
                }
                if let Some(source) = of_chain {
                    self.of_chain[source.chain as usize].push(source);
                    of_read.push(source);
                }
            }
            self.of_read.push(of_read);
            if !solver.add_clause_reuse(&mut clause) {
                return false;
            }
        }
        true
    }

    /// A variable for each pair of chains, false in the order that is tried first.
    fn add_constraints(&mut self, solver: &mut Solver<Deadline>) {
        let polygraph = self.polygraph;
        for constraint in &polygraph.constraints {
            let (one, other) = pair(polygraph, *constraint);
            let place = |chain: &Chain| self.place[first_vertex(polygraph, chain)];
            let (likely, unlikely) = match place(&one) <= place(&other) {
                true => (one, other),
                false => (other, one),
            };
            solver.new_var(lbool::UNDEF, true);
            for (before, after) in [(unlikely, likely), (likely, unlikely)] {
                polygraph.between(&before, &after, |edge| self.edges.push(edge));
                self.end_literal(None);
            }
        }
    }

    fn end_literal(&mut self, source: Option<Source>) {
        self.source.push(source);
        self.begins.push(self.edges.len() as u32);
    }

    /// Watches what literals are about; none where that is too much.
    fn watch(&mut self, open: &OpenReads) -> Option<()> {
        let view = self.polygraph.view;
        let mut watches = Vec::new();
        for literal in 0..self.source.len() as u32 {
            let edges = self.edges_of(literal);
            watches.extend(edges.map(|(from, to)| (to, from, Watch::Edge(literal))));
        }
        for ((read, sources), choice) in (0u32..).zip(&self.of_read).zip(&open.reads) {
            let begin = view.begin(choice.reader);
            for chain in sources
                .first()
                .into_iter()
                .flat_map(|s| self.key_of(s.chain))
            {
                let end = view.end(self.chain(chain).first);
                watches.push((end, begin, Watch::Precedes { chain, read }));
            }
            if watches.len() > WATCHES_MAX {
                return None;
            }
        }
        for (chain, _) in (0u32..).zip(&self.of_chain).filter(|(_, s)| !s.is_empty()) {
            for other in self.key_of(chain).filter(|other| *other != chain) {
                let (from, to) = self.precedence(chain, other);
                watches.push((from, to, Watch::Follows { chain, other }));
            }
            if watches.len() > WATCHES_MAX {
                return None;
            }
        }
        self.watches = Watches::new(self.polygraph.len, &watches);
        self.exclusions = vec![None; self.source.len()];
        Some(())
    }

    fn edges_of(&self, literal: u32) -> impl Iterator<Item = (Vertex, Vertex)> {
        let (begin, end) = (literal as usize, literal as usize + 1);
        let edges = self.begins[begin] as usize..self.begins[end] as usize;
        self.edges[edges].iter().copied()
    }

    fn chain(&self, chain: u32) -> &Chain {
        &self.polygraph.chains[chain as usize]
    }

    /// The chains of the key of a chain.
    fn key_of(&self, chain: u32) -> std::ops::Range<u32> {
        let (begin, end) = self.of_key[chain as usize];
        begin..end
    }

    /// The edge that means that one chain precedes another.
    fn precedence(&self, before: u32, after: u32) -> (Vertex, Vertex) {
        let (last, first) = (self.chain(before).last, self.chain(after).first);
        self.polygraph
            .view
            .edge(last, first, DependencyEdge::Visible)
    }

    /// Puts new literals into the graph; whether all of them fit.
    fn advance(&mut self, arguments: &mut TheoryArg<'_>) -> bool {
        if !self.is_begun {
            self.is_begun = true;
            let vertices = (0..self.graph.len()).map(Vertex::at);
            let words = vertices.flat_map(|vertex| {
                let row = self.graph.row(vertex).iter().enumerate();
                row.map(move |(place, word)| (vertex, place, *word))
            });
            let words: Vec<_> = words.collect();
            self.look(&words, arguments);
        }
        while let Some(&literal) = arguments.model().get(self.levels.seen) {
            self.put(literal.idx(), arguments);
            while let Some((from, to, because)) = self.due.pop() {
                if !self.add((from, to), because, arguments) {
                    self.due.clear();
                    return false;
                }
            }
            self.levels.seen += 1;
        }
        true
    }

    /// What a true literal means.
    fn put(&mut self, literal: u32, arguments: &mut TheoryArg<'_>) {
        let because = Because {
            literal,
            path: None,
        };
        let edges = self.begins[literal as usize]..self.begins[literal as usize + 1];
        for at in edges {
            let (from, to) = self.edges[at as usize];
            self.due.push((from, to, because));
        }
        let Some(source) = self.source[literal as usize] else {
            return;
        };
        let begin = self.polygraph.view.begin(source.reader);
        for chain in self.key_of(source.chain) {
            if chain == source.chain {
                continue;
            }
            let follows = self.precedence(source.chain, chain);
            let precedes = (self.polygraph.view.end(self.chain(chain).first), begin);
            if self.graph.has(follows.0, follows.1) {
                self.follows(source, chain, follows, arguments);
            } else if self.graph.has(precedes.0, precedes.1) {
                self.precedes(source, chain, precedes, arguments);
            }
        }
    }

    /// Adds an edge and looks at what it connects; whether it closes no cycle.
    fn add(
        &mut self,
        (from, to): (Vertex, Vertex),
        because: Because,
        arguments: &mut TheoryArg<'_>,
    ) -> bool {
        if self.graph.has(from, to) {
            return true;
        }
        if from == to || self.graph.has(to, from) {
            let mut reasons = vec![because.literal];
            let cycle = (from != to).then_some((to, from));
            for path in because.path.into_iter().chain(cycle) {
                self.graph.reasons(path, self.graph.added(), &mut reasons);
            }
            reasons.sort_unstable();
            reasons.dedup();
            let clause: Vec<Lit> = reasons.into_iter().map(|r| !literal_of(r)).collect();
            arguments.raise_conflict(&clause, false);
            return false;
        }
        let mut words = Vec::new();
        self.graph.add(from, to, because, |vertex, place, word| {
            words.push((vertex, place, word));
        });
        self.look(&words, arguments);
        true
    }

    /// Looks at what leads where: where it begins, the place of a word, and its vertices.
    fn look(&mut self, words: &[(Vertex, usize, u64)], arguments: &mut TheoryArg<'_>) {
        for (from, place, word) in words {
            for to in ones_of_word(*place, self.watches.watched(*from, *place, *word)) {
                for at in 0..self.watches.of(*from, to).len() {
                    let watch = self.watches.of(*from, to)[at];
                    self.see(watch, (*from, to), arguments);
                }
            }
        }
    }

    fn see(&mut self, watch: Watch, path: Path, arguments: &mut TheoryArg<'_>) {
        match watch {
            Watch::Edge(literal) => self.exclude(literal, [Some(path), None], arguments),
            Watch::Precedes { chain, read } => {
                for at in 0..self.of_read[read as usize].len() {
                    let source = self.of_read[read as usize][at];
                    if source.chain != chain {
                        self.precedes(source, chain, path, arguments);
                    }
                }
            }
            Watch::Follows { chain, other } => {
                for at in 0..self.of_chain[chain as usize].len() {
                    let source = self.of_chain[chain as usize][at];
                    self.follows(source, other, path, arguments);
                }
            }
        }
    }

    /// A chain precedes a reader that may be of another.
    fn precedes(&mut self, source: Source, chain: u32, path: Path, arguments: &mut TheoryArg<'_>) {
        let value = value_of(source.literal, arguments);
        if value == lbool::TRUE {
            let (from, to) = self.precedence(chain, source.chain);
            self.follow((from, to), source.literal, path);
        } else if value == lbool::UNDEF {
            let follows = self.precedence(source.chain, chain);
            if self.graph.has(follows.0, follows.1) {
                self.exclude(source.literal, [Some(path), Some(follows)], arguments);
            }
        }
    }

    /// A chain follows another that a reader may be of.
    fn follows(&mut self, source: Source, chain: u32, path: Path, arguments: &mut TheoryArg<'_>) {
        let writer = self.chain(chain).first;
        if writer == source.reader {
            return;
        }
        let view = self.polygraph.view;
        let (from, to) = view.edge(source.reader, writer, DependencyEdge::Anti);
        let value = value_of(source.literal, arguments);
        if value == lbool::TRUE {
            self.follow((from, to), source.literal, path);
        } else if value == lbool::UNDEF && self.graph.has(to, from) {
            self.exclude(source.literal, [Some(path), Some((to, from))], arguments);
        }
    }

    /// An edge follows from a true literal and a path.
    fn follow(&mut self, (from, to): (Vertex, Vertex), literal: u32, path: Path) {
        if !self.graph.has(from, to) {
            let path = Some(path);
            self.due.push((from, to, Because { literal, path }));
        }
    }

    /// A literal would close a cycle because of paths.
    fn exclude(&mut self, literal: u32, paths: [Option<Path>; 2], arguments: &mut TheoryArg<'_>) {
        // One that is true closes the cycle when its own edges are due.
        if value_of(literal, arguments) == lbool::UNDEF {
            let excluded = !literal_of(literal);
            let time = self.graph.added();
            self.exclusions[excluded.idx() as usize] = Some(Exclusion { paths, time });
            arguments.propagate(excluded);
        }
    }
}

/// What a literal is so far.
fn value_of(literal: u32, arguments: &TheoryArg<'_>) -> lbool {
    let literal = literal_of(literal);
    match arguments.value(literal.var()) {
        value if value == lbool::UNDEF => value,
        value => lbool::new((value == lbool::TRUE) == literal.sign()),
    }
}

impl Theory for EagerChoices<'_> {
    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        if self.advance(arguments) {
            // The solver takes all levels back before it ends.
            self.order = self.graph.order();
        }
    }

    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.advance(arguments);
    }

    fn create_level(&mut self) {
        self.levels.create(self.graph.added());
    }

    fn pop_levels(&mut self, n: usize) {
        self.graph.keep(self.levels.pop(n));
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, literal: Lit) -> &[Lit] {
        let mut reasons = Vec::new();
        if let Some(exclusion) = self.exclusions[literal.idx() as usize] {
            for path in exclusion.paths.into_iter().flatten() {
                self.graph.reasons(path, exclusion.time, &mut reasons);
            }
        }
        reasons.sort_unstable();
        reasons.dedup();
        self.explanation.clear();
        self.explanation.extend(reasons.into_iter().map(literal_of));
        &self.explanation
    }
}
