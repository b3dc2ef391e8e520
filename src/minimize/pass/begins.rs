//! What BEGIN asks for, such as a mode, a level or a snapshot at once: only what the finding needs stays.

use crate::minimize::search::{Minimization, MinimizationOver};

/// Every engine takes it.
const PLAIN: &str = "BEGIN";

pub(super) struct PlainBegins;

impl super::Pass for PlainBegins {
    fn name(&self) -> &'static str {
        "begins"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        let dialect = search.dialect();
        for number in 0..search.best().lines.len() {
            let draft = search.best();
            let line = &draft.lines[number];
            if line.effect.kind.is_begin() && line.sql != PLAIN {
                let plain = draft.with_text(number, PLAIN, dialect);
                search.try_draft(plain)?;
            }
        }
        Ok(())
    }
}
