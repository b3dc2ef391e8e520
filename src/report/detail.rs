//! The case that stands for each group, with its exports.

use crate::export::FORMATS;
use crate::reproducer::{self, CaseEvidence, CaseFile, safety};
use crate::triage::{Group, TriageFolder};

/// Exports of more groups than these would make a page that no browser likes to open: some 30 kB a group.
const EXPORTED_GROUPS_MAX: usize = 200;

/// What the page shows of a group beyond its line in the list.
#[derive(Clone, Debug)]
pub struct GroupDetail {
    /// The case to read first, or why it cannot be read.
    pub case: Result<CaseFile, String>,
    /// What its JSON tells; none where there is none that is about this case.
    pub evidence: Option<CaseEvidence>,
    /// The formats that apply to it.
    pub exports: Vec<ReportExport>,
    /// Why there are no exports, where there are none.
    pub unexported: Option<String>,
}

/// A case in one format.
#[derive(Clone, Debug)]
pub struct ReportExport {
    /// What `export --to` calls it.
    pub name: &'static str,
    /// Who reads it, in a line.
    pub about: &'static str,
    pub text: String,
    /// The file that belongs beside it: its ending and its text.
    pub beside: Option<(&'static str, String)>,
    /// What its user has to know, in a sentence.
    pub remark: Option<String>,
}

/// Reads the case of each group, in the order of the groups. What cannot be read says why in its place.
pub fn details(folder: &TriageFolder) -> Vec<GroupDetail> {
    let groups = folder.groups.iter().enumerate();
    groups
        .map(|(number, group)| detail(group, number < EXPORTED_GROUPS_MAX))
        .collect()
}

fn detail(group: &Group, is_exported: bool) -> GroupDetail {
    let path = &group.first_file().path;
    let case = reproducer::load(path).map_err(|error| error.to_string());
    let Ok(file) = &case else {
        return GroupDetail {
            unexported: Some("its case cannot be read".to_owned()),
            case,
            evidence: None,
            exports: Vec::new(),
        };
    };
    let evidence = reproducer::load_evidence(path, file);
    let unexported = match safety::check(file) {
        Err(refusal) => Some(refusal.to_string()),
        Ok(()) if !is_exported => Some(format!(
            "the page holds the exports of the first {EXPORTED_GROUPS_MAX} groups: `rashomon export` writes the others"
        )),
        Ok(()) => None,
    };
    let exports = match unexported {
        Some(_) => Vec::new(),
        None => exports(file),
    };
    GroupDetail {
        case,
        evidence,
        exports,
        unexported,
    }
}

fn exports(file: &CaseFile) -> Vec<ReportExport> {
    let written = FORMATS.iter().filter_map(|format| {
        let exported = format.write(file).ok()?;
        Some(ReportExport {
            name: format.name(),
            about: format.about(),
            text: exported.text,
            beside: exported.beside,
            remark: exported.remark,
        })
    });
    written.collect()
}
