//! Files as the rules read them: a path in the repository and its text.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository, or one that a test made up.
pub(crate) struct Source {
    /// From the root of the repository, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let path = path.strip_prefix(root()).unwrap_or(path);
        Some(Self::new(&path.to_string_lossy(), &text))
    }

    /// The file's name without folder and extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    /// The folders of the path, the file's name left out.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder.split('/').filter(|name| !name.is_empty())
    }

    /// Lines with their number from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file below a folder with one of these extensions (none given: any), by path.
pub(crate) fn below(folder: &str, extensions: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let extension = path.extension().unwrap_or_default();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if extensions.is_empty() || extensions.iter().any(|wanted| extension == *wanted)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found.iter().filter_map(|path| Source::read(path)).collect()
}

/// The sources of the library and the program.
pub(crate) fn program() -> Vec<Source> {
    below("src", &["rs"])
}

/// Every Rust source: program, tests and benchmarks.
pub(crate) fn sources() -> Vec<Source> {
    ["benches", "src", "tests"]
        .iter()
        .flat_map(|folder| below(folder, &["rs"]))
        .collect()
}

/// The pages that people read: those at the root and in `docs/`.
pub(crate) fn documents() -> Vec<Source> {
    let entries = fs::read_dir(root()).expect("the package's folder");
    let mut pages: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    let mut pages: Vec<Source> = pages.iter().filter_map(|path| Source::read(path)).collect();
    pages.extend(below("docs", &["md"]));
    pages
}

/// Fails with every complaint, one a line.
pub(crate) fn complain(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
