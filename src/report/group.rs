//! One group in full.

use maud::{Markup, html};

use super::cycle::picture;
use super::detail::{GroupDetail, ReportExport};
use super::explained::linked;
use super::lane_table::lane_table;
use super::lanes::Lanes;
use super::list::{shows_in, state};
use super::time::{times, utc};
use super::visible::is_shown_as_it_is;
use crate::reproducer::{CaseEvidence, CaseFile, CaseHead};
use crate::triage::{Group, RecheckResult};

/// A group with its case, why it is wrong, and how to hand it on.
pub(super) fn group(group: &Group, detail: &GroupDetail) -> Markup {
    let first = group.first_file();
    html! {
        article.group id={ "g-" (group.id) } {
            h3 { (first.anomaly) " " code { (group.id) } " " (state(group)) }
            p.headline { (first.headline) }
            (facts(group, first))
            @match &detail.case {
                Ok(case) => { (lane_table(&Lanes::of(case, detail.evidence.as_ref()), &group.id)) }
                Err(problem) => p { "The case cannot be read: " (problem) }
            }
            @if let Some(cycle) = detail.case.as_ref().ok().and_then(CaseFile::told_cycle) {
                (picture(&cycle))
            }
            @if let Some(evidence) = &detail.evidence { (reasons(evidence)) }
            (exports(detail))
            (more(group))
        }
    }
}

fn facts(group: &Group, first: &CaseHead) -> Markup {
    let servers: Vec<String> = group
        .files
        .iter()
        .map(|file| file.server.in_full())
        .collect();
    html! {
        dl.facts {
            dt { "Levels" } dd { (first.levels) }
            dt { "Seen on" } dd { (servers.join(", ")) }
            dt { "Shows in" } dd { (shows_in(group)) " runs of its case" }
            dt { "Seen" } dd { (seen(group.sightings(), group.first_unix_s(), group.last_unix_s())) }
            @if let Some(signature) = &first.signature { dt { "Found by" } dd { (signature.oracle) ", as " (signature.kind) } }
            @if let Some(known) = &group.explanation {
                dt { "Known as" }
                dd {
                    (linked(&known.id, known.url.as_deref()))
                    @if let Some(note) = &known.note { " " (note) }
                    @if known.is_regression { " " strong { "This server claims the fix." } }
                }
            }
            dt { "File" } dd { code { (first.path.display()) } }
        }
    }
}

/// Why the oracle holds its account for the right one.
fn reasons(evidence: &CaseEvidence) -> Markup {
    html! {
        @if !evidence.explanation.is_empty() {
            h4 { "Why" }
            ul.reasons { @for line in &evidence.explanation { li { (line) } } }
        }
    }
}

fn exports(detail: &GroupDetail) -> Markup {
    html! {
        h4 { "Hand it on" }
        @if let Some(reason) = &detail.unexported { p { "No exports: " (reason) "." } }
        @for export in &detail.exports { (export_part(export)) }
    }
}

fn export_part(export: &ReportExport) -> Markup {
    html! {
        details.export {
            summary { code { (export.name) } " " span.quiet { (export.about) } }
            @if let Some(remark) = &export.remark { p { (remark) } }
            (copied(&export.text, export.name))
            @if let Some((ending, text)) = &export.beside {
                p { "The file ." (ending) " beside it:" }
                (copied(text, ending))
            }
        }
    }
}

/// A text with a button that copies it, where the page shows every letter of it as it is.
fn copied(text: &str, name: &str) -> Markup {
    html! {
        div.copied {
            @if is_shown_as_it_is(text) {
                button type="button" data-copy="" hidden { "Copy " (name) }
            } @else {
                p.quiet { "It has letters that no page can show: write it with `rashomon export` instead of copying it." }
            }
            // A parser drops the first line break of a `pre`: this one.
            pre tabindex="0" { "\n" (text) }
        }
    }
}

fn more(group: &Group) -> Markup {
    html! {
        details {
            summary { "Shapes, runs and files" }
            ul {
                @for (shape, count) in group.shapes() { li { (count) " x " code { (shape) } } }
                @for seen_in in &group.seen {
                    li {
                        "run " code { (seen_in.run) } " (seed " (seen_in.seed) ") on " (seen_in.server) ": seen "
                        (seen(
                            seen_in.sightings.count,
                            Some(seen_in.sightings.first_unix_s),
                            Some(seen_in.sightings.last_unix_s),
                        ))
                    }
                }
                @for recheck in &group.rechecks {
                    li {
                        "rechecked " (utc(Some(recheck.unix_s))) " on " (recheck.server) ": " (result(recheck.result))
                        ", in " (recheck.hits) " of " (recheck.runs) " runs"
                    }
                }
                @for file in &group.files {
                    li { code { (file.path.display()) } ", " (file.statements) " statements, " (file.server.in_full()) }
                }
            }
        }
    }
}

fn result(result: RecheckResult) -> &'static str {
    match result {
        RecheckResult::There => "there",
        RecheckResult::Gone => "gone",
        RecheckResult::Undecided => "undecided",
    }
}

/// How often something was seen, and from when to when.
fn seen(count: u64, first: Option<u64>, last: Option<u64>) -> String {
    match count {
        0 | 1 => format!("{}, {}", times(count), utc(last)),
        _ => format!("{}, {} to {}", times(count), utc(first), utc(last)),
    }
}
