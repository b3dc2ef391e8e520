//! Keys, checks and foreign keys of tables, and the actions of foreign keys. What stays is part of the
//! finding.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::dialect::Dialect;
use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::SetupKind;
use crate::statement;

pub(super) struct Constraints;

/// Where parts of a statement stand that may go.
type FindParts = fn(&str, &Dialect) -> Vec<Range<usize>>;

impl super::Pass for Constraints {
    fn name(&self) -> &'static str {
        "constraints"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        for parts in [
            statement::constraints as FindParts,
            statement::foreign_key_actions,
        ] {
            search.remove(
                |draft| places(draft, parts, dialect).len(),
                |draft, gone| Some(without(draft, gone, parts, dialect)),
            )?;
        }
        Ok(())
    }
}

/// Every part: the set-up statement it stands in, and where in its text.
pub(super) fn places(
    draft: &Draft,
    parts: FindParts,
    dialect: &Dialect,
) -> Vec<(usize, Range<usize>)> {
    let of = |at: usize| {
        let found = parts(&draft.setup[at].sql, dialect);
        found.into_iter().map(move |range| (at, range))
    };
    let schema = draft.setup_of(SetupKind::Schema);
    schema.into_iter().flat_map(of).collect()
}

/// The draft without these parts, by their numbers.
pub(super) fn without(
    draft: &Draft,
    gone: &BTreeSet<usize>,
    parts: FindParts,
    dialect: &Dialect,
) -> Draft {
    let mut setup = draft.setup.clone();
    // From behind, so that the places before stay what they are.
    let places = places(draft, parts, dialect).into_iter().enumerate();
    for (index, (at, range)) in places.rev() {
        if gone.contains(&index) {
            setup[at].sql.replace_range(range, "");
        }
    }
    draft.with_setup(setup)
}
