//! The registry of known behaviour before live servers: every entry explains its own case, by the
//! very signature that it names, and every registered reproducer comes to its own entry.

use std::path::Path;

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::{Driver, Executor as _};
use rashomon::model::{Signature, Verdict};
use rashomon::oracle::{ORACLES, crash, hear};
use rashomon::replay::{self, ReplayOptions};
use rashomon::reproducer::{self, CaseFile, Match, Registry};

use crate::servers::{self, Needs};

fn on_each_server(test: &str, kinds: &[Needs], check: impl Fn(&dyn Server, &mut Driver<'_>)) {
    for needs in kinds.iter().copied() {
        let Some(url) = servers::url(test, needs) else {
            continue;
        };
        let options = OpenOptions {
            allow_shared_server: true,
            ..OpenOptions::default()
        };
        let server = engine::open(&url, &options).expect("the test server answers");
        // A name for each test: they run at the same time.
        let database = format!("rashomon_it_registry_{}_{}", test.len(), std::process::id());
        let mut driver = Driver::open(&*server, &database).expect("a database of our own");
        check(&*server, &mut driver);
        driver.close().expect("the database goes");
    }
}

/// The case as a person types it: no `known`, no notes. Whose statements are prepared is a part of it.
fn typed(path: &Path) -> CaseFile {
    let mut file = reproducer::load(path).unwrap_or_else(|error| panic!("{error}"));
    file.header = reproducer::Header {
        prepared: std::mem::take(&mut file.header.prepared),
        ..reproducer::Header::new(file.header.isolation.clone())
    };
    file.lines.iter_mut().for_each(|line| line.notes.clear());
    file
}

/// The findings of one oracle about a case, of the first run of three that has any: what an engine
/// keeps of a table from the run before may decide whether a bug shows.
fn findings(file: &CaseFile, driver: &mut Driver<'_>, oracle: &str) -> Vec<Signature> {
    let case = file.test_case(server_dialect(driver)).expect("a case");
    let named = ORACLES.iter().copied().filter(|o| o.name() == oracle);
    let mut oracles: Vec<_> = named.collect();
    if oracles.is_empty() {
        // The account is judged beside whatever oracle.
        oracles.extend_from_slice(ORACLES);
    }
    let mut found = Vec::new();
    for _ in 0..3 {
        let hearing = match hear(&case, driver, &oracles) {
            Ok(hearing) => hearing,
            // What is never answered is a finding by itself.
            Err(error) => {
                let statement = driver.interrupted().and_then(|run| run.statement);
                let lost = crash::outage(&case, &error, statement, server_dialect(driver));
                let lost = lost.unwrap_or_else(|| panic!("an answer: {error}"));
                return vec![lost.signature];
            }
        };
        let findings = hearing.rulings.iter().filter_map(|heard| heard.finding());
        let of_oracle = findings.filter(|finding| finding.signature.oracle == oracle);
        found = of_oracle.map(|finding| finding.signature.clone()).collect();
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn server_dialect<'a>(driver: &'a Driver<'_>) -> &'a rashomon::dialect::Dialect {
    driver.dialect()
}

#[test]
fn every_entry_explains_its_own_case_by_the_signature_that_it_names() {
    let test = "every_entry_explains_its_own_case_by_the_signature_that_it_names";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = Registry::builtin().expect("the registry reads");
    let kinds = [
        Needs::MariaDb,
        Needs::MySql,
        Needs::Postgres,
        Needs::TiDb,
        Needs::TiDb4,
    ];
    on_each_server(test, &kinds, |server, driver| {
        for known in &registry.entries {
            let (Some(case), Some(example)) = (&known.case, &known.example) else {
                continue;
            };
            let path = root.join(case);
            let own = reproducer::load(&path).unwrap_or_else(|error| panic!("{error}"));
            // An entry may hold on several engines, and its case shows it on one.
            if own.header.engine.as_ref() != Some(&server.identity().engine) {
                continue;
            }
            let lives = |found: Match<'_>| matches!(found, Match::Known(k) if k.id == known.id);
            if !lives(registry.judge(example, server.identity())) {
                continue;
            }
            let found = findings(&typed(&path), driver, &example.oracle);
            assert_eq!(found, std::slice::from_ref(example), "{case}");
        }
    });
}

#[test]
fn every_registered_reproducer_comes_to_its_own_entry_and_to_a_violation_without_a_registry() {
    let test =
        "every_registered_reproducer_comes_to_its_own_entry_and_to_a_violation_without_a_registry";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("reproducers");
    let kinds = [Needs::MariaDb, Needs::MySql, Needs::Postgres];
    on_each_server(test, &kinds, |server, driver| {
        let folder = root.join(&server.identity().engine);
        let mut replayed = 0;
        for path in std::fs::read_dir(&folder).expect("reproducers of this engine") {
            let path = path.expect("a file").path();
            let own = reproducer::load(&path).unwrap_or_else(|error| panic!("{error}"));
            let id = own.header.known.clone().expect("it is registered");
            let mut verdict = |registry: &Registry| {
                let options = ReplayOptions {
                    oracles: ORACLES,
                    registry,
                    times: 1,
                    stop_at_first_hit: false,
                };
                let name = path.display().to_string();
                let typed = typed(&path);
                let report = replay::replay(&typed, &name, driver, server.identity(), &options);
                report.expect("an answer").verdict
            };
            let builtin = Registry::builtin().expect("the registry reads");
            if !lives_here(&builtin, &id, server) {
                continue;
            }
            assert_eq!(verdict(&builtin), Verdict::Known(id), "{path:?}");
            let bare = verdict(&Registry::empty());
            assert!(matches!(bare, Verdict::Violation(_)), "{path:?}: {bare:?}");
            let Verdict::Violation(finding) = bare else {
                continue;
            };
            assert_eq!(
                Some(finding.signature.id()),
                own.header.signature,
                "{path:?}"
            );
            replayed += 1;
        }
        let old = server.identity().engine == "mysql"
            && server.identity().version < "8.0".parse().expect("a version");
        assert!(replayed > 0 || old, "no reproducer was replayed");
    });
}

/// Whether an entry of this id holds on the server.
fn lives_here(registry: &Registry, id: &str, server: &dyn Server) -> bool {
    registry.entries.iter().any(|known| {
        let judged = known
            .example
            .as_ref()
            .map(|example| registry.judge(example, server.identity()));
        known.id == id && matches!(judged, Some(Match::Known(_)))
    })
}

/// Whether a block of SQL stands behind the identifier before the next text that names another one: `The script
/// of` it, or the paragraph that tells of it.
fn has_script(readme: &str, id: &str) -> bool {
    let named = format!("`{id}`");
    // A row of the table names it, too, and no block can follow inside of the table.
    let paragraphs: Vec<&str> = readme.split("\n\n").collect();
    paragraphs.windows(2).any(|pair| {
        let tells = !pair[0].starts_with('|') && pair[0].contains(&named);
        tells && pair[1].starts_with("```sql")
    })
}

#[test]
fn a_script_stands_behind_the_paragraph_that_names_its_identifier() {
    let readme = "| table | `unfiled:a` |\n\nThe script of `unfiled:b`:\n\n```sql\nSELECT 1;\n```\n\nAs `unfiled:c` says.";
    let with_script = |id: &str| has_script(readme, id);
    assert!(with_script("unfiled:b"));
    assert!(!with_script("unfiled:a") && !with_script("unfiled:c") && !with_script("unfiled:d"));
}

#[test]
fn every_entry_has_a_case_that_names_it_or_a_script_for_one_that_no_case_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = std::fs::read_to_string(root.join("reproducers/README.md"));
    let scripts = scripts.expect("a readable file");
    let registry = Registry::builtin().expect("the registry reads");
    for known in &registry.entries {
        let of_id = registry.entries.iter().filter(|other| other.id == known.id);
        let cases: Vec<&String> = of_id.filter_map(|other| other.case.as_ref()).collect();
        let told = has_script(&scripts, &known.id);
        assert!(!cases.is_empty() || told, "{} has no case", known.id);
        for case in cases {
            let file = reproducer::load(&root.join(case)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(file.header.known.as_ref(), Some(&known.id), "{case}");
        }
    }
}
