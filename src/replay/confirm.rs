//! Has it been fixed? As many clean runs as the lower bound of the recorded rate asks for.

use super::{EXPECTATION, ReplayOptions, ReplayReport, UnexpectedRejection, replay};
use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::model::Difference;
use crate::reproducer::{CaseFile, Reproduced};

/// Clean runs that are asked for when the file does not say how often the case reproduced.
pub const DEFAULT_CLEAN_RUNS: u32 = 10;

/// However reliable the case was, one clean run is no confirmation.
const CLEAN_RUNS_MIN: u32 = 2;

/// More runs than this are not made: a case that needs them is not confirmed.
const CLEAN_RUNS_MAX: u32 = 10_000;

/// The chance that a case which is not fixed stays clean in all the runs, at most.
const DOUBT: f64 = 0.01;

/// The standard normal quantile of 0.99: the confidence of the lower bound of a recorded rate.
const Z_99: f64 = 2.326_347_874_040_841;

/// How a confirmation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// As many clean runs as the rate asks for.
    Fixed,
    /// It showed again.
    StillThere,
    /// Runs without an answer, or in which a statement was rejected that was answered before:
    /// nothing is confirmed.
    Inconclusive,
}

impl Confirmation {
    /// Its spelling in JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::StillThere => "still-there",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The lower bound of the rate behind a recorded `k/n`, with 99 % one-sided confidence: 3/3 says no
/// more than that the case shows in 36 % of its runs.
///
/// The score interval of Wilson, *Probable Inference, the Law of Succession, and Statistical
/// Inference*, JASA 22 (1927), 209-212, which Brown, Cai and DasGupta, *Interval Estimation for a
/// Binomial Proportion*, Statistical Science 16 (2001), section 4, recommend for small n.
pub fn rate_at_least(recorded: Reproduced) -> f64 {
    if recorded.runs == 0 || recorded.hits == 0 {
        return 0.0;
    }
    let (n, rate) = (f64::from(recorded.runs), recorded.rate());
    let z2 = Z_99 * Z_99;
    let centre = rate + z2 / (2.0 * n);
    let spread = Z_99 * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    ((centre - spread) / (1.0 + z2 / n)).clamp(0.0, 1.0)
}

/// How many clean runs in a row a case that shows at this rate has with a probability of 1 % at
/// most; infinite for a rate of none.
pub fn clean_runs(rate: f64) -> f64 {
    if rate >= 1.0 {
        return f64::from(CLEAN_RUNS_MIN);
    }
    let runs = (DOUBT.ln() / (-rate).ln_1p()).ceil();
    runs.max(f64::from(CLEAN_RUNS_MIN))
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
    confirm_in(file, name, executor, server, (options, None))
}

/// As [`confirm_fixed`]; with a number of runs, all of them are made, so that the report has a rate.
/// Fewer clean runs than the recorded rate asks for confirm nothing.
///
/// # Errors
/// As [`confirm_fixed`].
pub fn confirm_in(
    file: &CaseFile,
    name: &str,
    executor: &mut dyn Executor,
    server: &Identity,
    (options, times): (&ReplayOptions<'_>, Option<u32>),
) -> Result<(Confirmation, String, ReplayReport), EngineError> {
    let recorded = file.header.reproduced.filter(|r| r.hits > 0);
    let needed = recorded.map_or(f64::from(DEFAULT_CLEAN_RUNS), |r| {
        clean_runs(rate_at_least(r))
    });
    let options = ReplayOptions {
        // Whole and in range: both bounds are.
        times: times.unwrap_or(needed.min(f64::from(CLEAN_RUNS_MAX)) as u32),
        stop_at_first_hit: times.is_none(),
        ..*options
    };
    let report = replay(file, name, executor, server, &options)?;
    let (confirmation, line) = judge(&report, recorded, needed, &server.version_text);
    Ok((confirmation, line, report))
}

fn judge(
    report: &ReplayReport,
    recorded: Option<Reproduced>,
    needed: f64,
    version: &str,
) -> (Confirmation, String) {
    let (hits, runs) = (report.hits, report.runs);
    let rate = recorded.map_or("the file gives no rate".to_owned(), |r| {
        format!("recorded {r}, a rate of at least {:.2}", rate_at_least(r))
    });
    if let Some(reason) = &report.could_not_run {
        let line = format!("could not run on {version}: {reason}; nothing is confirmed");
        return (Confirmation::Inconclusive, line);
    }
    let rejected = report.rejections.first();
    if let Some(rejection) = rejected.filter(|_| hits == 0 || is_only_rejected(report)) {
        let line = format!("{runs} runs on {version}; {rate} => not confirmed: {rejection}");
        return (Confirmation::Inconclusive, line);
    }
    if hits > 0 {
        let line = format!("{hits}/{runs} on {version}; {rate} => not fixed");
        return (Confirmation::StillThere, line);
    }
    // Oracles may agree about a run in which the file's own expectations could not be checked.
    let unchecked = report.voices.iter().find(|v| v.name == EXPECTATION);
    let undecided = report
        .undecided_runs
        .max(unchecked.map_or(0, |voice| voice.undecided));
    if undecided > 0 {
        let line =
            format!("0/{runs} on {version}, {undecided} of them undecided; {rate} => inconclusive");
        return (Confirmation::Inconclusive, line);
    }
    if needed > f64::from(runs) {
        let line = format!(
            "0/{runs} on {version}; {rate} => inconclusive: {needed:.0} clean runs would be needed"
        );
        return (Confirmation::Inconclusive, line);
    }
    let line = match recorded {
        Some(_) => format!("0/{runs} on {version}; {rate} => fixed with 99 % confidence"),
        None => format!("0/{runs} on {version}; {rate} => not reproduced"),
    };
    (Confirmation::Fixed, line)
}

/// The runs differ from what the file expects in nothing but statements that were answered before and
/// are now rejected: neither what was found nor its fix.
fn is_only_rejected(report: &ReplayReport) -> bool {
    let rejected = |difference: &Difference| {
        let is =
            |rejection: &UnexpectedRejection| difference.statement == Some(rejection.statement);
        report.rejections.iter().any(is)
    };
    report.oracle.as_deref() == Some(EXPECTATION)
        && report
            .finding
            .as_ref()
            .is_some_and(|finding| finding.differences.iter().all(rejected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ErrorClass, SqlError, StatementId, TransactionId};

    #[test]
    fn the_lower_the_rate_the_more_clean_runs() {
        let table = [
            (1.0, 2.0),
            (0.9, 2.0),
            (0.8, 3.0),
            (0.5, 7.0),
            (0.4, 10.0),
            (0.3, 13.0),
            (0.2, 21.0),
            (0.1, 44.0),
            (0.05, 90.0),
            (0.02, 228.0),
            (0.0, f64::INFINITY),
        ];
        for (rate, runs) in table {
            assert_eq!(clean_runs(rate), runs, "{rate}");
        }
    }

    #[test]
    fn a_recorded_rate_counts_with_its_lower_bound() {
        let table = [
            ((3, 3), 0.3566, 11.0),
            ((10, 10), 0.6488, 5.0),
            ((100, 100), 0.9487, 2.0),
            ((1, 1), 0.1560, 28.0),
            ((8, 10), 0.4353, 9.0),
            ((1, 10), 0.0139, 330.0),
            ((0, 3), 0.0, f64::INFINITY),
            ((0, 0), 0.0, f64::INFINITY),
        ];
        for ((hits, runs), bound, needed) in table {
            let rate = rate_at_least(Reproduced { hits, runs });
            assert!((rate - bound).abs() < 0.00005, "{hits}/{runs}: {rate}");
            assert_eq!(clean_runs(rate), needed, "{hits}/{runs}");
        }
    }

    fn clean(runs: u32) -> ReplayReport {
        let mut report = ReplayReport::could_not_run("x.sql", String::new());
        (report.could_not_run, report.runs) = (None, runs);
        report
    }

    #[test]
    fn a_rate_that_asks_for_more_runs_than_are_made_confirms_nothing() {
        let recorded = Reproduced {
            hits: 1,
            runs: 100_000,
        };
        let needed = clean_runs(rate_at_least(recorded));
        let (confirmation, line) = judge(&clean(CLEAN_RUNS_MAX), Some(recorded), needed, "9.9");
        assert_eq!(confirmation, Confirmation::Inconclusive);
        assert!(line.contains("clean runs would be needed"), "{line}");
    }

    #[test]
    fn clean_runs_in_which_a_statement_is_rejected_confirm_nothing() {
        let mut report = clean(11);
        report.rejections.push(UnexpectedRejection {
            line: 5,
            statement: StatementId {
                transaction: TransactionId(2),
                position: 1,
            },
            sql: "SELECT COUNT(*) FROM t0".to_owned(),
            error: SqlError {
                code: "1146".to_owned(),
                class: ErrorClass::Missing,
                message: "no such table".to_owned(),
            },
        });
        let recorded = Some(Reproduced { hits: 3, runs: 3 });
        let (confirmation, line) = judge(&report, recorded, 11.0, "9.9");
        assert_eq!(confirmation, Confirmation::Inconclusive);
        let expected = "11 runs on 9.9; recorded 3/3, a rate of at least 0.36 => not confirmed: line 5, \
                        T2.1 (SELECT COUNT(*) FROM t0) was rejected: no such table (error 1146)";
        assert!(line.starts_with(expected), "{line}");
    }
}
