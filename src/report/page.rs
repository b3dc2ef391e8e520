//! The page as a whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::detail::GroupDetail;
use super::explained::{known, undecided};
use super::group::group;
use super::list::list;
use super::runs::run;
use super::time::{length, utc};
use super::visible::visible;
use crate::triage::{GroupState, TriageFolder};

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// The page of a folder, in one file that loads nothing: its policy forbids it, and allows this style and
/// this script alone. `details` are those of the folder's groups, in their order; `now_unix_s` is when the
/// page is written, in seconds since 1970.
pub fn page(folder: &TriageFolder, details: &[GroupDetail], now_unix_s: u64) -> String {
    let name = folder.path.display().to_string();
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "Rashomon: " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#groups" { "To the groups" }
                header {
                    h1 { "Rashomon" }
                    p { (summary(folder)) }
                    p.quiet { (name) ", " (utc(Some(now_unix_s))) ", rashomon " (env!("CARGO_PKG_VERSION")) }
                    nav aria-label="Parts of the page" {
                        a href="#groups" { "Groups" } " " a href="#runs" { "What ran" } " " a href="#cases" { "Cases" } " "
                        a href="#undecided" { "Undecided" } " " a href="#known" { "Known" }
                    }
                }
                main { (parts(folder, details)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    visible(&page.into_string())
}

fn parts(folder: &TriageFolder, details: &[GroupDetail]) -> Markup {
    html! {
        section id="groups" {
            h2 { "Groups" }
            p.quiet { "Findings that are one bug, the newest first." }
            @if folder.groups.is_empty() { p { "No findings." } } @else { (list(folder)) }
            @if !folder.left_out.is_empty() {
                p { "Left out, because it cannot be read:" }
                ul { @for sentence in &folder.left_out { li { (sentence) } } }
            }
        }
        section id="runs" {
            h2 { "What ran" }
            @if folder.runs.is_empty() { p { "The folder has no records of runs." } }
            @for one in &folder.runs { (run(one)) }
        }
        section id="cases" {
            h2 { "The smallest case of each group" }
            @for (one, detail) in folder.groups.iter().zip(details) { (group(one, detail)) }
        }
        section id="undecided" {
            h2 { "Undecided" }
            p.quiet { "Cases that are neither a pass nor a finding, over all runs." }
            (undecided(folder))
        }
        section id="known" {
            h2 { "Known" }
            p.quiet { "Cases that the registry or documented behaviour explains, over all runs." }
            (known(folder))
        }
    }
}

/// What there is, in a sentence.
fn summary(folder: &TriageFolder) -> String {
    let count = |state: &GroupState| folder.groups.iter().filter(|g| g.state == *state).count();
    let states = GroupState::ALL.iter().map(|state| (count(state), state));
    let states = states.filter(|(count, _)| *count > 0);
    let states: Vec<String> = states
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    let groups = match states.as_slice() {
        [] => "No findings".to_owned(),
        states => format!(
            "{} ({})",
            counted(folder.groups.len() as u64, "group"),
            states.join(", ")
        ),
    };
    let checkpoints = folder
        .runs
        .iter()
        .filter_map(|run| run.checkpoint.as_ref().ok());
    let totals = checkpoints.map(|checkpoint| checkpoint.statistics.verdicts.total());
    let cases = totals.fold(0_u64, u64::saturating_add);
    let times = folder.runs.iter().map(|run| run.elapsed());
    let time = times.fold(
        std::time::Duration::ZERO,
        std::time::Duration::saturating_add,
    );
    let runs = counted(folder.runs.len() as u64, "run");
    format!(
        "{groups} in {} of {runs}, {} of fuzzing.",
        counted(cases, "case"),
        length(time)
    )
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The name that a content security policy has for a text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
