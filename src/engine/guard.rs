//! The wrong-database guard: what is made and dropped, and which servers are refused.
//!
//! The rules stand here, once: a database is touched only if its name is one of ours and our marker is
//! in it. How an engine lists, makes and removes databases is its own ([`Databases`]).

use super::diagnosis::{DiagnosisLine, Topic};
use super::error::EngineError;
use super::marker::{Leftover, Marker, check_database_name, is_ours};

/// What the guard asks of an engine. The names passed in were checked to be ours.
pub(super) trait Databases {
    /// The databases that a connection could be made to.
    fn names(&mut self) -> Result<Vec<String>, EngineError>;

    /// Those that are neither the server's own nor ours.
    fn foreign(&mut self) -> Result<Vec<String>, EngineError>;

    /// The marker in a database. One that cannot be read is none.
    fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError>;

    /// Creates a database with this marker in it. No database of this name exists.
    fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError>;

    /// Puts the marker into a database that has none and holds nothing else. False where it holds something,
    /// and then nothing was changed; and where an engine never leaves a database half made.
    fn mark_empty(&mut self, _name: &str, _marker: &Marker) -> Result<bool, EngineError> {
        Ok(false)
    }

    /// Removes a database, whatever is in it.
    fn remove(&mut self, name: &str) -> Result<(), EngineError>;

    /// The diagnosis of a server without databases that are not ours.
    fn safety_text(&self) -> String {
        "no databases but the server's and ours".to_owned()
    }
}

/// Acts on the databases of one server for one run.
pub(super) struct Guard<D> {
    databases: D,
    run_id: String,
}

impl<D: Databases> Guard<D> {
    pub(super) fn new(databases: D, run_id: &str) -> Self {
        Self {
            databases,
            run_id: run_id.to_owned(),
        }
    }

    /// Refuses a server that holds databases that are not ours.
    pub(super) fn check_safe(mut self, allow_shared_server: bool) -> Result<(), EngineError> {
        let foreign = self.databases.foreign()?;
        if foreign.is_empty() || allow_shared_server {
            return Ok(());
        }
        Err(EngineError::Unsafe(format!(
            "the server holds databases that are not ours: {}; a test server of its own is safe, \
             --allow-shared-server goes on in spite of them",
            foreign.join(", ")
        )))
    }

    /// Makes a database with its marker. One that is there gives way if its run is over, or is this
    /// one.
    pub(super) fn create(&mut self, name: &str) -> Result<(), EngineError> {
        check_database_name(name)?;
        let marker = Marker::of_this_process(&self.run_id);
        if self.has(name)? {
            match self.databases.marker(name)? {
                Some(marker) if marker.gives_way_to(&self.run_id) => {
                    let removed = self.databases.remove(name);
                    removed.map_err(|error| held(name, error))?;
                }
                // The server went down while this run made it.
                None if self.is_of_this_run(name)
                    && self.databases.mark_empty(name, &marker)? =>
                {
                    return Ok(());
                }
                _ => {
                    return Err(EngineError::Unsafe(format!(
                        "the database {name} exists and is not ours to replace"
                    )));
                }
            }
        }
        self.databases.make(name, &marker)
    }

    /// Whether only this run gives a database such a name.
    fn is_of_this_run(&self, name: &str) -> bool {
        name.starts_with(&format!("rashomon_{}_", self.run_id))
    }

    /// Drops a database that carries our marker; one that is not there is dropped already.
    pub(super) fn drop(&mut self, name: &str) -> Result<(), EngineError> {
        check_database_name(name)?;
        if !self.has(name)? {
            return Ok(());
        }
        if self.databases.marker(name)?.is_none() {
            return Err(EngineError::Unsafe(format!(
                "the database {name} carries no marker of ours: not dropped"
            )));
        }
        self.databases.remove(name)
    }

    /// Every database with a name of ours.
    pub(super) fn leftovers(&mut self) -> Result<Vec<Leftover>, EngineError> {
        let names = self.databases.names()?;
        let mut all = Vec::new();
        for database in names.into_iter().filter(|name| is_ours(name)) {
            // Another run may drop it while its marker is read: PostgreSQL ends who is connected to it, and has whoever
            // connects then wait until it is gone.
            let read = self.databases.marker(&database);
            match read.or_else(|_| self.databases.marker(&database)) {
                Ok(marker) => all.push(Leftover { database, marker }),
                Err(error) => {
                    if self.has(&database)? {
                        return Err(error);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Whether it is safe to work here, for `doctor`.
    pub(super) fn safety(&mut self, allow_shared: bool) -> Result<DiagnosisLine, EngineError> {
        let foreign = self.databases.foreign()?;
        if foreign.is_empty() {
            let text = self.databases.safety_text();
            return Ok(DiagnosisLine::good(Topic::Safety, text));
        }
        let text = format!("databases that are not ours: {}", foreign.join(", "));
        if allow_shared {
            let text = format!("{text}; allowed by --allow-shared-server");
            return Ok(DiagnosisLine::good(Topic::Safety, text));
        }
        let remedy = "a test server of its own, or --allow-shared-server";
        Ok(DiagnosisLine::bad(Topic::Safety, text, remedy))
    }

    fn has(&mut self, name: &str) -> Result<bool, EngineError> {
        Ok(self.databases.names()?.iter().any(|known| known == name))
    }
}

/// A refusal to drop a database, as what holds it.
fn held(name: &str, error: EngineError) -> EngineError {
    if !matches!(error, EngineError::Rejected { .. }) {
        return error;
    }
    EngineError::Held {
        database: name.to_owned(),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::diagnosis::Health;

    /// Databases in memory, by name, with their markers.
    #[derive(Default)]
    struct Memory(BTreeMap<String, Option<Marker>>);

    impl Databases for &mut Memory {
        fn names(&mut self) -> Result<Vec<String>, EngineError> {
            Ok(self.0.keys().cloned().collect())
        }

        fn foreign(&mut self) -> Result<Vec<String>, EngineError> {
            Ok(self
                .0
                .keys()
                .filter(|name| !is_ours(name))
                .cloned()
                .collect())
        }

        fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError> {
            Ok(self.0[name].clone())
        }

        fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
            let before = self.0.insert(name.to_owned(), Some(marker.clone()));
            assert!(before.is_none(), "{name} was there");
            Ok(())
        }

        fn mark_empty(&mut self, name: &str, marker: &Marker) -> Result<bool, EngineError> {
            if name.ends_with("_full") {
                return Ok(false);
            }
            self.0.insert(name.to_owned(), Some(marker.clone()));
            Ok(true)
        }

        fn remove(&mut self, name: &str) -> Result<(), EngineError> {
            if name.ends_with("_busy") {
                return Err(EngineError::Rejected {
                    engine: "memory",
                    sql: format!("DROP DATABASE {name}"),
                    message: "a lock timeout".to_owned(),
                });
            }
            assert!(self.0.remove(name).is_some(), "{name} was not there");
            Ok(())
        }
    }

    fn elsewhere() -> Marker {
        let mut marker = Marker::of_this_process("other");
        marker.host = "elsewhere".to_owned();
        marker
    }

    fn is_unsafe(result: Result<(), EngineError>) -> bool {
        matches!(result, Err(EngineError::Unsafe(_)))
    }

    #[test]
    fn only_what_carries_our_marker_is_dropped() {
        let mut memory = Memory::default();
        memory.0.insert("rashomon_bare".to_owned(), None);
        memory
            .0
            .insert("rashomon_other".to_owned(), Some(elsewhere()));
        let mut guard = Guard::new(&mut memory, "r1");
        assert!(is_unsafe(guard.drop("rashomon_bare")));
        assert!(guard.drop("rashomon_other").is_ok());
        assert!(guard.drop("rashomon_none").is_ok());
        assert!(is_unsafe(guard.drop("prod")));
        assert!(is_unsafe(guard.create("prod")));
        assert_eq!(memory.0.keys().collect::<Vec<_>>(), ["rashomon_bare"]);
    }

    #[test]
    fn a_database_that_cannot_be_dropped_is_told_as_held() {
        let mut memory = Memory::default();
        let mut guard = Guard::new(&mut memory, "r1");
        assert!(guard.create("rashomon_r1_busy").is_ok());
        let again = guard.create("rashomon_r1_busy");
        let is_held = matches!(&again, Err(EngineError::Held { database, .. }) if database == "rashomon_r1_busy");
        assert!(is_held, "{again:?}");
    }

    #[test]
    fn a_database_gives_way_to_its_own_run_and_to_none_that_may_be_alive() {
        let mut memory = Memory::default();
        memory.0.insert("rashomon_bare".to_owned(), None);
        memory
            .0
            .insert("rashomon_other".to_owned(), Some(elsewhere()));
        let mut guard = Guard::new(&mut memory, "r1");
        assert!(is_unsafe(guard.create("rashomon_bare")));
        assert!(is_unsafe(guard.create("rashomon_other")));
        assert!(guard.create("rashomon_r1_0").is_ok());
        assert!(guard.create("rashomon_r1_0").is_ok());
        assert_eq!(guard.leftovers().expect("a list").len(), 3);
    }

    #[test]
    fn what_a_server_left_half_made_is_taken_by_its_own_run_where_it_is_empty() {
        let mut memory = Memory::default();
        for name in ["rashomon_r1_0", "rashomon_r1_full", "rashomon_r2_0"] {
            memory.0.insert(name.to_owned(), None);
        }
        let mut guard = Guard::new(&mut memory, "r1");
        assert!(guard.create("rashomon_r1_0").is_ok());
        assert!(is_unsafe(guard.create("rashomon_r1_full")));
        assert!(is_unsafe(guard.create("rashomon_r2_0")));
        assert!(memory.0["rashomon_r1_0"].is_some());
        assert!(memory.0["rashomon_r1_full"].is_none());
    }

    #[test]
    fn a_shared_server_is_refused_unless_it_is_allowed() {
        let mut memory = Memory::default();
        assert!(Guard::new(&mut memory, "r1").check_safe(false).is_ok());
        memory.0.insert("prod".to_owned(), None);
        assert!(is_unsafe(Guard::new(&mut memory, "r1").check_safe(false)));
        assert!(Guard::new(&mut memory, "r1").check_safe(true).is_ok());
        let mut safety = |allow| Guard::new(&mut memory, "r1").safety(allow).expect("a line");
        assert_eq!(safety(true).health, Health::Good);
        let refused = safety(false);
        assert_eq!(refused.health, Health::Bad);
        assert!(refused.text.contains("prod"), "{refused:?}");
    }
}
