//! The databases of a server, in memory: they end with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::planted::Faults;
use super::session::Database;
use crate::engine::error::EngineError;
use crate::engine::guard::Databases;
use crate::engine::marker::Marker;

/// A database and the marker in it.
struct Marked {
    marker: Marker,
    database: Arc<Database>,
}

/// The databases by name.
#[derive(Clone)]
pub(super) struct DatabaseStore {
    databases: Arc<Mutex<BTreeMap<String, Marked>>>,
    /// Of the databases that are made.
    faults: Faults,
}

impl DatabaseStore {
    pub(super) fn with_faults(faults: Faults) -> Self {
        Self {
            databases: Arc::default(),
            faults,
        }
    }

    /// Every change is one call, so that a panic elsewhere leaves the map whole.
    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Marked>> {
        self.databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<Database>> {
        let map = self.map();
        map.get(name).map(|marked| Arc::clone(&marked.database))
    }

    pub(super) fn all(&self) -> Vec<Arc<Database>> {
        let map = self.map();
        let all = map.values().map(|marked| Arc::clone(&marked.database));
        all.collect()
    }
}

impl Databases for &DatabaseStore {
    fn names(&mut self) -> Result<Vec<String>, EngineError> {
        Ok(self.map().keys().cloned().collect())
    }

    /// Whatever is here was made by this server.
    fn foreign(&mut self) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError> {
        Ok(self.map().get(name).map(|marked| marked.marker.clone()))
    }

    fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
        let marked = Marked {
            marker: marker.clone(),
            database: Arc::new(Database::with_faults(self.faults.clone())),
        };
        self.map().insert(name.to_owned(), marked);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), EngineError> {
        self.map().remove(name);
        Ok(())
    }

    fn safety_text(&self) -> String {
        "the databases are in this process, and end with it".to_owned()
    }
}
