//! Files that an option names for output: one that is there is kept unless `--force` says otherwise.

use std::fs::File;
use std::path::Path;

use super::exit::Failure;
use crate::reproducer::whole_file;

/// `--force`, of every command that writes a file it was given.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(super) struct Overwriting {
    /// Overwrite files that are there already
    #[arg(long)]
    force: bool,
}

impl Overwriting {
    /// Refuses a file that is there. A device or a pipe holds nothing that could be lost.
    pub(super) fn check(self, path: &Path) -> Result<(), Failure> {
        match path.is_file() && !self.force {
            true => Err(taken(path)),
            false => Ok(()),
        }
    }

    /// Makes the file that a stream goes to.
    pub(super) fn create(self, path: &Path) -> Result<File, Failure> {
        self.check(path)?;
        let mut options = File::options();
        match is_new(path) && !self.force {
            true => options.write(true).create_new(true),
            false => options.write(true).create(true).truncate(true),
        };
        options.open(path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                taken(path)
            } else {
                cannot_write(path, &error)
            }
        })
    }

    /// Writes a file at once: whole or not at all.
    pub(super) fn write(self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.check(path)?;
        // A link leads on to the file that is meant; a device is written to, not replaced.
        let place = path.canonicalize();
        let place = place.as_deref().unwrap_or(path);
        let written = match place.is_file() || is_new(place) {
            true => whole_file::write(place, bytes),
            false => std::fs::write(place, bytes),
        };
        written.map_err(|error| cannot_write(path, &error))
    }
}

/// Whether nothing has this name, not even a link that leads nowhere.
fn is_new(path: &Path) -> bool {
    path.symlink_metadata().is_err()
}

fn taken(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is there already: name another file, or give --force to overwrite it",
        path.display()
    ))
}

/// The failure of a file that cannot be written.
pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::cli::exit::Exit;

    const KEEP: Overwriting = Overwriting { force: false };
    const FORCE: Overwriting = Overwriting { force: true };

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).expect("it is there")
    }

    #[test]
    fn an_existing_output_file_is_kept_without_force() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.hist");
        KEEP.write(&path, b"first").expect("it is new");
        for refused in [KEEP.write(&path, b"second"), KEEP.create(&path).map(drop)] {
            let failure = refused.expect_err("it is there");
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.contains("--force"), "{}", failure.message);
        }
        assert_eq!(text(&path), "first");
        FORCE.write(&path, b"second").expect("forced");
        assert_eq!(text(&path), "second");
        let mut file = FORCE.create(&path).expect("forced");
        file.write_all(b"3rd").expect("it is written");
        assert_eq!(text(&path), "3rd");
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (folder.path().join("x.dot"), folder.path().join("link"));
        std::fs::write(&path, "first").expect("it is writable");
        std::os::unix::fs::symlink(&path, &link).expect("it is linked");
        KEEP.write(&link, b"second").expect_err("the file is there");
        FORCE.write(&link, b"second").expect("forced");
        assert!(link.is_symlink());
        assert_eq!(text(&path), "second");
        KEEP.write(Path::new("/dev/null"), b"text")
            .expect("it takes everything");
        assert!(!Path::new("/dev/null").is_file());
    }
}
