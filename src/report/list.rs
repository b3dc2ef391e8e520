//! The table of the groups, a line each.

use maud::{Markup, html};

use super::time::utc;
use crate::triage::{Group, TriageFolder};

pub(super) fn list(folder: &TriageFolder) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Groups of findings" {
            table.list {
                thead {
                    tr {
                        @for heading in ["State", "Group", "Anomaly", "Engine", "Levels", "Seen", "First", "Last", "Statements", "Shows in"] {
                            th scope="col" { (heading) }
                        }
                    }
                }
                tbody { @for group in &folder.groups { (row(group)) } }
            }
        }
    }
}

fn row(group: &Group) -> Markup {
    let first = group.first_file();
    let engines: Vec<&str> = group.engines().into_iter().collect();
    html! {
        tr {
            td { (state(group)) }
            td { a href={ "#g-" (group.id) } { code { (group.id) } } }
            td { (first.anomaly) }
            td { (engines.join(", ")) }
            td { (first.levels) }
            td.number { (sightings(group)) }
            td.time { (utc(group.first_unix_s())) }
            td.time { (utc(group.last_unix_s())) }
            td.number { (first.statements) }
            td.number { (shows_in(group)) }
        }
        tr.wrong { td {} td colspan="9" { (first.headline) } }
    }
}

/// The state of a group, in its colour and in a word.
pub(super) fn state(group: &Group) -> Markup {
    let slug = group.state.slug();
    html! { span class={ "state " (slug) } { (slug) } }
}

/// How many cases came to a group; `-` where no run of the folder tells.
pub(super) fn sightings(group: &Group) -> String {
    match group.sightings() {
        0 => "-".to_owned(),
        count => count.to_string(),
    }
}

/// In how many runs of its case a group showed.
pub(super) fn shows_in(group: &Group) -> String {
    let reproduced = group.first_file().reproduced;
    reproduced.map_or("-".to_owned(), |r| format!("{} of {}", r.hits, r.runs))
}
