//! Between which servers a case begins or ends to show.

use serde_json::{Value as Json, json};

use super::tried::{Tried, VersionResult};

/// Two servers of which one shows the case and the other does not, with no decided one between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionChange {
    from: String,
    to: String,
    /// It shows on the later one.
    begins: bool,
    /// Servers between them that decided nothing.
    undecided: Vec<String>,
}

impl VersionChange {
    pub(super) fn line(&self) -> String {
        let word = if self.begins { "begins" } else { "ends" };
        let between = match self.undecided.as_slice() {
            [] => String::new(),
            names => format!(" (not decided between them: {})", names.join(", ")),
        };
        format!("it {word} between {} and {}{between}", self.from, self.to)
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "change": if self.begins { "begins" } else { "ends" },
            "from": self.from,
            "to": self.to,
            "undecided_between": self.undecided,
        })
    }
}

/// Every change, in the order of the servers.
pub(super) fn changes(all: &[Tried]) -> Vec<VersionChange> {
    let mut changes = Vec::new();
    let mut last: Option<&Tried> = None;
    let mut undecided = Vec::new();
    for tried in all {
        match tried.result {
            VersionResult::Undecided | VersionResult::Unreachable => {
                undecided.push(tried.server.clone());
                continue;
            }
            VersionResult::Shows | VersionResult::Clean => {}
        }
        if let Some(last) = last.filter(|last| last.result != tried.result) {
            changes.push(VersionChange {
                from: last.server.clone(),
                to: tried.server.clone(),
                begins: tried.result == VersionResult::Shows,
                undecided: undecided.clone(),
            });
        }
        undecided.clear();
        last = Some(tried);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(results: &[VersionResult], expected: &[&str]) {
        let all: Vec<Tried> = (0..)
            .zip(results)
            .map(|(place, result)| Tried {
                result: *result,
                ..Tried::unreachable(place, "")
            })
            .collect();
        let lines: Vec<String> = changes(&all).iter().map(VersionChange::line).collect();
        assert_eq!(lines, expected, "{results:?}");
    }

    #[test]
    fn each_change_is_told_with_what_lies_between() {
        use VersionResult::{Clean, Shows, Undecided, Unreachable};
        check(&[], &[]);
        check(&[Shows, Undecided, Shows], &[]);
        check(
            &[Clean, Shows],
            &["it begins between server 1 and server 2"],
        );
        check(
            &[Undecided, Shows, Unreachable, Undecided, Clean, Shows],
            &[
                "it ends between server 2 and server 5 (not decided between them: server 3, server 4)",
                "it begins between server 5 and server 6",
            ],
        );
    }
}
