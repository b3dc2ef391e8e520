//! Dropping what dead runs left, and nothing else.

use super::{EngineError, Server};

/// What became of one database with a name of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    pub database: String,
    /// None when it was dropped; otherwise why it stays.
    pub kept: Option<String>,
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
