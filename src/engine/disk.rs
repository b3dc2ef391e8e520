//! Free space, where the server's data lies on this machine.

use std::path::Path;

use super::access::Access;
use super::diagnosis::{DiagnosisLine, Topic};

/// Below this a run is not begun, in bytes: logs of the server grow by hundreds of megabytes.
const FREE_BYTES_MIN: u64 = 512 << 20;

/// The free space of a folder of this machine.
pub(super) fn line_of_folder(folder: &Path) -> DiagnosisLine {
    match rustix::fs::statvfs(folder) {
        Ok(found) => line_of_bytes(folder, found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => DiagnosisLine::unknown(
            Topic::Disk,
            format!(
                "the free space of {} is not known: {error}",
                folder.display()
            ),
        ),
    }
}

/// The free space where a server keeps its data: known when it runs on this machine and its folder
/// can be seen from here. A container has folders of its own.
pub(super) fn line_of_server(access: &Access, folder: Option<&str>) -> DiagnosisLine {
    let is_here = access.target.parameter("socket").is_some()
        || matches!(access.target.host(), "localhost" | "127.0.0.1" | "::1");
    match folder
        .map(Path::new)
        .filter(|folder| is_here && folder.is_dir())
    {
        Some(folder) => line_of_folder(folder),
        None => DiagnosisLine::unknown(
            Topic::Disk,
            "the free space of the server's machine is not known here",
        ),
    }
}

fn line_of_bytes(folder: &Path, free: u64) -> DiagnosisLine {
    let text = format!("{} MiB are free in {}", free >> 20, folder.display());
    if free >= FREE_BYTES_MIN {
        return DiagnosisLine::good(Topic::Disk, text);
    }
    let remedy = format!(
        "free {} MiB there",
        (FREE_BYTES_MIN - free).div_ceil(1 << 20)
    );
    DiagnosisLine::bad(Topic::Disk, text, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::diagnosis::Health;

    #[test]
    fn a_folder_with_little_space_is_bad_and_says_how_much_is_missing() {
        let folder = Path::new("/data");
        assert_eq!(line_of_bytes(folder, 512 << 20).health, Health::Good);
        let low = line_of_bytes(folder, (500 << 20) + 1);
        assert_eq!(low.health, Health::Bad);
        assert_eq!(low.remedy.as_deref(), Some("free 12 MiB there"));
    }

    #[test]
    fn the_space_of_a_folder_that_is_not_there_is_not_known() {
        let line = line_of_folder(Path::new("/no such folder"));
        assert_eq!(line.health, Health::Unknown);
    }
}
