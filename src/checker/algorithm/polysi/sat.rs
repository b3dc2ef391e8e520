//! What both ways to ask the SAT solver share.

use std::cell::Cell;

use batsat::clause::Kind;
use batsat::{Callbacks, Lit, Var};

use crate::checker::budget::Budget;
use crate::checker::resolved::vertex::Vertex;

/// What the solver found.
pub(super) enum Solved {
    /// A topological order of the vertices with a choice for every constraint.
    Order(Vec<Vertex>),
    Stuck,
    /// Or so many conflicts were met.
    TimeIsOver,
}

/// Stops the solver when the budget is over.
pub(super) struct Deadline {
    budget: Budget,
    /// How often the solver asked: at every decision, which may be oftener than a clock is worth.
    asked: Cell<u32>,
    /// It stays over: the solver asks again before it ends, and would begin anew.
    is_over: Cell<bool>,
    /// How many conflicts are left.
    conflicts: u32,
}

impl Deadline {
    /// The solver stops after so many conflicts, too.
    pub(super) fn new(conflicts: u32, budget: Budget) -> Self {
        Self {
            conflicts,
            budget,
            asked: Cell::new(0),
            is_over: Cell::new(false),
        }
    }
}

impl Callbacks for Deadline {
    fn on_new_clause(&mut self, _: &[Lit], source: Kind) {
        if source == Kind::Learnt {
            self.conflicts = self.conflicts.saturating_sub(1);
        }
    }

    fn stop(&self) -> bool {
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        if self.conflicts == 0 || asked.is_multiple_of(64) && self.budget.is_over() {
            self.is_over.set(true);
        }
        self.is_over.get()
    }
}

/// The literal of an index.
pub(super) fn literal_of(index: u32) -> Lit {
    Lit::new(Var::unsafe_from_idx(index >> 1), index & 1 == 0)
}

/// How far a theory had come when each level of the search began.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// How many literals of the solver's model the theory has seen.
    pub(super) seen: usize,
    /// Where levels begin: literals seen, edges added.
    begun: Vec<(usize, usize)>,
}

impl Levels {
    /// Begins a level, with so many edges in the theory's graph.
    pub(super) fn create(&mut self, edges: usize) {
        self.begun.push((self.seen, edges));
    }

    /// Takes so many levels back, and gives how many edges stay.
    pub(super) fn pop(&mut self, count: usize) -> usize {
        let left = self.begun.len() - count;
        let (seen, edges) = self.begun[left];
        self.begun.truncate(left);
        self.seen = seen;
        edges
    }

    pub(super) fn len(&self) -> usize {
        self.begun.len()
    }
}
