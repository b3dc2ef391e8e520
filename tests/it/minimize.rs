//! Findings of live engines come down to what a person can read.

use std::time::Duration;

use rashomon::campaign::{self, StopFlag};
use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::Driver;
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::minimize::MinimizeBudget;
use rashomon::model::{IsolationLevel, SetupKind, TestCase};
use rashomon::oracle::{Oracle, SerialOracle, hear};
use rashomon::reproducer::{CaseFile, Registry};
use rashomon::statement::ValueRows;
use rashomon::{replay, reproducer};

use crate::servers::{self, Needs};

/// Cases within which a claim that does not hold must show.
const CASES_MAX: u64 = 300;

/// A loaded machine takes longer than a finding may cost in a run.
pub(crate) const PATIENT: MinimizeBudget = MinimizeBudget {
    candidates: 800,
    time: Duration::from_secs(1_200),
};

/// How often a case must show its violation to be minimized here: tests/it/flaky.rs has the others.
const CONFIRMATIONS: usize = 20;

/// The first case of a seed that serial finds the same violation in, in every run. A case whose
/// violation changes with the victim of a deadlock has another signature from run to run.
fn first_violation(
    server: &dyn Server,
    driver: &mut Driver<'_>,
    level: IsolationLevel,
) -> Option<TestCase> {
    let grammar = Grammar::builtin(&server.dialect().engine).expect("a grammar");
    let options = GenerateOptions {
        levels: LevelChoice::One(level),
        claim: Some(IsolationLevel::Serializable),
        ..GenerateOptions::default()
    };
    (0..CASES_MAX).find_map(|index| {
        let case = generate(1, index, &options, &grammar, server.dialect()).case;
        let mut shown = || {
            let hearing = hear(&case, driver, &[&SerialOracle]).expect("an answer");
            let finding = hearing.violation(|_| true)?.finding()?;
            Some(finding.signature.clone())
        };
        let first = shown()?;
        let same = (1..CONFIRMATIONS).all(|_| shown().as_ref() == Some(&first));
        same.then_some(case)
    })
}

fn a_false_claim_comes_down_to_a_few_lines(server: &dyn Server, level: IsolationLevel) {
    let database = format!(
        "rashomon_it_minimize_{}_{}",
        level.slug(),
        std::process::id()
    );
    let database = database.replace('-', "_");
    let mut driver = Driver::open(server, &database).expect("a database of our own");
    let case = first_violation(server, &mut driver, level).expect("a violation");
    let oracles: &[&dyn Oracle] = &[&SerialOracle];
    let sighting = campaign::minimize_case(
        &case,
        &mut driver,
        oracles,
        3,
        PATIENT,
        &StopFlag::default(),
    )
    .expect("an answer")
    .expect("the violation again");

    let small = &sighting.case;
    let edges = |case: &TestCase| {
        let edge = |s: &&_| is_edge(s);
        case.statements.iter().filter(edge).count()
    };
    let transactions = small
        .statements
        .iter()
        .map(|s| s.id.transaction)
        .collect::<std::collections::BTreeSet<_>>();
    let rows: usize = small
        .setup
        .iter()
        .filter(|setup| setup.kind == SetupKind::Rows)
        .map(|setup| ValueRows::of(&setup.sql, server.dialect()).map_or(0, |rows| rows.len()))
        .sum();
    let text = reproducer::write(&CaseFile::of_case(small));
    assert!(transactions.len() <= 2, "{text}");
    assert!(small.statements.len() - edges(small) <= 6, "{text}");
    assert!(rows <= 3, "{text}");

    let file = reproducer::read(&text, "minimized.sql").expect("it reads");
    let registry = Registry::builtin().expect("the registry reads");
    let options = replay::ReplayOptions {
        oracles,
        registry: &registry,
        times: 10,
        stop_at_first_hit: false,
    };
    let report = replay::replay(
        &file,
        "minimized.sql",
        &mut driver,
        server.identity(),
        &options,
    )
    .expect("an answer");
    assert_eq!((report.hits, report.runs), (10, 10), "{text}");
    driver.close().expect("the database goes");
}

fn is_edge(statement: &rashomon::model::CaseStatement) -> bool {
    statement.effect.kind.is_begin() || statement.effect.kind.is_end()
}

fn server(test: &str, needs: Needs) -> Option<Box<dyn Server>> {
    let url = servers::url(test, needs)?;
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    Some(engine::open(&url, &options).expect("the test server answers"))
}

#[test]
fn false_claims_on_mariadb_minimize_to_two_transactions_and_replay_ten_of_ten() {
    let test = "false_claims_on_mariadb_minimize_to_two_transactions_and_replay_ten_of_ten";
    let Some(server) = server(test, Needs::MariaDb) else {
        return;
    };
    a_false_claim_comes_down_to_a_few_lines(&*server, IsolationLevel::ReadCommitted);
    a_false_claim_comes_down_to_a_few_lines(&*server, IsolationLevel::RepeatableRead);
}

#[test]
fn false_claims_on_mysql_minimize_to_two_transactions_and_replay_ten_of_ten() {
    let test = "false_claims_on_mysql_minimize_to_two_transactions_and_replay_ten_of_ten";
    let Some(server) = server(test, Needs::MySql) else {
        return;
    };
    a_false_claim_comes_down_to_a_few_lines(&*server, IsolationLevel::ReadCommitted);
}
