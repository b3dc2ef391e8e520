//! The real thing: workplaces on a server, cases from the generator.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::parts::{CaseSource, Drawn, Workplace};
use crate::dialect::Dialect;
use crate::engine::{self, EngineError, Identity, OpenOptions, Server};
use crate::execute::{Driver, Executor, RestartCommand};
use crate::generate::{self, EPOCH, GenerateOptions};
use crate::grammar::Grammar;
use crate::model::Pace;
use crate::oracle::Oracle;
use crate::workload::{self, CaseLevels};

/// Workplaces on one server: a driver with databases of its own for each worker.
pub struct ServerWorkplace {
    target: String,
    options: OpenOptions,
    /// The server must be this one, whenever it is opened again.
    identity: Identity,
    restart: Option<RestartCommand>,
    /// How many names for its databases each worker has given up: a statement that never ended goes on in them.
    given_up: Mutex<BTreeMap<usize, u32>>,
}

impl ServerWorkplace {
    /// Workplaces on the server of this target, which was identified before.
    pub fn new(target: &str, options: OpenOptions, identity: Identity) -> Self {
        Self {
            target: target.to_owned(),
            options,
            identity,
            restart: None,
            given_up: Mutex::default(),
        }
    }

    /// The same, and cases may have the server killed and started again by this command.
    #[must_use]
    pub fn restarted_by(mut self, restart: Option<RestartCommand>) -> Self {
        self.restart = restart;
        self
    }

    /// The name of a worker's databases after it has given up so many.
    fn database(&self, worker: usize, given_up: u32) -> String {
        let first = format!("rashomon_{}_{worker}", self.options.run_id);
        match given_up {
            0 => first,
            count => format!("{first}_{count}"),
        }
    }

    /// A driver under the first name of the worker that is free or can be made free.
    fn open_driver<'s>(
        &self,
        server: &'s dyn Server,
        worker: usize,
    ) -> Result<Driver<'s>, EngineError> {
        loop {
            let given_up = self.given_up(worker);
            match Driver::open(server, &self.database(worker, given_up)) {
                Err(error @ EngineError::Held { .. }) => {
                    tracing::warn!("{error}; the run goes on in another one");
                    self.all_given_up().insert(worker, given_up + 1);
                }
                opened => return opened,
            }
        }
    }

    fn given_up(&self, worker: usize) -> u32 {
        self.all_given_up().get(&worker).copied().unwrap_or(0)
    }

    fn all_given_up(&self) -> MutexGuard<'_, BTreeMap<usize, u32>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the worker's driver and drops what it has given up, where nothing goes on in it any more.
    fn close(&self, driver: Driver<'_>, server: &dyn Server, worker: usize) {
        let given_up = self.given_up(worker);
        let warn = |count, dropped: Result<(), EngineError>| {
            if let Err(error) = dropped {
                let database = self.database(worker, count);
                tracing::warn!("cannot drop {database}: {error}; `rashomon clean` will");
            }
        };
        warn(given_up, driver.close());
        for count in 0..given_up {
            let dropped = Driver::drop_databases(server, &self.database(worker, count));
            warn(count, dropped);
        }
    }
}

impl Workplace for ServerWorkplace {
    fn work(
        &self,
        worker: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let server = engine::open(&self.target, &self.options)?;
        check_same(&self.identity, server.identity())?;
        let mut driver = self.open_driver(&*server, worker)?;
        driver.sample_engine_checks();
        if let Some(command) = &self.restart {
            driver.restart_by(command.clone());
        }
        // After an error nothing is cleaned up: the server may be gone, and the next workplace of
        // this worker drops what is left under its name. A server that is there would go on with a statement without
        // end, though nobody waits for it.
        if let Err(error) = job(&mut driver) {
            if matches!(error, EngineError::Hang { .. }) {
                driver.abandon();
            }
            return Err(error);
        }
        self.close(driver, &*server, worker);
        Ok(())
    }
}

/// Another server behind the same address would make nonsense of everything judged so far.
///
/// # Errors
/// What has changed, where this is another one.
pub fn check_same(before: &Identity, now: &Identity) -> Result<(), EngineError> {
    if before == now {
        return Ok(());
    }
    let mut changes = Vec::new();
    if (&before.engine, &before.version_text) != (&now.engine, &now.version_text) {
        changes.push(format!(
            "it was {} {} and is {} {}",
            before.engine, before.version_text, now.engine, now.version_text
        ));
    }
    for (name, value) in &now.variables {
        let old = before.variables.get(name).map_or("unset", String::as_str);
        if old != value {
            changes.push(format!("{name} was {old} and is {value}"));
        }
    }
    Err(EngineError::Unsafe(format!(
        "the server is another one than at the start of the run: {}",
        changes.join("; ")
    )))
}

/// Which cases of a run are workloads, for oracles that need the free pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadShare {
    None,
    /// Every fourth block of [`EPOCH`] cases, beside oracles that judge generated statements.
    Fourth,
    All,
    /// Every case is for an oracle that has the server killed, which judges alone.
    Recovery,
}

impl WorkloadShare {
    /// For a run with these oracles at the levels of these options. Beside other oracles no workload is drawn that nothing
    /// judges.
    pub fn of(oracles: &[&dyn Oracle], options: &GenerateOptions, dialect: &Dialect) -> Self {
        if oracles.iter().any(|oracle| oracle.needs().crash) && oracles.len() == 1 {
            return Self::Recovery;
        }
        let judges_cases = |oracle: &&&dyn Oracle| !oracle.needs().crash;
        let free = |oracle: &&&dyn Oracle| oracle.needs().pace == Pace::Free;
        let judges = oracles.iter().filter(judges_cases);
        match judges.clone().filter(free).count() {
            0 => Self::None,
            count if count == judges.count() => Self::All,
            _ if levels(options).are_judged(dialect) => Self::Fourth,
            _ => Self::None,
        }
    }

    fn has(self, index: u64) -> bool {
        match self {
            Self::None => false,
            Self::Fourth => index / EPOCH % 4 == 3,
            Self::All | Self::Recovery => true,
        }
    }
}

fn levels(options: &GenerateOptions) -> CaseLevels {
    CaseLevels {
        levels: options.levels,
        claim: options.claim,
    }
}

/// Cases of a run, drawn by the generator.
pub struct Generator {
    pub seed: u64,
    pub options: GenerateOptions,
    pub grammar: Grammar,
    pub dialect: Dialect,
    pub workloads: WorkloadShare,
}

impl CaseSource for Generator {
    fn case(&self, index: u64) -> Drawn {
        if self.workloads.has(index) {
            let levels = levels(&self.options);
            let draw = match self.workloads {
                WorkloadShare::Recovery => workload::recovery_case,
                WorkloadShare::None | WorkloadShare::Fourth | WorkloadShare::All => workload::case,
            };
            return draw(self.seed, index, levels, &self.dialect).into();
        }
        let generated = generate::generate(
            self.seed,
            index,
            &self.options,
            &self.grammar,
            &self.dialect,
        );
        Drawn {
            case: generated.case,
            productions: generated.productions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::generate::LevelChoice;
    use crate::model::IsolationLevel;
    use crate::oracle::ORACLES;

    #[test]
    fn no_workload_is_drawn_at_a_level_that_promises_nothing() {
        let dialect = dialect_of("mariadb", "10.11");
        let share = |levels, claim| {
            let options = GenerateOptions {
                levels,
                claim,
                ..GenerateOptions::default()
            };
            WorkloadShare::of(ORACLES, &options, &dialect)
        };
        let uncommitted = LevelChoice::One(IsolationLevel::ReadUncommitted);
        assert_eq!(share(uncommitted, None), WorkloadShare::None);
        let serializable = Some(IsolationLevel::Serializable);
        assert_eq!(share(uncommitted, serializable), WorkloadShare::Fourth);
        assert_eq!(share(LevelChoice::AnyOne, None), WorkloadShare::Fourth);
    }

    #[test]
    fn another_server_is_refused_and_the_change_is_named() {
        let before = Identity {
            engine: "mariadb".to_owned(),
            version_text: "10.11.18".to_owned(),
            version: "10.11.18".parse().unwrap_or_default(),
            variables: [("log_bin".to_owned(), "OFF".to_owned())].into(),
            session_setup: Vec::new(),
            isolation_setup: std::collections::BTreeMap::new(),
        };
        assert!(check_same(&before, &before).is_ok());
        let mut now = before.clone();
        now.variables.insert("log_bin".to_owned(), "ON".to_owned());
        let error = check_same(&before, &now)
            .expect_err("it changed")
            .to_string();
        assert!(error.contains("log_bin was OFF and is ON"), "{error}");
    }
}
