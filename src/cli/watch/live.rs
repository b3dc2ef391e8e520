//! A live engine as a source: a workload runs beside, and what it records comes through a pipe.

use std::io::PipeReader;
use std::path::Path;
use std::thread::JoinHandle;

use crate::campaign::StopFlag;
use crate::cli::exit::Failure;
use crate::cli::server::random_u64;
use crate::cli::workload::{Load, failure};
use crate::engine::Target;
use crate::model::ConsistencyModel;
use crate::workload::{self, HistoryFile, WORKLOADS, Workload, WorkloadSettings};

/// The kinds whose events are reads and writes of whole values, by transactions that have a start.
pub(super) fn kind(text: &str) -> Result<&'static dyn Workload, String> {
    let known = || {
        let watched = |kind: &&&dyn Workload| !kind.stores_lists() && !kind.is_one_statement();
        WORKLOADS.iter().filter(watched)
    };
    known()
        .find(|kind| kind.name() == text)
        .copied()
        .ok_or_else(|| {
            let names: Vec<&str> = known().map(|kind| kind.name()).collect();
            format!("one of {}", names.join(", "))
        })
}

/// Whether a name is the URL of a server, and neither a file nor another source.
pub(super) fn is_target(name: &str) -> bool {
    let scheme = name.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_url = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_url && scheme != "tcp" && !Path::new(name).exists()
}

/// The name of a source as it is printed: the URL of a server without its password.
pub(super) fn shown(source: &str) -> Result<String, Failure> {
    match is_target(source) {
        true => Ok(source.parse::<Target>()?.to_string()),
        false => Ok(source.to_owned()),
    }
}

/// A workload that runs.
pub(super) struct LiveWorkload {
    thread: JoinHandle<Result<(), Failure>>,
    pub(super) settings: WorkloadSettings,
    /// Product and version.
    pub(super) server: String,
    /// The model that the level promises there.
    pub(super) promised: Option<ConsistencyModel>,
}

impl LiveWorkload {
    /// Waits for the end of the run, which has dropped its database then.
    pub(super) fn join(self) -> Result<(), Failure> {
        let lost = |_| Err(Failure::environment("the workload's thread is gone"));
        self.thread.join().unwrap_or_else(lost)
    }
}

/// Starts a workload with timestamps; it ends by itself, or when it is stopped.
pub(super) fn start(
    target: &str,
    mut settings: WorkloadSettings,
    load: &Load,
    stop: &StopFlag,
) -> Result<(PipeReader, LiveWorkload), Failure> {
    settings.timestamps = true;
    let run_id = format!("watch{:08x}", random_u64()? >> 32);
    let opened = load.open_for(target, &run_id, &mut settings)?;
    // Settings that cannot run are refused before the first line is printed.
    workload::check(&*opened, &settings).map_err(|error| failure(error, "to the checker"))?;
    let promise = |level| opened.dialect().promise(level);
    let promised = settings.level.and_then(promise);
    let name = opened.identity().in_full();
    let cannot = |error: std::io::Error| Failure::environment(format!("no pipe: {error}"));
    let (reader, mut writer) = std::io::pipe().map_err(cannot)?;
    let stop = stop.clone();
    let (told, server) = (settings.clone(), name.clone());
    let run = move || {
        let mut file = HistoryFile::new(&mut writer, &settings, &name, promised).map_err(cannot)?;
        let database = format!("rashomon_{run_id}");
        let ended = workload::run(&*opened, &database, &settings, &mut file, &|| stop.is_set());
        let written = file.finish();
        ended.map_err(|error| failure(error, "to the checker"))?;
        written.map_err(cannot)
    };
    let thread = std::thread::Builder::new().name("workload".to_owned());
    let live = LiveWorkload {
        thread: thread.spawn(run).map_err(cannot)?,
        settings: told,
        server,
        promised,
    };
    Ok((reader, live))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_told_without_its_password() {
        let told = |source| shown(source).expect("a source");
        let url = "mariadb://root:s3cret@127.0.0.1:3306?socket=/run/s.sock";
        let without = "mariadb://root@127.0.0.1:3306?socket=/run/s.sock";
        assert_eq!(told(url), without);
        assert_eq!(["-", "run.hist"].map(told), ["-", "run.hist"]);
    }
}
