//! Whole runs on a server that dies, stops or cuts connections: no finding comes of it, the run
//! waits, and goes on when the server is back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rashomon::campaign::{
    self, Cases, Generator, Listener, Parts, RunEvent, RunSettings, RunSummary, ServerWorkplace,
    Statistics, StopFlag, WorkloadShare, Workplace,
};
use rashomon::engine::{EngineError, OpenOptions, Server, open};
use rashomon::execute::{Executor, Instrumentation};
use rashomon::generate::{GenerateOptions, LevelChoice};
use rashomon::grammar::Grammar;
use rashomon::model::{IsolationLevel, TestCase};
use rashomon::observe::Learner;
use rashomon::oracle::{Oracle, SerialOracle, TxCheck};
use rashomon::reproducer::Registry;
use rustix::process::Signal;

use crate::engine_faults::OwnServer;
use crate::execute::case;
use crate::faults::rounds;
use crate::servers::{Needs, url};

/// The statement deadline in these tests.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long the run may take until it judges cases again.
const PATIENCE: Duration = Duration::from_secs(60);

const ORACLES: [&dyn Oracle; 2] = [
    &TxCheck {
        learner: Learner::Observer,
    },
    &SerialOracle,
];

/// Tells the one who strikes how far the run is.
#[derive(Default)]
struct Progress {
    cases: AtomicU64,
    losses: AtomicU64,
}

struct Told<'a>(&'a Progress);

impl Listener for Told<'_> {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::ServerLost { .. } => {
                self.0.losses.fetch_add(1, Ordering::SeqCst);
            }
            RunEvent::Finding(found) | RunEvent::Flaky(found) => {
                panic!("a false finding: {found:#?}")
            }
            RunEvent::Smaller(_)
            | RunEvent::ServerBack { .. }
            | RunEvent::Stopping(_)
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::CanaryUnheard { .. }
            | RunEvent::Trouble(_) => {}
        }
    }

    fn tick(&mut self, statistics: &Statistics, _: usize, _: Duration) {
        self.0
            .cases
            .store(statistics.verdicts.total(), Ordering::SeqCst);
    }
}

fn settings(out: &Path, target: &str) -> RunSettings {
    let settings = RunSettings {
        run_id: "faults".to_owned(),
        target: target.parse().expect("a target"),
        seed: 7,
        cases: Cases::Count(None),
        levels: LevelChoice::AnyOne,
        claim: None,
        oracles: ORACLES.map(|oracle| oracle.name().to_owned()).to_vec(),
        learner: Some(Learner::Observer),
        grammar: None,
        dialect: None,
        known: None,
        doublecheck: false,
        against: None,
        workers: 2,
        time: None,
        confirmations: 3,
        patience: PATIENCE,
        restart_command: None,
        claim_durable: false,
        out: out.to_owned(),
    };
    std::fs::create_dir_all(settings.folder()).expect("the folder is made");
    settings
}

/// Runs cases on a server of its own while it is struck again and again.
fn run_while(instance: &'static str, strike: impl Fn(&OwnServer, &dyn Server, &Progress) + Sync) {
    // The URL is not used: it tells that tests with servers are wanted on this machine.
    if url(instance, Needs::MariaDb).is_none() {
        return;
    }
    let own = OwnServer { instance };
    let target = own.script("up");
    let open_options = OpenOptions {
        deadline: DEADLINE,
        run_id: "faults".to_owned(),
        ..OpenOptions::default()
    };
    let server = open(&target, &open_options).expect("a server");
    let identity = server.identity().clone();
    let parts = Parts {
        workplace: Arc::new(ServerWorkplace::new(
            &target,
            open_options,
            identity.clone(),
        )),
        cases: Arc::new(Generator {
            seed: 7,
            options: GenerateOptions::default(),
            grammar: Grammar::builtin("mariadb").expect("it parses"),
            dialect: server.dialect().clone(),
            workloads: WorkloadShare::None,
        }),
        oracles: ORACLES.to_vec(),
        registry: Registry::builtin().expect("the registry reads"),
        identity,
        counterpart: None,
        canary: None,
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (progress, stop) = (Progress::default(), StopFlag::default());
    let summary = std::thread::scope(|scope| {
        let struck = scope.spawn(|| {
            // Whatever happens here, the run must end.
            let _stop = StopAtEnd(&stop);
            for round in 0..rounds() {
                until_it_goes_on(&progress);
                std::thread::sleep(Duration::from_millis(u64::from(round * 7 % 60)));
                strike(&own, &*server, &progress);
            }
            until_it_goes_on(&progress);
        });
        let told = &mut Told(&progress);
        let summary = campaign::run(parts, settings(folder.path(), &target), None, &stop, told);
        struck.join().expect("the run went on after every fault");
        summary.expect("the run starts")
    });
    judge(&summary, &progress, instance);
}

struct StopAtEnd<'a>(&'a StopFlag);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.time_over();
    }
}

/// Waits until some more cases are judged.
fn until_it_goes_on(progress: &Progress) {
    let (began, before) = (Instant::now(), progress.cases.load(Ordering::SeqCst));
    while progress.cases.load(Ordering::SeqCst) < before + 4 {
        assert!(began.elapsed() < PATIENCE, "the run does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn judge(summary: &RunSummary, progress: &Progress, instance: &str) {
    let losses = progress.losses.load(Ordering::SeqCst);
    let verdicts = summary.statistics.verdicts;
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!(
            "{} faults{instance}: {losses} losses, {verdicts:?}\n",
            rounds()
        ),
    );
    assert_eq!(summary.failure, None);
    assert_eq!((verdicts.violation, verdicts.flaky), (0, 0));
    assert!(summary.findings.is_empty(), "{:#?}", summary.findings);
    assert!(losses >= u64::from(rounds()), "{losses} losses were seen");
}

#[test]
fn a_run_outlives_a_server_that_is_killed() {
    run_while("-run-kill", |own, _, _| {
        own.signal(Signal::KILL);
        own.script("up");
    });
}

#[test]
fn a_run_outlives_a_server_that_stands_still() {
    run_while("-run-stop", |own, _, progress| {
        let (began, before) = (Instant::now(), progress.losses.load(Ordering::SeqCst));
        own.signal(Signal::STOP);
        while progress.losses.load(Ordering::SeqCst) == before {
            assert!(began.elapsed() < PATIENCE, "the loss is not noticed");
            std::thread::sleep(Duration::from_millis(20));
        }
        own.signal(Signal::CONT);
    });
}

#[test]
fn a_run_outlives_cut_connections() {
    run_while("-run-cut", |_, server, _| {
        let name = "rashomon_run_faults_cutter";
        server.create_database(name).expect("a database");
        let mut cutter = server.connect(name).expect("a connection");
        let list = "SELECT id FROM information_schema.processlist \
                    WHERE db LIKE 'rashomon_faults_%' AND command <> 'Daemon' ORDER BY id";
        let answer = cutter.execute(list).expect("a list");
        for row in answer.rows() {
            let id = row[0].as_integer().expect("a number");
            cutter.execute(&format!("KILL {id}")).expect("an answer");
        }
        drop(cutter);
        server.drop_database(name).expect("dropped");
    });
}

/// Sends a statement that has no end.
type SendsEndless<'a> = dyn Fn(&mut dyn Executor, &str) -> Result<(), EngineError> + 'a;

/// A server would go on with a statement that has no end, and be the slower for it for days.
#[test]
fn a_statement_without_end_is_ended_when_it_is_given_up() {
    let Some(url) = url("a_statement_without_end", Needs::MariaDb) else {
        return;
    };
    is_ended(&url, "serial", &|executor, endless| {
        let none = TestCase::new(Vec::new(), Vec::new(), Vec::new(), BTreeMap::new(), None);
        let mut serial = executor.serial(&none)?;
        serial.run(endless).map(drop)
    });
    is_ended(&url, "session", &|executor, endless| {
        let server = open(&url, &options("endless-case")).expect("a server");
        let text = format!("s1: {endless}");
        let case = case(&*server, IsolationLevel::ReadCommitted, &text);
        executor
            .execute(&case, &Instrumentation::default())
            .map(drop)
    });
}

fn options(name: &str) -> OpenOptions {
    OpenOptions {
        run_id: format!("{name}{}", std::process::id()),
        allow_shared_server: true,
        deadline: DEADLINE,
        ..OpenOptions::default()
    }
}

/// Has such a statement given up, and waits until it does not run any more.
fn is_ended(url: &str, by: &str, send: &SendsEndless<'_>) {
    let options = options(&format!("endless{by}"));
    let server = open(url, &options).expect("a server");
    let identity = server.identity().clone();
    let workplace = ServerWorkplace::new(url, options.clone(), identity);
    let endless = format!("SELECT SLEEP(3600) AS {}", options.run_id);
    let lost = workplace.work(0, &mut |executor| send(executor, &endless));
    assert!(matches!(lost, Err(EngineError::Hang { .. })), "{lost:?}");
    // What drops its databases has an answer at once, and nothing runs there any more.
    workplace
        .work(0, &mut |_| Ok(()))
        .expect("the work goes on");
    let name = format!("rashomon_{}_0", options.run_id);
    server.create_database(&name).expect("a database");
    let mut looker = server.connect(&name).expect("a connection");
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%3600) AS {}'",
        options.run_id
    );
    let began = Instant::now();
    loop {
        let answer = looker.execute(&running).expect("an answer");
        if answer.rows()[0][0].as_integer() == Some(0) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{by}: it is still running");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(looker);
    server.drop_database(&name).expect("dropped");
}

/// A statement that was given up may go on for long, or be taken back for long: nobody can drop its database then.
#[test]
fn a_database_that_is_held_is_left_for_another_one_and_dropped_later() {
    let Some(url) = url("a_database_that_is_held", Needs::MariaDb) else {
        return;
    };
    let options = OpenOptions {
        run_id: format!("held{}", std::process::id()),
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    let server = open(&url, &options).expect("a server");
    let identity = server.identity().clone();
    let workplace = ServerWorkplace::new(&url, options.clone(), identity);
    let lost = workplace.work(0, &mut |_| {
        Err(EngineError::Hang {
            sql: "UPDATE t SET a = a + 1".to_owned(),
            seconds: 2,
        })
    });
    assert!(matches!(lost, Err(EngineError::Hang { .. })), "{lost:?}");
    let first = format!("rashomon_{}_0", options.run_id);
    let mut holder = server.connect(&first).expect("it was left behind");
    for sql in ["BEGIN", "SELECT * FROM rashomon_marker"] {
        holder.execute(sql).expect("an answer");
    }
    let ours = || -> Vec<String> {
        let left = server.leftovers().expect("a list").into_iter();
        let names = left.map(|leftover| leftover.database);
        names.filter(|name| name.starts_with(&first)).collect()
    };
    let mut seen = Vec::new();
    let work = workplace.work(0, &mut |_| {
        seen = ours();
        Ok(())
    });
    work.expect("the work goes on");
    let another = format!("{first}_1");
    assert!(seen.contains(&another) && seen.contains(&first), "{seen:?}");
    holder.execute("COMMIT").expect("an answer");
    workplace
        .work(0, &mut |_| Ok(()))
        .expect("it goes on again");
    assert_eq!(ours(), Vec::<String>::new());
}
