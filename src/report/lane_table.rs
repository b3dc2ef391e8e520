//! The lanes as a table: a column for each session, a row for each statement, a wait as a bar over rows.

use maud::{Markup, html};

use super::lanes::{LaneStep, Lanes};
use crate::reproducer::Expectation;

/// The style widens a table by so many columns; more share that width.
const SESSIONS_MAX: usize = 8;

/// The table, with what made the tables before it and what was read after it.
pub(super) fn lane_table(lanes: &Lanes, name: &str) -> Markup {
    html! {
        @if !lanes.setup.is_empty() {
            details {
                summary { "Set-up" }
                pre { @for sql in &lanes.setup { (sql) ";\n" } }
            }
        }
        div.scroll tabindex="0" role="region" aria-label={ "Statements of " (name) } {
            table class={ "lanes of-" (lanes.sessions.len().min(SESSIONS_MAX)) } {
                caption {
                    "Time runs down. "
                    @if lanes.is_timed { "A bar is a wait for a lock, as long as it lasted." }
                    @else { "The order is that of the file; no record of the run says how long a wait lasted." }
                }
                thead {
                    tr {
                        th.number scope="col" { span.quiet { "#" } }
                        @for (session, level) in &lanes.sessions {
                            th scope="col" {
                                (session)
                                @if let Some(level) = level { " " span.quiet { (level) } }
                            }
                        }
                    }
                }
                tbody { @for row in 0..lanes.steps.len() { (table_row(lanes, row)) } }
            }
        }
        @for step in &lanes.afterwards {
            div.after.differs[step.differs] {
                span.quiet { "in the end " }
                code.sql { (step.sql) }
                (answers(step))
            }
        }
    }
}

fn table_row(lanes: &Lanes, row: usize) -> Markup {
    html! {
        tr {
            th.number scope="row" { (row + 1) }
            @for lane in 0..lanes.sessions.len() {
                @if lanes.steps[row].lane == lane { (cell(&lanes.steps[row], row)) }
                @else if !is_covered(lanes, row, lane) { td {} }
            }
        }
    }
}

/// Whether a statement that was sent above waits here.
fn is_covered(lanes: &Lanes, row: usize, lane: usize) -> bool {
    let mut above = lanes.steps[..row].iter();
    above.any(|step| step.lane == lane && step.until >= row)
}

fn cell(step: &LaneStep, row: usize) -> Markup {
    let rows = (step.until > row).then_some(step.until - row + 1);
    html! {
        td.step.waits[step.waits].differs[step.differs] rowspan=[rows] {
            @for read in &step.snapshot_reads {
                div.quiet { "takes its snapshot by " code { (read) } }
            }
            @if let Some(id) = step.id { span.id { (id) } " " }
            code.sql { (step.sql) }
            @if step.waits {
                div.wait { "waits" @if rows.is_some() { " until after row " (step.until + 1) } }
            }
            @if step.is_unsent { div.quiet { "not sent" } }
            (answers(step))
            @for session in &step.resumes { div.quiet { (session) " goes on" } }
        }
    }
}

/// What was answered, and what is right where that is another answer.
fn answers(step: &LaneStep) -> Markup {
    let right: Vec<String> = step.right.iter().map(told).collect();
    html! {
        @if step.differs {
            dl.answers {
                dt { "got" }
                dd.got { @match &step.seen { Some(seen) => (told(seen)), None => "no answer was noted" } }
                dt { "expected" }
                dd.expected { (right.join(", or ")) }
            }
        } @else if let Some(seen) = &step.seen {
            div.answer { (told(seen)) }
        }
    }
}

/// An answer in words.
fn told(answer: &Expectation) -> String {
    match answer {
        Expectation::Rows(rows) if rows.is_empty() => "no rows".to_owned(),
        Expectation::Affected(1) => "1 row changed".to_owned(),
        Expectation::Affected(count) => format!("{count} rows changed"),
        Expectation::Accepted => "no error".to_owned(),
        Expectation::Waits => "waits for a lock".to_owned(),
        Expectation::DoesNotWait => "does not wait".to_owned(),
        Expectation::Rows(_) | Expectation::Error(_) => answer.to_string(),
    }
}
