//! What decided nothing and what is known, each with its reason.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::campaign::Statistics;
use crate::model::UndecidedReason;
use crate::reproducer::{Known, KnownStatus};
use crate::triage::TriageFolder;

/// Cases over all runs of a folder, by a word.
fn counts(
    folder: &TriageFolder,
    of: fn(&Statistics) -> &BTreeMap<String, u64>,
) -> Vec<(&str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let checkpoints = folder
        .runs
        .iter()
        .filter_map(|run| run.checkpoint.as_ref().ok());
    for (word, count) in checkpoints.flat_map(|checkpoint| of(&checkpoint.statistics)) {
        let sum = counts.entry(word).or_default();
        *sum = sum.saturating_add(*count);
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The cases that decided nothing, by their reason.
pub(super) fn undecided(folder: &TriageFolder) -> Markup {
    let counts = counts(folder, |statistics| &statistics.undecided);
    html! {
        @if counts.is_empty() { p { "No case was undecided." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Undecided cases" {
                table {
                    thead { tr { th.number scope="col" { "Cases" } th scope="col" { "Reason" } th scope="col" { "Meaning" } } }
                    tbody {
                        @for (slug, count) in counts {
                            tr {
                                td.number { (count) }
                                td { code { (slug) } }
                                td { (UndecidedReason::from_slug(slug).map_or("", UndecidedReason::about)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The cases that an entry of the registry explains, or documented behaviour does.
pub(super) fn known(folder: &TriageFolder) -> Markup {
    let counts = counts(folder, |statistics| &statistics.known);
    html! {
        @if counts.is_empty() { p { "No case came to what is known." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Known behaviour" {
                table {
                    thead { tr { th.number scope="col" { "Cases" } th scope="col" { "Entry" } th scope="col" { "Status" } th scope="col" { "What it is" } } }
                    tbody { @for (id, count) in counts { (known_row(folder, id, count)) } }
                }
            }
        }
    }
}

fn known_row(folder: &TriageFolder, id: &str, count: u64) -> Markup {
    let entry = folder.registry.entries.iter().find(|entry| entry.id == id);
    html! {
        tr {
            td.number { (count) }
            td { (entry.map_or(html! { (id) }, |entry| linked(id, entry.url.as_deref()))) }
            td { (entry.map_or("documented behaviour, or an entry that this folder does not have", |entry| status(entry))) }
            td { (entry.and_then(|entry| entry.note.as_deref()).unwrap_or_default()) }
        }
    }
}

fn status(entry: &Known) -> &'static str {
    match entry.status {
        KnownStatus::Open => "open",
        KnownStatus::Fixed => "fixed",
        KnownStatus::WontFix => "a bug that stays",
        KnownStatus::ByDesign => "not a bug",
    }
}

/// A text that leads to an address of the web; to no other kind of address, which could be a script.
pub(super) fn linked(text: &str, url: Option<&str>) -> Markup {
    let is_web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
    html! {
        @match url.filter(is_web) {
            Some(url) => { a href=(url) rel="noreferrer" { (text) } @if url != text { " " span.quiet { (url) } } }
            None => { (text) @if let Some(url) = url.filter(|url| *url != text) { " " span.quiet { (url) } } }
        }
    }
}
