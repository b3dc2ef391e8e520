//! The submitted order: as few context switches as the finding allows.

use crate::minimize::draft::Draft;
use crate::minimize::search::{Minimization, MinimizationOver};

pub(super) struct ContextSwitches;

impl super::Pass for ContextSwitches {
    fn name(&self) -> &'static str {
        "schedule"
    }

    fn run(&self, search: &mut Minimization<'_>) -> Result<(), MinimizationOver> {
        while improve(search)? {}
        Ok(())
    }
}

/// Tries every schedule that is one move away, those with the fewest switches first.
fn improve(search: &mut Minimization<'_>) -> Result<bool, MinimizationOver> {
    let now = search.best().switches();
    let mut candidates: Vec<Draft> = moves(search.best())
        .into_iter()
        .filter(|draft| draft.switches() < now)
        .collect();
    candidates.sort_by_key(Draft::switches);
    for candidate in candidates {
        if search.try_draft(candidate)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every schedule in which one run of a session's lines stands elsewhere between the others', the
/// session's own order kept: moved down to its next run, up to the one before, or cut in two there.
pub(super) fn moves(draft: &Draft) -> Vec<Draft> {
    let lines = &draft.lines;
    let mut found = Vec::new();
    for start in 0..lines.len() {
        let session = lines[start].session;
        let run = lines[start..]
            .iter()
            .take_while(|line| line.session == session)
            .count();
        for length in 1..=run {
            let end = start + length;
            let next = (end..lines.len()).find(|at| lines[*at].session == session);
            let before = (0..start).rfind(|at| lines[*at].session == session);
            // Down as far as the session's next line, or to the end of all.
            let down = next.unwrap_or(lines.len());
            if down > end {
                found.push(moved(draft, start, end, down));
            }
            // Up as far as the session's line before, or to the start of all.
            let up = before.map_or(0, |at| at + 1);
            if up < start {
                found.push(moved(draft, start, end, up));
            }
        }
    }
    found
}

/// The lines `start..end` put before the line that is at `to`.
fn moved(draft: &Draft, start: usize, end: usize, to: usize) -> Draft {
    let mut draft = draft.clone();
    if to >= end {
        draft.lines[start..to].rotate_left(end - start);
    } else {
        draft.lines[to..end].rotate_right(end - start);
    }
    draft
}
