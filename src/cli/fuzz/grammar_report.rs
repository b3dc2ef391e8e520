//! `--explain-grammar`: how often the engine accepts each production.

use serde_json::{Map, Value as Json, json};

use crate::campaign::{Share, Statistics};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::cli::terminal::{Style, grouped};
use crate::cli::value::OutputFormat;
use crate::grammar::is_meant_to_fail;

/// Below this share of accepted statements a production is a defect of the grammar.
const ACCEPTED_MIN: f64 = 0.9;

/// Above this share of accepted statements a production that is meant to fail does not do what it
/// is there for.
const MEANT_TO_FAIL_ACCEPTED_MAX: f64 = 0.7;

/// Prints the acceptance rate of every production that was used, the worst first.
pub(super) fn print(
    statistics: &Statistics,
    format: OutputFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    if format == OutputFormat::Json {
        let productions: Map<String, Json> = statistics
            .productions
            .iter()
            .map(|(name, share)| {
                let mut told = json!({ "accepted": share.part, "sent": share.whole });
                if is_meant_to_fail(name) {
                    told["meant_to_fail"] = json!(true);
                }
                (name.clone(), told)
            })
            .collect();
        return output.json(&json!({ "v": 1, "event": "grammar", "productions": productions }));
    }
    let style = Style::of_stdout();
    output
        .line(&style.bold("\nacceptance by production (rejections by concurrency not counted)"))?;
    for (name, share) in ranked(statistics) {
        let ratio = share.ratio().unwrap_or_default();
        let shown = format!("{:>6.1} %", ratio * 100.0);
        let shown = if is_defect(name, ratio) {
            style.red(&shown)
        } else {
            shown
        };
        let note = if is_meant_to_fail(name) {
            "   meant to fail"
        } else {
            ""
        };
        output.line(&format!(
            "{shown}  {:>9}  {name}{note}",
            grouped(share.whole)
        ))?;
    }
    Ok(())
}

/// Whether the production is a defect of the grammar: rejected too often, or seldom where it is
/// meant to fail.
fn is_defect(name: &str, accepted: f64) -> bool {
    if is_meant_to_fail(name) {
        accepted > MEANT_TO_FAIL_ACCEPTED_MAX
    } else {
        accepted < ACCEPTED_MIN
    }
}

/// The productions, the least accepted first, then by name.
fn ranked(statistics: &Statistics) -> Vec<(&String, Share)> {
    let mut ranked: Vec<(&String, Share)> = statistics
        .productions
        .iter()
        .map(|(name, share)| (name, *share))
        .collect();
    ranked.sort_by(|a, b| {
        let ratio = |share: Share| share.ratio().unwrap_or_default();
        ratio(a.1).total_cmp(&ratio(b.1)).then_with(|| a.0.cmp(b.0))
    });
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_production_comes_first() {
        let mut statistics = Statistics::default();
        let mut add = |name: &str, part, whole| {
            statistics
                .productions
                .insert(name.to_owned(), Share { part, whole });
        };
        add("good", 99, 100);
        add("bad", 1, 100);
        let names: Vec<&str> = ranked(&statistics)
            .into_iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["bad", "good"]);
    }

    #[test]
    fn a_rejection_that_was_meant_is_no_defect() {
        assert!(is_defect("insert#1", 0.1) && !is_defect("insert#1", 0.95));
        assert!(!is_defect("failing-write#1!", 0.1) && is_defect("failing-write#1!", 0.95));
    }
}
