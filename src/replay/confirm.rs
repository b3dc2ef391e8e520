//! Has it been fixed? As many clean runs as the original rate asks for.

use super::{ReplayOptions, ReplayReport, replay};
use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::reproducer::{CaseFile, Reproduced};

/// Clean runs that are asked for when the file does not say how often the case reproduced.
pub const DEFAULT_CLEAN_RUNS: u32 = 10;

/// However reliable the case was, one clean run is no confirmation.
const CLEAN_RUNS_MIN: u32 = 2;

/// A case of a lower rate would take days.
const CLEAN_RUNS_MAX: u32 = 10_000;

/// What a case that never reproduced leaves open: the chance that it is not fixed, at most.
const DOUBT: f64 = 0.01;

/// How a confirmation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// As many clean runs as the rate asks for.
    Fixed,
    /// It showed again.
    StillThere,
    /// Runs without an answer: nothing is confirmed.
    Inconclusive,
}

/// How many clean runs in a row show with 99 % confidence that a case of this rate is fixed.
pub fn clean_runs(rate: f64) -> u32 {
    if rate <= 0.0 {
        return CLEAN_RUNS_MAX;
    }
    if rate >= 1.0 {
        return CLEAN_RUNS_MIN;
    }
    let runs = (DOUBT.ln() / (1.0 - rate).ln()).ceil();
    if runs >= f64::from(CLEAN_RUNS_MAX) {
        return CLEAN_RUNS_MAX;
    }
    // In range and whole: the bounds were just checked.
    (runs as u32).max(CLEAN_RUNS_MIN)
}

/// Replays a case until it shows again or has been clean often enough, and says so in one line.
///
/// # Errors
/// When the server gives no answer: the environment, never "fixed".
pub fn confirm_fixed(
    file: &CaseFile,
    name: &str,
    executor: &mut dyn Executor,
    server: &Identity,
    options: &ReplayOptions<'_>,
) -> Result<(Confirmation, String, ReplayReport), EngineError> {
    let reproduced = file.header.reproduced.filter(|r| r.hits > 0);
    let runs = reproduced.map_or(DEFAULT_CLEAN_RUNS, |r| clean_runs(r.rate()));
    let options = ReplayOptions {
        times: runs,
        stop_at_first_hit: true,
        ..*options
    };
    let report = replay(file, name, executor, server, &options)?;
    let (confirmation, line) = judge(&report, reproduced, &server.version_text);
    Ok((confirmation, line, report))
}

fn judge(
    report: &ReplayReport,
    reproduced: Option<Reproduced>,
    version: &str,
) -> (Confirmation, String) {
    let (hits, runs) = (report.hits, report.runs);
    let rate = reproduced.map_or("the file gives no rate".to_owned(), |r| {
        format!("original rate {:.2}", r.rate())
    });
    if let Some(reason) = &report.could_not_run {
        let line = format!("could not run on {version}: {reason}; nothing is confirmed");
        return (Confirmation::Inconclusive, line);
    }
    if hits > 0 {
        let line = format!("{hits}/{runs} on {version}; {rate} => not fixed");
        return (Confirmation::StillThere, line);
    }
    if report.undecided_runs > 0 {
        let line = format!(
            "0/{runs} on {version}, {} of them undecided; {rate} => inconclusive",
            report.undecided_runs
        );
        return (Confirmation::Inconclusive, line);
    }
    let line = match reproduced {
        Some(_) => format!("0/{runs} on {version}; {rate} => fixed with 99 % confidence"),
        None => format!("0/{runs} on {version}; {rate} => not reproduced"),
    };
    (Confirmation::Fixed, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_the_rate_the_more_clean_runs() {
        let table = [
            (1.0, 2),
            (0.9, 2),
            (0.8, 3),
            (0.5, 7),
            (0.4, 10),
            (0.3, 13),
            (0.2, 21),
            (0.1, 44),
            (0.05, 90),
            (0.02, 228),
            (0.0, CLEAN_RUNS_MAX),
            (1e-12, CLEAN_RUNS_MAX),
        ];
        for (rate, runs) in table {
            assert_eq!(clean_runs(rate), runs, "{rate}");
        }
    }
}
