//! The history of a watched workload, kept as it comes: what was seen once may not come again.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::cli::exit::Failure;
use crate::cli::output_file::{Overwriting, cannot_write};

/// A history that nobody asked for is kept up to this many bytes: some 20 million events.
const UNASKED_MAX: u64 = 1 << 30;

/// A history on its way to a file, shared by who reads the stream and who ends it.
#[derive(Clone)]
pub(super) struct SavedHistory(Arc<Mutex<Saving>>);

struct Saving {
    out: SavedFile,
    /// Bytes that still fit.
    left: u64,
    /// Why no more is written.
    error: Option<io::Error>,
}

enum SavedFile {
    /// Named by the user, and kept whatever comes.
    Asked(PathBuf, BufWriter<File>),
    /// Kept under this name if a violation shows.
    Unasked(PathBuf, BufWriter<NamedTempFile>),
}

impl SavedHistory {
    /// The file that the user named.
    pub(super) fn asked(path: &Path, overwriting: Overwriting) -> Result<Self, Failure> {
        let file = BufWriter::new(overwriting.create(path)?);
        Ok(Self::to(SavedFile::Asked(path.to_owned(), file), u64::MAX))
    }

    /// A file beside `path`, which gets this name if it is kept.
    pub(super) fn unasked(path: &Path, most: Option<u64>) -> Result<Self, Failure> {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let named = tempfile::Builder::new()
            .prefix(".watch-")
            .suffix(".hist")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder);
        let file = named.map_err(|error| {
            let failure = cannot_write(path, &error);
            let remedy = "-o FILE names another place for the history";
            Failure::environment(format!("{}; {remedy}", failure.message))
        })?;
        let out = SavedFile::Unasked(path.to_owned(), BufWriter::new(file));
        Ok(Self::to(out, most.unwrap_or(UNASKED_MAX)))
    }

    fn to(out: SavedFile, left: u64) -> Self {
        let error = None;
        Self(Arc::new(Mutex::new(Saving { out, left, error })))
    }

    /// The same stream, which is written down as it is read.
    pub(super) fn of<R: Read>(&self, stream: R) -> WrittenDown<R> {
        WrittenDown {
            stream,
            saved: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Saving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the file: where the history is, and what is to be said of it. None where nothing is kept.
    ///
    /// # Errors
    /// When a file that was asked for could not be written.
    pub(super) fn finish(&self, is_violated: bool) -> Result<Option<String>, Failure> {
        let mut saving = self.lock();
        let error = saving.error.take();
        let is_cut = saving.left == 0;
        match &mut saving.out {
            SavedFile::Asked(path, out) => match error.map_or_else(|| out.flush(), Err) {
                Ok(()) => Ok(Some(path.display().to_string())),
                Err(error) => Err(cannot_write(path, &error)),
            },
            SavedFile::Unasked(..) if !is_violated => Ok(None),
            SavedFile::Unasked(path, out) => {
                let written = error.map_or_else(|| out.flush(), Err);
                let kept = written.and_then(|()| {
                    let open = out.get_ref().as_file().try_clone()?;
                    cut_to_whole_lines(&open)?;
                    under_a_free_name(out.get_ref().path(), path)
                });
                Ok(Some(match kept {
                    Ok(path) if is_cut => {
                        let path = path.display();
                        format!("{path}, its beginning only: -o FILE keeps all of it")
                    }
                    Ok(path) => path.display().to_string(),
                    Err(error) => format!("not kept: cannot write {}: {error}", path.display()),
                }))
            }
        }
    }
}

impl Saving {
    /// Takes bytes that were read: as many as fit.
    fn take(&mut self, bytes: &[u8]) {
        let fits = usize::try_from(self.left).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(fits)];
        if self.error.is_some() || bytes.is_empty() {
            return;
        }
        self.left -= bytes.len() as u64;
        let written = match &mut self.out {
            SavedFile::Asked(_, out) => out.write_all(bytes),
            SavedFile::Unasked(_, out) => out.write_all(bytes),
        };
        self.error = written.err();
    }
}

/// Gives a file this name, or where that is taken the next that is free: `watch-7-2.hist`.
fn under_a_free_name(file: &Path, name: &Path) -> io::Result<PathBuf> {
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    let further = (2..100).map(|number| name.with_file_name(format!("{stem}-{number}.hist")));
    let mut taken = Ok(());
    for free in std::iter::once(name.to_owned()).chain(further) {
        match std::fs::hard_link(file, &free) {
            Ok(()) => return Ok(free),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = Err(error),
            Err(error) => return Err(error),
        }
    }
    taken.map(|()| name.to_owned())
}

/// A reader refuses the half of a line.
fn cut_to_whole_lines(mut file: &File) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    let len = file.metadata()?.len();
    let tail = len.min(LINE_MAX);
    file.seek(SeekFrom::Start(len - tail))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    let end = last.iter().rposition(|byte| *byte == b'\n');
    match end {
        Some(end) => file.set_len(len - tail + end as u64 + 1),
        None => Ok(()),
    }
}

/// A line is no longer than this (`docs/history-format.md`).
const LINE_MAX: u64 = 16 << 20;

/// A stream that is written down as it is read.
pub(super) struct WrittenDown<R> {
    stream: R,
    saved: SavedHistory,
}

impl<R: Read> Read for WrittenDown<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.saved.lock().take(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::format::{self, HEADER};

    fn lines() -> String {
        let line = "committed s1 w(x,1)\n";
        format!("{HEADER}\ninitial 0\n{}", line.repeat(100))
    }

    /// What is left in a folder after a stream was watched there.
    fn left_behind(is_violated: bool, most: Option<u64>) -> (Option<String>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("watch-7.hist");
        let saved = SavedHistory::unasked(&path, most).expect("it is writable");
        let mut read = String::new();
        let mut stream = saved.of(lines().into_bytes().leak() as &[u8]);
        stream.read_to_string(&mut read).expect("text");
        assert_eq!(read, lines());
        let told = saved.finish(is_violated).expect("nothing was asked for");
        let kept = std::fs::read(&path).ok();
        if let Some(mut kept) = kept.as_deref() {
            let ours = format::by_name("rashomon").expect("our format");
            let history = (ours.read)(&mut kept).expect("whole lines");
            assert_eq!(history.len() > 90, most.is_none());
        }
        drop((saved, stream));
        let names = std::fs::read_dir(folder.path()).expect("it is there");
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        (told, names.collect())
    }

    #[test]
    fn a_history_is_kept_where_a_violation_shows() {
        assert_eq!(left_behind(false, None), (None, Vec::new()));
        let (told, names) = left_behind(true, None);
        assert!(told.is_some_and(|told| told.ends_with("watch-7.hist")));
        assert_eq!(names, ["watch-7.hist"]);
    }

    #[test]
    fn a_history_of_an_earlier_run_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("watch-7.hist");
        std::fs::write(&path, "before").expect("it is writable");
        let saved = SavedHistory::unasked(&path, None).expect("it is writable");
        let told = saved.finish(true).expect("nothing was asked for");
        assert!(told.is_some_and(|told| told.ends_with("watch-7-2.hist")));
        assert_eq!(
            std::fs::read_to_string(&path).expect("it is there"),
            "before"
        );
    }

    #[test]
    fn of_a_long_one_whole_lines_of_its_beginning_are_kept() {
        let (told, names) = left_behind(true, Some(500));
        assert!(told.is_some_and(|told| told.contains("beginning only")));
        assert_eq!(names, ["watch-7.hist"]);
    }

    #[test]
    fn a_file_that_was_asked_for_is_kept_in_any_case() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.hist");
        std::fs::write(&path, "before").expect("it is writable");
        let keep = Overwriting::default();
        assert!(SavedHistory::asked(&path, keep).is_err());
        std::fs::remove_file(&path).expect("it is there");
        let saved = SavedHistory::asked(&path, keep).expect("it is new");
        let mut stream = saved.of("one\n".as_bytes());
        io::copy(&mut stream, &mut io::sink()).expect("it is read");
        let told = saved.finish(false).expect("it was written");
        assert_eq!(told, Some(path.display().to_string()));
        assert_eq!(
            std::fs::read_to_string(&path).expect("it is there"),
            "one\n"
        );
    }
}
