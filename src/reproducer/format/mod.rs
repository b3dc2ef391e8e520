//! The ways to write a case. An export is a file here and a line in [`FORMATS`]. A published case is
//! written in all of them, side by side.

mod case_format;
mod sql;

pub use case_format::CaseFormat;
pub use sql::write;

/// Every format. The first is the one that [`super::read`] reads.
pub const FORMATS: &[&dyn CaseFormat] = &[&sql::CaseSql];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::reproducer::{CaseFile, load};

    /// Every case of the corpus.
    fn corpus() -> Vec<CaseFile> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases");
        let folders = std::fs::read_dir(root).unwrap();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
        files
            .map(|file| load(&file.unwrap().path()).unwrap())
            .collect()
    }

    #[test]
    fn every_format_has_its_own_names_and_writes_every_statement_of_every_case() {
        let corpus = corpus();
        assert!(corpus.len() >= 46);
        let mut names = BTreeSet::new();
        let mut extensions = BTreeSet::new();
        for format in FORMATS {
            assert!(names.insert(format.name()), "{}", format.name());
            assert!(extensions.insert(format.extension()), "{}", format.name());
            assert!(!format.about().is_empty(), "{}", format.name());
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            assert!(format.extension().chars().all(plain), "{}", format.name());
            for file in &corpus {
                let text = format.write(file);
                assert_eq!(text, format.write(file), "{}", format.name());
                assert!(text.ends_with('\n'), "{}: {text}", format.name());
                for line in &file.lines {
                    assert!(text.contains(&line.sql), "{}: {text}", format.name());
                }
            }
        }
    }

    #[test]
    fn the_first_format_is_the_one_that_is_read() {
        for file in corpus() {
            let text = FORMATS[0].write(&file);
            let back = crate::reproducer::read(&text, "x.sql").unwrap();
            assert_eq!(FORMATS[0].write(&back), text);
        }
    }
}
