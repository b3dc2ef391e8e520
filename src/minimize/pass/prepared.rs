//! Prepared statements: a session may send its statements as they stand. Where it does not, that is part of
//! the finding.

use crate::minimize::search::{Minimization, MinimizationOver};

pub(super) struct PreparedSessions;

impl super::Pass for PreparedSessions {
    fn name(&self) -> &'static str {
        "prepared"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        search.remove(
            |draft| draft.prepared.len(),
            |draft, gone| {
                let mut smaller = draft.clone();
                let sessions = draft.prepared.iter().enumerate();
                let stay = sessions.filter(|(number, _)| !gone.contains(number));
                smaller.prepared = stay.map(|(_, session)| *session).collect();
                Some(smaller)
            },
        )
    }
}
