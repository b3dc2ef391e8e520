//! Dropping what dead runs left, and nothing else.

use super::error::EngineError;
use super::opening::OpenOptions;
use super::registry::engine_of;
use super::server::Server;
use super::sqlite::temporary_folders;
use super::target::Target;

/// What became of one database with a name of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// Its name; for temporary folders its path.
    pub database: String,
    /// None when it was dropped; otherwise why it stays.
    pub kept: Option<String>,
}

/// Drops what dead runs left on the server that a target names. Where every run makes a temporary
/// folder (`sqlite:` without a path), all such folders are looked at, and what is empty then goes.
///
/// # Errors
/// When the server does not answer, or refuses a drop. What is wrong with a folder keeps that one.
pub fn clean_target(target: &str, options: &OpenOptions) -> Result<Vec<Cleaned>, EngineError> {
    let target: Target = target.parse()?;
    let engine = engine_of(&target)?;
    if !target.is_temporary() {
        return clean(&*engine.open(&target, options)?);
    }
    let mut all = Vec::new();
    for folder in temporary_folders() {
        let opened = engine.open(&target.in_folder(&folder), options);
        let cleaned = match opened.and_then(|server| clean(&*server)) {
            Ok(cleaned) => cleaned,
            // Mostly a folder of another user.
            Err(error) => {
                all.push(Cleaned {
                    database: folder.display().to_string(),
                    kept: Some(error.to_string()),
                });
                continue;
            }
        };
        // A folder where nothing was dropped may be that of a run that has just begun.
        if cleaned.iter().any(|database| database.kept.is_none())
            && let Err(error) = std::fs::remove_dir(&folder)
        {
            tracing::debug!("{} stays: {error}", folder.display());
        }
        all.extend(cleaned.into_iter().map(|cleaned| Cleaned {
            database: folder.join(cleaned.database).display().to_string(),
            ..cleaned
        }));
    }
    Ok(all)
}

/// Drops every database that carries our marker and whose run is over.
///
/// # Errors
/// When the server does not answer, or refuses a drop.
pub fn clean(server: &dyn Server) -> Result<Vec<Cleaned>, EngineError> {
    let mut all = Vec::new();
    for leftover in server.leftovers()? {
        let kept = match &leftover.marker {
            None => Some("it carries no marker of ours".to_owned()),
            Some(marker) => match marker.run_is_over() {
                Some(true) => None,
                Some(false) => Some(format!("process {} still runs", marker.pid)),
                None => Some(format!(
                    "its run was on {}, where we cannot see whether it is over",
                    marker.host
                )),
            },
        };
        if kept.is_none()
            && let Err(error) = server.drop_database(&leftover.database)
        {
            // A run that cleans up at the same moment may have been first.
            let mut now = server.leftovers()?.into_iter();
            if now.any(|left| left.database == leftover.database) {
                return Err(error);
            }
        }
        all.push(Cleaned {
            database: leftover.database,
            kept,
        });
    }
    Ok(all)
}
