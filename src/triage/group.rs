//! One group of findings, and what is known of it.

use std::collections::{BTreeMap, BTreeSet};

use super::rechecks::{Recheck, RecheckResult};
use crate::campaign::Sightings;
use crate::model::slug::slugged;
use crate::reproducer::{CaseHead, KnownStatus, Match, Registry};

slugged! {
    /// What there is to do about a group.
    pub enum GroupState {
        /// Nothing explains it.
        New = "new",
        /// An entry of the registry explains it.
        Known = "known",
        /// It does not show in every run of its case, and nothing explains it.
        Flaky = "flaky",
        /// The last recheck did not see it.
        Fixed = "fixed",
        /// It shows on a server on which a recheck had not seen it, or whose version claims the fix.
        Regression = "regression",
    }
}

/// What one run saw of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenInRun {
    /// The run's folder below `runs/`.
    pub run: String,
    /// Engine and version text of its server.
    pub server: String,
    pub seed: u64,
    pub sightings: Sightings,
}

/// The entry of a registry that explains a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub id: String,
    pub status: Option<KnownStatus>,
    pub url: Option<String>,
    pub note: Option<String>,
    /// The server claims the fix.
    pub is_regression: bool,
}

/// Findings that are told as one bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The eight digits of the signature.
    pub id: String,
    pub state: GroupState,
    /// Its case files, the one to read first: that show every time before flaky ones, then small ones. Never
    /// empty.
    pub files: Vec<CaseHead>,
    /// By run; empty of files whose runs are not in the folder.
    pub seen: Vec<SeenInRun>,
    /// By server, the last first.
    pub rechecks: Vec<Recheck>,
    pub explanation: Option<Explanation>,
}

impl Group {
    /// Puts together what the folder has of one signature.
    pub(super) fn new(
        id: String,
        mut files: Vec<CaseHead>,
        seen: Vec<SeenInRun>,
        mut rechecks: Vec<Recheck>,
        registry: &Registry,
    ) -> Self {
        files.sort_by_key(|file| (is_flaky(file), file.statements, file.path.clone()));
        rechecks.sort_by_key(|recheck| std::cmp::Reverse(recheck.unix_s));
        let explanation = explanation(&files, registry);
        let state = state(&files, &seen, &rechecks, explanation.as_ref());
        Self {
            id,
            state,
            files,
            seen,
            rechecks,
            explanation,
        }
    }

    /// The file to read first.
    pub fn first_file(&self) -> &CaseHead {
        &self.files[0]
    }

    /// The text of the group, `lost-update [SERIALIZABLE]`; none where no file has its JSON.
    pub fn text(&self) -> Option<String> {
        let mut signatures = self.files.iter().filter_map(|file| file.signature.as_ref());
        signatures.next().map(|signature| signature.group())
    }

    /// The engines that showed it.
    pub fn engines(&self) -> BTreeSet<&str> {
        let files = self.files.iter();
        files.map(|file| file.server.engine.as_str()).collect()
    }

    /// How many cases came to it, over all runs of the folder.
    pub fn sightings(&self) -> u64 {
        self.seen.iter().map(|seen| seen.sightings.count).sum()
    }

    /// When it was first seen, in seconds since 1970; none where no run of the folder tells.
    pub fn first_unix_s(&self) -> Option<u64> {
        self.seen.iter().map(|s| s.sightings.first_unix_s).min()
    }

    /// When it was last seen, in seconds since 1970.
    pub fn last_unix_s(&self) -> Option<u64> {
        self.seen.iter().map(|s| s.sightings.last_unix_s).max()
    }

    /// Sightings by shape, the most frequent first.
    pub fn shapes(&self) -> Vec<(String, u64)> {
        let mut shapes: BTreeMap<&str, u64> = BTreeMap::new();
        for (shape, count) in self.seen.iter().flat_map(|seen| &seen.sightings.shapes) {
            *shapes.entry(shape).or_default() += count;
        }
        let owned = shapes
            .into_iter()
            .map(|(shape, count)| (shape.to_owned(), count));
        let mut shapes: Vec<(String, u64)> = owned.collect();
        shapes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        shapes
    }
}

fn is_flaky(file: &CaseHead) -> bool {
    file.reproduced.is_some_and(|r| r.hits < r.runs)
}

/// What explains every file; of several entries a regression, else the first. None where one file is not
/// explained: marks explain whole groups, but an entry by shape may explain a part of one.
fn explanation(files: &[CaseHead], registry: &Registry) -> Option<Explanation> {
    let each: Option<Vec<Explanation>> =
        files.iter().map(|file| explained(file, registry)).collect();
    let each = each?;
    let regression = each.iter().find(|explanation| explanation.is_regression);
    regression.or(each.first()).cloned()
}

fn explained(file: &CaseHead, registry: &Registry) -> Option<Explanation> {
    let found = file
        .signature
        .as_ref()
        .map(|s| registry.judge(s, &file.server));
    let (known, is_regression) = match found {
        Some(Match::Known(known)) => (known, false),
        Some(Match::Regression(known)) => (known, true),
        Some(Match::None) | None => {
            // A person has written into the header what it is.
            return file.known.clone().map(|id| Explanation {
                id,
                status: None,
                url: None,
                note: None,
                is_regression: false,
            });
        }
    };
    Some(Explanation {
        id: known.id.clone(),
        status: Some(known.status),
        url: known.url.clone(),
        note: known.note.clone(),
        is_regression,
    })
}

fn state(
    files: &[CaseHead],
    seen: &[SeenInRun],
    rechecks: &[Recheck],
    explanation: Option<&Explanation>,
) -> GroupState {
    let seen_since = |recheck: &Recheck| {
        let mut runs = seen.iter().filter(|run| run.server == recheck.server);
        runs.any(|run| run.sightings.last_unix_s > recheck.unix_s)
    };
    let is_back = |recheck: &Recheck| match recheck.result {
        RecheckResult::There => recheck.was_gone,
        RecheckResult::Gone => seen_since(recheck),
        RecheckResult::Undecided => false,
    };
    let claims = explanation.is_some_and(|explanation| explanation.is_regression);
    if claims || rechecks.iter().any(is_back) {
        return GroupState::Regression;
    }
    if rechecks
        .first()
        .is_some_and(|last| last.result == RecheckResult::Gone)
    {
        return GroupState::Fixed;
    }
    if explanation.is_some() {
        return GroupState::Known;
    }
    match files.iter().all(is_flaky) {
        true => GroupState::Flaky,
        false => GroupState::New,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::engine::Identity;
    use crate::model::Signature;
    use crate::reproducer::Reproduced;
    use crate::triage::Rechecks;

    const SERVER: &str = "mariadb 11.8.6";

    fn file(hits: u32) -> CaseHead {
        let signature = Signature::parse("isolation lost-update [SERIALIZABLE] update");
        let signature = signature.expect("a signature");
        CaseHead {
            path: PathBuf::from("out/mariadb/lost-update.sql"),
            server: Identity {
                engine: "mariadb".to_owned(),
                version_text: "11.8.6".to_owned(),
                version: "11.8.6".parse().expect("a version"),
                variables: BTreeMap::new(),
                session_setup: Vec::new(),
                isolation_setup: BTreeMap::new(),
            },
            id: signature.id(),
            anomaly: signature.anomaly.to_string(),
            levels: "SERIALIZABLE".to_owned(),
            signature: Some(signature),
            headline: "a lost update".to_owned(),
            statements: 6,
            reproduced: Some(Reproduced { hits, runs: 3 }),
            seed: None,
            known: None,
        }
    }

    fn seen(server: &str, last_unix_s: u64) -> SeenInRun {
        SeenInRun {
            run: "feedface".to_owned(),
            server: server.to_owned(),
            seed: 1,
            sightings: Sightings {
                first_unix_s: 10,
                last_unix_s,
                count: 2,
                ..Sightings::default()
            },
        }
    }

    fn recheck(unix_s: u64, result: RecheckResult) -> Recheck {
        Recheck {
            signature: file(3).id,
            server: SERVER.to_owned(),
            unix_s,
            result,
            hits: 0,
            runs: 10,
            was_gone: false,
        }
    }

    /// A registry that explains the group, as fixed in a release where one is given.
    fn registry(fixed_in: &str) -> Registry {
        let text = format!(
            "format = 3\n[[known]]\nid = \"K\"\nstatus = \"open\"\nengines = [\"mariadb *\"]\n\
             fixed_in = [{fixed_in}]\nmatch.signature = {:?}\n",
            file(3).id
        );
        Registry::read(&text, "known.toml").expect("it reads")
    }

    fn state_of(
        files: Vec<CaseHead>,
        seen: Vec<SeenInRun>,
        rechecks: Vec<Recheck>,
        registry: &Registry,
    ) -> GroupState {
        Group::new(file(3).id, files, seen, rechecks, registry).state
    }

    #[test]
    fn a_group_is_new_flaky_known_or_back_by_its_files_and_the_registry() {
        let none = Registry::empty();
        let of = |files, registry| state_of(files, Vec::new(), Vec::new(), registry);
        let (known, fixed) = (registry(""), registry("\"mariadb 11.8.2\""));
        assert_eq!(of(vec![file(3)], &none), GroupState::New);
        assert_eq!(of(vec![file(1)], &none), GroupState::Flaky);
        assert_eq!(of(vec![file(1), file(3)], &none), GroupState::New);
        assert_eq!(of(vec![file(1)], &known), GroupState::Known);
        assert_eq!(of(vec![file(3)], &fixed), GroupState::Regression);
        // A person wrote it into the header of one file, and the other one says nothing.
        let by_hand = CaseHead {
            known: Some("MDEV-1".to_owned()),
            signature: None,
            ..file(3)
        };
        assert_eq!(of(vec![by_hand.clone()], &none), GroupState::Known);
        assert_eq!(of(vec![by_hand, file(3)], &none), GroupState::New);
    }

    #[test]
    fn what_a_recheck_does_not_see_is_fixed_until_that_server_shows_it_again() {
        let none = Registry::empty();
        let of = |seen, rechecks| state_of(vec![file(3)], seen, rechecks, &none);
        let gone = || vec![recheck(100, RecheckResult::Gone)];
        assert_eq!(of(vec![seen(SERVER, 50)], gone()), GroupState::Fixed);
        // An older server still has it.
        assert_eq!(
            of(vec![seen("mariadb 10.11.18", 200)], gone()),
            GroupState::Fixed
        );
        assert_eq!(of(vec![seen(SERVER, 200)], gone()), GroupState::Regression);
        let there = vec![recheck(100, RecheckResult::There)];
        assert_eq!(of(Vec::new(), there), GroupState::New);
    }

    #[test]
    fn a_recheck_that_sees_what_an_earlier_one_did_not_is_a_regression_and_an_undecided_one_says_nothing()
     {
        let mut rechecks = Rechecks::default();
        let state = |rechecks: &Rechecks| {
            let none = Registry::empty();
            state_of(vec![file(3)], Vec::new(), rechecks.all.clone(), &none)
        };
        rechecks.note(recheck(1, RecheckResult::There));
        assert_eq!(state(&rechecks), GroupState::New);
        rechecks.note(recheck(2, RecheckResult::Gone));
        assert_eq!(state(&rechecks), GroupState::Fixed);
        rechecks.note(recheck(3, RecheckResult::Undecided));
        assert_eq!(state(&rechecks), GroupState::Fixed);
        rechecks.note(recheck(4, RecheckResult::There));
        assert_eq!(state(&rechecks), GroupState::Regression);
        // It was mended again.
        rechecks.note(recheck(5, RecheckResult::Gone));
        assert_eq!(state(&rechecks), GroupState::Fixed);
    }

    #[test]
    fn rechecks_are_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut rechecks = Rechecks::default();
        assert_eq!(Rechecks::read(folder.path()).expect("none"), rechecks);
        rechecks.note(recheck(1, RecheckResult::There));
        rechecks.write(folder.path()).expect("it is written");
        assert_eq!(Rechecks::read(folder.path()).expect("it reads"), rechecks);
        std::fs::write(folder.path().join("rechecks.json"), "{").expect("it is writable");
        let error = Rechecks::read(folder.path()).expect_err("it is torn");
        assert!(
            error.to_string().contains("is no record of rechecks"),
            "{error}"
        );
    }
}
