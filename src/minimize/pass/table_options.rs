//! What CREATE TABLE says behind its columns: engine, character set, collation, partitions. What stays
//! is part of the finding.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::dialect::Dialect;
use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};
use crate::model::SetupKind;
use crate::statement;

pub(super) struct TableOptions;

impl super::Pass for TableOptions {
    fn name(&self) -> &'static str {
        "table-options"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        search.remove(
            |draft| options(draft, dialect).len(),
            |draft, gone| Some(without(draft, gone, dialect)),
        )
    }
}

/// Every clause: the set-up statement it stands in, and where in its text.
fn options(draft: &Draft, dialect: &Dialect) -> Vec<(usize, Range<usize>)> {
    let of = |at: usize| {
        let options = statement::table_options(&draft.setup[at].sql, dialect);
        options.into_iter().map(move |range| (at, range))
    };
    let schema = draft.setup_of(SetupKind::Schema);
    schema.into_iter().flat_map(of).collect()
}

fn without(draft: &Draft, gone: &BTreeSet<usize>, dialect: &Dialect) -> Draft {
    let mut setup = draft.setup.clone();
    // From behind, so that the places before stay what they are.
    for (index, (at, range)) in options(draft, dialect).into_iter().enumerate().rev() {
        if gone.contains(&index) {
            setup[at].sql.replace_range(range, "");
        }
    }
    draft.with_setup(setup)
}
