//! What pruning leaves open: SAT modulo acyclicity.

use std::cell::Cell;

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, Theory, TheoryArg, Var, lbool};

use super::acyclic::Acyclic;
use super::open::{OpenReads, Term};
use super::polygraph::{Chain, Constraint, Polygraph};
use super::prune::pair;
use crate::checker::budget::Budget;
use crate::checker::resolved::dependencies::DependencyEdge;
use crate::checker::resolved::vertex::Vertex;
use crate::history::Txn;

/// What the solver found.
pub(super) enum Solved {
    /// A topological order of the vertices with a choice for every constraint.
    Order(Vec<Vertex>),
    Stuck,
    TimeIsOver,
}

/// Stops the solver when the budget is over.
struct Deadline {
    budget: Budget,
    /// How often the solver asked: at every decision, which is more often than a clock is read.
    asked: Cell<u32>,
}

impl Callbacks for Deadline {
    fn stop(&self) -> bool {
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        asked.is_multiple_of(4096) && self.budget.is_over()
    }
}

/// The edges that literals stand for, and the graph with those of the true ones.
struct Choices {
    graph: Acyclic,
    /// Edges by literal, one literal after the other.
    edges: Vec<(Vertex, Vertex)>,
    begins: Vec<u32>,
    /// How many literals of the solver's trail are in the graph.
    seen: usize,
    /// Where levels begin: literals seen, edges added.
    levels: Vec<(usize, usize)>,
    conflict: Vec<Lit>,
}

/// Rounds of greedy choices before the solver is asked; each begins with the order of the last.
const GREEDY_ROUNDS: usize = 16;

pub(super) fn solve(polygraph: &Polygraph<'_>, budget: Budget) -> Solved {
    let Ok(order) = polygraph.order() else {
        return Solved::Stuck;
    };
    if polygraph.constraints.is_empty() {
        return Solved::Order(order);
    }
    match greedily(polygraph, order, budget) {
        Greedy::Left(order) => solve_from(polygraph, &order, None, budget),
        Greedy::Solved(solved) => solved,
    }
}

/// The same where the writers of some reads are to be chosen, too.
pub(super) fn solve_openly(polygraph: &Polygraph<'_>, open: &OpenReads, budget: Budget) -> Solved {
    match polygraph.order() {
        Ok(order) => solve_from(polygraph, &order, Some(open), budget),
        Err(_) => Solved::Stuck,
    }
}

/// What can be had without asking the solver.
pub(super) fn solve_greedily(polygraph: &Polygraph<'_>, budget: Budget) -> Option<Vec<Vertex>> {
    match greedily(polygraph, polygraph.order().ok()?, budget) {
        Greedy::Solved(Solved::Order(order)) => Some(order),
        Greedy::Solved(_) | Greedy::Left(_) => None,
    }
}

/// The result of the greedy rounds.
enum Greedy {
    Solved(Solved),
    /// An order of the known edges that has most of what was chosen.
    Left(Vec<Vertex>),
}

fn greedily(polygraph: &Polygraph<'_>, mut order: Vec<Vertex>, budget: Budget) -> Greedy {
    // What found no way goes first in the next round: most of it does find one then.
    let mut constraints = polygraph.constraints.clone();
    for _ in 0..GREEDY_ROUNDS {
        if budget.is_over() {
            return Greedy::Solved(Solved::TimeIsOver);
        }
        let (next, left) = greedy(polygraph, &constraints, &order);
        order = next;
        if left.is_empty() {
            return Greedy::Solved(Solved::Order(order));
        }
        let mut is_left = left.iter().copied().peekable();
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for (at, constraint) in constraints.iter().enumerate() {
            match is_left.next_if_eq(&at) {
                Some(_) => first.push(*constraint),
                None => rest.push(*constraint),
            }
        }
        first.append(&mut rest);
        constraints = first;
    }
    Greedy::Left(order)
}

fn solve_from(
    polygraph: &Polygraph<'_>,
    order: &[Vertex],
    open: Option<&OpenReads>,
    budget: Budget,
) -> Solved {
    let mut rank = vec![0u32; polygraph.len];
    for (place, vertex) in (0u32..).zip(order) {
        rank[*vertex] = place;
    }
    let deadline = Deadline {
        budget,
        asked: Cell::new(0),
    };
    let mut solver = Solver::new(SolverOpts::default(), deadline);
    let mut choices = Choices {
        graph: Acyclic::new(polygraph.len, &polygraph.edges, order),
        edges: Vec::new(),
        begins: vec![0],
        seen: 0,
        levels: Vec::new(),
        conflict: Vec::new(),
    };
    let mut is_one_first = Vec::new();
    for constraint in &polygraph.constraints {
        let place = |chain: &Chain| rank[first_vertex(polygraph, chain)];
        let (one, other) = pair(polygraph, *constraint);
        // The order of the greedy choices is tried first: false is what the solver
        // tries first, and the odd literal of a variable is the negative one.
        let is_likely = place(&one) <= place(&other);
        is_one_first.push(is_likely);
        let (likely, unlikely) = if is_likely {
            (one, other)
        } else {
            (other, one)
        };
        solver.new_var(lbool::UNDEF, true);
        polygraph.between(&unlikely, &likely, |edge| choices.edges.push(edge));
        choices.begins.push(choices.edges.len() as u32);
        polygraph.between(&likely, &unlikely, |edge| choices.edges.push(edge));
        choices.begins.push(choices.edges.len() as u32);
    }
    if let Some(open) = open
        && !add_open_reads(&mut solver, &mut choices, &is_one_first, open)
    {
        return Solved::Stuck;
    }
    match solver.solve_limited_th(&mut choices, &[]) {
        answer if answer == lbool::TRUE => Solved::Order(choices.graph.order()),
        answer if answer == lbool::FALSE => Solved::Stuck,
        _ => Solved::TimeIsOver,
    }
}

/// Tells the solver of reads that may be of several writers; whether that leaves a way.
fn add_open_reads(
    solver: &mut Solver<Deadline>,
    choices: &mut Choices,
    is_one_first: &[bool],
    open: &OpenReads,
) -> bool {
    let first = solver.num_vars();
    for (edges, is_likely) in open.edges.iter().zip(&open.is_likely) {
        solver.new_var(lbool::new(*is_likely), true);
        choices.edges.extend(edges);
        // What is false brings nothing.
        let end = choices.edges.len() as u32;
        choices.begins.extend([end, end]);
    }
    let variable = |place: usize| Var::unsafe_from_idx(first + place as u32);
    // The first chain of a constraint comes first: likely is the negative literal.
    let before = |place: usize| {
        let var = Var::unsafe_from_idx(place as u32);
        Lit::new(var, !is_one_first[place])
    };
    let literal = |term: &Term| match *term {
        Term::Is(place) => Lit::new(variable(place), true),
        Term::IsNot(place) => Lit::new(variable(place), false),
        Term::NotBefore(place) => !before(place),
        Term::NotAfter(place) => before(place),
    };
    open.clauses.iter().all(|clause| {
        let mut clause: Vec<Lit> = clause.iter().map(literal).collect();
        solver.add_clause_reuse(&mut clause)
    })
}

/// The vertex at which the first transaction of a chain is reached.
fn first_vertex(polygraph: &Polygraph<'_>, chain: &Chain) -> Vertex {
    polygraph
        .view
        .edge(Txn::INITIAL, chain.first, DependencyEdge::Visible)
        .1
}

/// Decides one constraint after the other as the order of the moment has it, and the other way
/// where that closes a cycle. The order that comes out, and the places of the constraints that
/// found neither way: without any, it is an order of everything.
///
/// Orders of real executions leave most choices free, and then this is all that is needed: the
/// solver alone finds the same, but takes back thousands of choices for each that was wrong.
fn greedy(
    polygraph: &Polygraph<'_>,
    constraints: &[Constraint],
    order: &[Vertex],
) -> (Vec<Vertex>, Vec<usize>) {
    let mut graph = Acyclic::new(polygraph.len, &polygraph.edges, order);
    let mut edges = Vec::new();
    let mut left = Vec::new();
    for (at, constraint) in constraints.iter().enumerate() {
        let (one, other) = pair(polygraph, *constraint);
        let place = |chain: &Chain| graph.place(first_vertex(polygraph, chain));
        let is_likely = place(&one) <= place(&other);
        let (likely, unlikely) = if is_likely {
            (one, other)
        } else {
            (other, one)
        };
        let mut holds = |before: &Chain, after: &Chain| {
            edges.clear();
            polygraph.between(before, after, |edge| edges.push(edge));
            let begin = graph.added();
            let is_added = edges
                .iter()
                .all(|(from, to)| graph.add(*from, *to, 0).is_ok());
            if !is_added {
                graph.keep(begin);
            }
            is_added
        };
        if !holds(&likely, &unlikely) && !holds(&unlikely, &likely) {
            left.push(at);
        }
    }
    (graph.order(), left)
}

impl Choices {
    /// Puts the edges of new literals into the graph.
    fn advance(&mut self, arguments: &mut TheoryArg<'_>) {
        while let Some(&literal) = arguments.model().get(self.seen) {
            let at = literal.idx() as usize;
            let edges = self.begins[at] as usize..self.begins[at + 1] as usize;
            for edge in edges {
                let (from, to) = self.edges[edge];
                if let Err(reasons) = self.graph.add(from, to, literal.idx()) {
                    self.conflict.clear();
                    self.conflict.push(!literal);
                    let others = reasons
                        .into_iter()
                        .filter(|reason| *reason != literal.idx());
                    let negated = others.map(|reason| !literal_of(reason));
                    self.conflict.extend(negated);
                    arguments.raise_conflict(&self.conflict, true);
                    return;
                }
            }
            self.seen += 1;
        }
    }
}

/// The literal of an index.
fn literal_of(index: u32) -> Lit {
    Lit::new(Var::unsafe_from_idx(index >> 1), index & 1 == 0)
}

impl Theory for Choices {
    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.advance(arguments);
    }

    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.advance(arguments);
    }

    fn create_level(&mut self) {
        self.levels.push((self.seen, self.graph.added()));
    }

    fn pop_levels(&mut self, n: usize) {
        let left = self.levels.len() - n;
        let (seen, added) = self.levels[left];
        self.levels.truncate(left);
        self.seen = seen;
        self.graph.keep(added);
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    /// Nothing is propagated, so nothing is asked for.
    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        &self.conflict
    }
}
