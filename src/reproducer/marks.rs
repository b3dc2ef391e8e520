//! Entries that a person adds to a registry file, and takes away again, by the signature of a group.
//!
//! The text of the file is edited, not written anew: comments and other entries stay as they are.

use toml::Value;

use super::{FormatError, Known, KnownStatus, Registry};

/// What a new registry file begins with.
const HEADER: &str = "# Findings of this folder that are explained: docs/known-cases.md describes the keys. The next run that\n\
                      # writes here counts them as known.\nformat = 3\n";

/// The line before each entry.
const ENTRY: &str = "[[known]]";

/// An entry that explains one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMark {
    /// A tracker's identifier.
    pub id: String,
    pub status: KnownStatus,
    /// Engines on which it holds, in all versions.
    pub engines: Vec<String>,
    pub url: Option<String>,
    pub note: Option<String>,
    /// The text of one finding of the group.
    pub example: String,
    pub signature: String,
    /// The text of the group.
    pub group: String,
}

impl GroupMark {
    /// A registry file with this entry behind those that it has; a new one where `text` is empty.
    ///
    /// # Errors
    /// What is wrong with the file, with its place; it has to be mended first.
    pub fn added_to(&self, text: &str, file: &str) -> Result<String, FormatError> {
        Registry::read_or_empty(text, file)?;
        let text = if text.trim().is_empty() { HEADER } else { text };
        let mut new = text.trim_end().to_owned();
        new.push_str(&format!("\n\n{ENTRY}\n{}", self.text()));
        Registry::read(&new, file)?;
        Ok(new)
    }

    fn text(&self) -> String {
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        let status = match self.status {
            KnownStatus::Open => "open",
            KnownStatus::Fixed => "fixed",
            KnownStatus::WontFix => "wont-fix",
            KnownStatus::ByDesign => "by-design",
        };
        let engines: Vec<String> = self
            .engines
            .iter()
            .map(|engine| quoted(&format!("{engine} *")))
            .collect();
        let mut text = format!(
            "id = {}\nstatus = {}\nengines = [{}]\n",
            quoted(&self.id),
            quoted(status),
            engines.join(", ")
        );
        for (key, value) in [("url", &self.url), ("note", &self.note)] {
            if let Some(value) = value {
                text.push_str(&format!("{key} = {}\n", quoted(value)));
            }
        }
        text.push_str(&format!(
            "example = {}\nmatch.signature = {}\nmatch.group = {}\n",
            quoted(&self.example),
            quoted(&self.signature),
            quoted(&self.group)
        ));
        text
    }
}

/// A registry file without its entries by this signature; none where it has none.
///
/// # Errors
/// What is wrong with the file, or an entry that is not written as [`GroupMark`] writes it and has to be taken
/// out by hand.
pub fn without_marks(
    text: &str,
    file: &str,
    signature: &str,
) -> Result<Option<String>, FormatError> {
    let before = Registry::read(text, file)?;
    let stays = |known: &&Known| known.signature() != Some(signature);
    let kept: Vec<_> = before.entries.iter().filter(stays).cloned().collect();
    if kept.len() == before.entries.len() {
        return Ok(None);
    }
    let mut new = String::new();
    for part in parts(text) {
        if !is_by(part, signature) {
            new.push_str(part);
        }
    }
    let new = format!("{}\n", new.trim_end());
    match Registry::read(&new, file) {
        Ok(after) if after.entries == kept => Ok(Some(new)),
        _ => Err(FormatError {
            file: file.to_owned(),
            line: 1,
            column: 1,
            message: format!(
                "the entry by signature {signature:?} is not written as `triage mark` writes one: take \
                 it out by hand"
            ),
        }),
    }
}

/// What stands before the first entry, then each entry with the text behind it.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim() == ENTRY {
            parts.push(&text[from..at]);
            from = at;
        }
        at += line.len();
    }
    parts.push(&text[from..]);
    parts
}

/// Whether a part of the file is an entry by this signature.
fn is_by(part: &str, signature: &str) -> bool {
    let entry = || {
        let table: toml::Table = toml::from_str(part).ok()?;
        let rule = table.get("known")?.as_array()?.first()?.get("match")?;
        Some(rule.get("signature")?.as_str()? == signature)
    };
    entry().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Signature;

    fn mark(finding: &str) -> GroupMark {
        let signature = Signature::parse(finding).expect("a signature");
        GroupMark {
            id: "MDEV-1".to_owned(),
            status: KnownStatus::Open,
            engines: vec!["mariadb".to_owned()],
            url: None,
            note: Some("she said \"no\"\nand more".to_owned()),
            example: signature.text(),
            signature: signature.id(),
            group: signature.group(),
        }
    }

    #[test]
    fn what_is_unmarked_leaves_the_file_as_it_was_before() {
        let (lost, skew) = (
            mark("isolation lost-update [SERIALIZABLE] update"),
            mark("isolation write-skew [SERIALIZABLE] update"),
        );
        let one = lost.added_to("", "known.toml").expect("it is added");
        let two = skew.added_to(&one, "known.toml").expect("it is added");
        let registry = Registry::read(&two, "known.toml").expect("it reads");
        let notes: Vec<_> = registry.entries.iter().map(|e| e.note.clone()).collect();
        assert_eq!(notes, [lost.note.clone(), skew.note.clone()]);
        let without = |id: &str| without_marks(&two, "known.toml", id).expect("it reads");
        assert_eq!(without(&skew.signature), Some(one));
        let kept = without(&lost.signature).expect("an entry is taken out");
        assert!(kept.contains(&skew.signature) && !kept.contains(&lost.signature));
        assert_eq!(without("00000000"), None);
    }

    #[test]
    fn comments_and_entries_by_shape_stay() {
        let own = "# ours\nformat = 3\n\n[[known]]\n# why\nid = \"A\"\nstatus = \"open\"\nengines = [\"mysql *\"]\n\
                   match = { oracle = \"crash\", kind = \"crash\", levels = [\"serializable\"] }\n";
        let mark = mark("isolation lost-update [SERIALIZABLE] update");
        let added = mark.added_to(own, "known.toml").expect("it is added");
        assert!(added.starts_with(own.trim_end()));
        let again = without_marks(&added, "known.toml", &mark.signature).expect("it reads");
        assert_eq!(again.as_deref(), Some(own));
    }

    #[test]
    fn a_broken_file_is_left_alone_and_named_with_its_place() {
        let mark = mark("isolation lost-update [SERIALIZABLE] update");
        let error = mark.added_to("format = 3\n[[known]\n", "known.toml");
        assert!(error.unwrap_err().to_string().starts_with("known.toml:2:"));
    }
}
