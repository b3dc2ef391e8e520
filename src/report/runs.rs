//! What ran: a part for each run of the folder.

use maud::{Markup, html};

use super::chart::chart;
use super::time::{length, utc};
use crate::campaign::Checkpoint;
use crate::triage::{RunInFolder, RunStatus};

/// One run: what it was begun with, what it came to, and when.
pub(super) fn run(run: &RunInFolder) -> Markup {
    let name = run.name();
    html! {
        article.run {
            @match &run.checkpoint {
                Ok(checkpoint) => {
                    h3 { (checkpoint.server) " " span class={ "state " (run.state.slug()) } { (run.state.slug()) } }
                    (facts(run, checkpoint))
                    @if let Some(chart) = checkpoint.timeline.as_ref().and_then(|t| chart(t, run.elapsed())) { (chart) }
                    (verdicts(checkpoint))
                }
                Err(problem) => {
                    h3 { "Run " (name) }
                    p { "Its numbers cannot be read: " (problem) }
                }
            }
        }
    }
}

fn facts(run: &RunInFolder, checkpoint: &Checkpoint) -> Markup {
    let (settings, statistics) = (&checkpoint.settings, &checkpoint.statistics);
    let asked = settings
        .cases
        .map_or(String::new(), |cases| format!(" of {cases}"));
    let (cases, elapsed) = (statistics.verdicts.total(), run.elapsed());
    let began = checkpoint
        .timeline
        .as_ref()
        .and_then(|timeline| timeline.began_unix_s);
    let compared = statistics.tested.ratio();
    html! {
        dl.facts {
            dt { "Levels" }
            dd { (settings.isolation) @if let Some(claim) = &settings.claim { ", claimed " (claim) } }
            dt { "Oracles" } dd { (settings.oracles.join(", ")) }
            dt { "Cases" } dd { (cases) (asked) " in " (length(elapsed)) (rate(cases, elapsed.as_secs_f64())) }
            @if let Some(compared) = compared {
                dt { "Compared" } dd { (format!("{:.1} %", compared * 100.0)) " of the statements" }
            }
            dt { "Begun" } dd { (utc(began)) @if run.state != RunStatus::Done { ", saved " (utc(run.saved_unix_s)) } }
            dt { "Findings" }
            dd {
                (checkpoint.ledger.findings().count())
                @let flaky = checkpoint.ledger.flaky().count();
                @if flaky > 0 { ", and " (flaky) " that do not show every time" }
            }
            dt { "Seed" } dd { code { (settings.seed) } ", " (settings.workers) @if settings.workers == 1 { " worker" } @else { " workers" } }
            dt { "Run" } dd { code { (run.name()) } }
        }
    }
}

fn rate(cases: u64, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one digit")]
    let cases = cases as f64;
    match seconds >= 1.0 {
        true => format!(", {:.1} a second", cases / seconds),
        false => String::new(),
    }
}

fn verdicts(checkpoint: &Checkpoint) -> Markup {
    let before = checkpoint
        .timeline
        .as_ref()
        .map_or(0, |timeline| timeline.before.total());
    html! {
        ul.verdicts {
            @for (word, count) in checkpoint.statistics.verdicts.by_word() {
                li { span class={ "swatch " (word) } {} (word) " " strong { (count) } }
            }
        }
        @if checkpoint.timeline.is_none() {
            p.quiet { "The run was begun by an earlier program, which did not note when it came to its verdicts." }
        } @else if before > 0 {
            p.quiet { (before) " cases were judged by an earlier program, which did not note when: they are not drawn." }
        }
    }
}
