//! The report of a replay as text for people.

use std::io::{self, Write};

use super::{ReplayReport, VoiceReport};
use crate::model::{self, Verdict};

/// Prints the result of a replay: the verdict, what is wrong, and each oracle's verdicts.
///
/// # Errors
/// When the text cannot be written.
pub fn print(report: &ReplayReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", printable(&report.file), verdict(report))?;
    if let Some(reason) = &report.could_not_run {
        return writeln!(out, "  could not run: {}", printable(reason));
    }
    if let Some(finding) = &report.finding {
        writeln!(out, "  {}", printable(&finding.headline))?;
        for difference in &finding.differences {
            let place = difference
                .statement
                .map_or("the end".to_owned(), |id| id.to_string());
            writeln!(out, "  {place}, {}:", difference.aspect)?;
            writeln!(out, "    expected {}", printable(&difference.expected))?;
            writeln!(out, "    got      {}", printable(&difference.got))?;
        }
        for line in &finding.explanation {
            writeln!(out, "  {}", printable(line))?;
        }
        let signature = &finding.signature;
        let text = printable(&signature.text());
        writeln!(out, "  signature {}: {text}", signature.id())?;
    }
    if let Some(id) = &report.regression_of {
        writeln!(
            out,
            "  REGRESSION: {} explains it, and this server claims the fix",
            printable(id)
        )?;
    }
    for rejection in &report.rejections {
        writeln!(out, "  {}", printable(&rejection.to_string()))?;
    }
    for voice in &report.voices {
        writeln!(out, "  {:12} {}", voice.name, said(voice))?;
    }
    for obstacle in report.obstacles() {
        writeln!(out, "  {}", printable(&obstacle.to_string()))?;
    }
    Ok(())
}

fn verdict(report: &ReplayReport) -> String {
    let (hits, runs) = (report.hits, report.runs);
    match &report.verdict {
        Verdict::Agree => format!("agree, not reproduced in {runs} of {runs} runs"),
        Verdict::Known(id) => format!("known ({}), {hits} of {runs} runs", printable(id)),
        Verdict::Undecided(reason) => format!("undecided ({reason})"),
        Verdict::Flaky { .. } => format!("flaky, {hits} of {runs} runs"),
        Verdict::Violation(found) => {
            format!(
                "violation ({}), {hits} of {runs} runs",
                found.signature.kind
            )
        }
    }
}

fn said(voice: &VoiceReport) -> String {
    if let Some(reason) = &voice.inapplicable {
        return format!("does not apply: {}", printable(reason));
    }
    let counts = [
        (voice.violations, "violation"),
        (voice.known, "known"),
        (voice.agreed, "agree"),
        (voice.undecided, "undecided"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match &voice.worst {
        Some(Verdict::Undecided(reason)) => {
            format!("{} ({reason})", counts.join(", "))
        }
        _ => counts.join(", "),
    }
}

/// Text of a server or a file, safe to print, its further lines indented.
fn printable(text: &str) -> String {
    model::printable(text).replace('\n', "\n    ")
}
