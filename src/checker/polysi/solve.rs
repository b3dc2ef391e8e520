//! What pruning leaves open: SAT modulo acyclicity.

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, Theory, TheoryArg, lbool};

use super::acyclic::Acyclic;
use super::polygraph::Polygraph;
use super::prune::pair;
use crate::checker::Budget;

/// What the solver found.
pub(super) enum Solved {
    /// A topological order of the vertices with a choice for every constraint.
    Order(Vec<u32>),
    Stuck,
    TimeIsOver,
}

/// Stops the solver when the time is over.
struct Deadline(Budget);

impl Callbacks for Deadline {
    fn stop(&self) -> bool {
        self.0.is_over()
    }
}

/// The edges that literals stand for, and the graph with those of the true ones.
struct Choices {
    graph: Acyclic,
    /// Edges by literal, one literal after the other.
    edges: Vec<(u32, u32)>,
    begins: Vec<u32>,
    /// How many literals of the solver's trail are in the graph.
    seen: usize,
    /// Where levels begin: literals seen, edges added.
    levels: Vec<(usize, usize)>,
    conflict: Vec<Lit>,
}

pub(super) fn solve(polygraph: &Polygraph<'_>, budget: Budget) -> Solved {
    let Ok(order) = polygraph.order() else {
        return Solved::Stuck;
    };
    if polygraph.constraints.is_empty() {
        return Solved::Order(order);
    }
    let graph = Acyclic::new(polygraph.len, &polygraph.edges, &order);
    let mut rank = vec![0u32; polygraph.len];
    for (place, vertex) in (0u32..).zip(&order) {
        rank[*vertex as usize] = place;
    }
    let mut solver = Solver::new(SolverOpts::default(), Deadline(budget));
    let mut choices = Choices {
        graph,
        edges: Vec::new(),
        begins: vec![0],
        seen: 0,
        levels: Vec::new(),
        conflict: Vec::new(),
    };
    for constraint in &polygraph.constraints {
        let (one, other) = pair(polygraph, *constraint);
        let vertex = |t: u32| {
            polygraph
                .view
                .edge(0, t, crate::checker::mtc::Dependency::Visible)
                .1
        };
        let place = |t: u32| rank[vertex(t) as usize];
        // The order that the known edges happen to have is tried first: false is what the solver
        // tries first, and the odd literal of a variable is the negative one.
        let is_likely = place(one.first) <= place(other.first);
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
    match solver.solve_limited_th(&mut choices, &[]) {
        answer if answer == lbool::TRUE => Solved::Order(choices.graph.order()),
        answer if answer == lbool::FALSE => Solved::Stuck,
        _ => Solved::TimeIsOver,
    }
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
    Lit::new(batsat::Var::unsafe_from_idx(index >> 1), index & 1 == 0)
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
