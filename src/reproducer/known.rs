//! The registry of known behaviour: which findings are explained, and by what.
//!
//! A rule must name the kind of finding it explains, so that it can never hide another kind. A
//! finding that a rule explains on a version that claims the fix is a regression, not known.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::{FormatError, scanner};
use crate::dialect::ServerVersion;
use crate::engine::Identity;
use crate::model::{FindingKind, Signature};
use crate::oracle::{Explained, Explains, tell_alike};

/// The registry that comes with the program.
const BUILTIN: &str = include_str!("../../dialects/known.toml");

/// What the maintainers said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownStatus {
    Open,
    Fixed,
    /// Accepted as a bug that stays.
    WontFix,
    /// Documented semantics.
    ByDesign,
}

/// Versions of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EngineVersions {
    engine: String,
    bounds: Vec<(Comparison, ServerVersion)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

/// One entry of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub status: KnownStatus,
    pub url: Option<String>,
    pub note: Option<String>,
    engines: Vec<EngineVersions>,
    rule: Rule,
    /// The first fixed release of each branch: engine and version.
    fixed_in: Vec<(String, ServerVersion)>,
}

/// What a finding must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    kind: FindingKind,
    oracle: Option<String>,
    levels_any: Vec<String>,
    features_all: Vec<String>,
    features_any: Vec<String>,
    variables: BTreeMap<String, String>,
}

/// A rule as the file spells it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    kind: Spanned<String>,
    oracle: Option<String>,
    #[serde(default)]
    levels_any: Vec<String>,
    #[serde(default)]
    features_all: Vec<String>,
    #[serde(default)]
    features_any: Vec<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    format: Spanned<u32>,
    #[serde(default)]
    known: Vec<RawKnown>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKnown {
    id: Spanned<String>,
    status: Spanned<String>,
    engines: Vec<Spanned<String>>,
    #[serde(rename = "match")]
    rule: RawRule,
    #[serde(default)]
    fixed_in: Vec<Spanned<String>>,
    url: Option<String>,
    note: Option<String>,
}

/// What the registry says of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match<'a> {
    /// Nothing explains it.
    None,
    Known(&'a Known),
    /// An entry explains it, and this server claims the fix.
    Regression(&'a Known),
}

/// All entries, in the order of the file: the first that matches counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    pub entries: Vec<Known>,
}

impl Registry {
    /// The entries that come with the program.
    ///
    /// # Errors
    /// When the built-in file is broken, which a test rules out.
    pub fn builtin() -> Result<Self, FormatError> {
        Self::read(BUILTIN, "dialects/known.toml")
    }

    /// Reads a registry file.
    ///
    /// # Errors
    /// What cannot be read or is not as `docs/known-cases.md` describes, with its place.
    pub fn load(path: &Path) -> Result<Self, FormatError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|cause| FormatError {
            file: file.clone(),
            line: 1,
            column: 1,
            message: format!("cannot read the file: {cause}"),
        })?;
        Self::read(&text, &file)
    }

    /// Reads a registry from text.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn read(text: &str, file: &str) -> Result<Self, FormatError> {
        let source = Source { file, text };
        let raw: RawFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, error.message())
        })?;
        if *raw.format.get_ref() != 1 {
            let message = format!("format {} is not known: expected 1", raw.format.get_ref());
            return Err(source.error(raw.format.span().start, message));
        }
        let mut entries: Vec<Known> = Vec::new();
        for entry in raw.known {
            let at = entry.id.span().start;
            let entry = source.known(entry)?;
            if entries
                .iter()
                .any(|known| known.id == entry.id && known.rule == entry.rule)
            {
                return Err(source.error(at, format!("{:?} stands here twice", entry.id)));
            }
            entries.push(entry);
        }
        Ok(Self { entries })
    }

    /// The registry as it speaks of one server.
    pub fn on<'a>(&'a self, server: &'a Identity) -> RegistryOn<'a> {
        RegistryOn {
            registry: self,
            server,
        }
    }

    /// These entries, then the others.
    pub fn extended(mut self, others: Self) -> Self {
        self.entries.extend(others.entries);
        self
    }

    /// What explains a finding on a server.
    pub fn judge(&self, signature: &Signature, server: &Identity) -> Match<'_> {
        let mut regression = Match::None;
        for known in &self.entries {
            if !known.explains(signature, server) {
                continue;
            }
            if !known.claims_fix(server) {
                return Match::Known(known);
            }
            if regression == Match::None {
                regression = Match::Regression(known);
            }
        }
        regression
    }

    /// The entry that explains a finding, unless the server claims the fix.
    pub fn find(&self, signature: &Signature, server: &Identity) -> Option<&Known> {
        match self.judge(signature, server) {
            Match::Known(known) => Some(known),
            Match::None | Match::Regression(_) => None,
        }
    }
}

/// The registry as it speaks of one server.
#[derive(Clone, Copy, Debug)]
pub struct RegistryOn<'a> {
    registry: &'a Registry,
    server: &'a Identity,
}

impl Explains for RegistryOn<'_> {
    fn explain(&self, signature: &Signature) -> Explained {
        match self.registry.judge(signature, self.server) {
            Match::Known(known) => Explained::Known(known.id.clone()),
            Match::Regression(known) => Explained::Regression(known.id.clone()),
            Match::None => Explained::Not,
        }
    }
}

impl Known {
    fn explains(&self, signature: &Signature, server: &Identity) -> bool {
        let rule = &self.rule;
        let has = |feature: &String| signature.features.contains(feature);
        let level = |level: &String| {
            signature
                .levels
                .iter()
                .any(|l| l.eq_ignore_ascii_case(level))
        };
        rule.kind == signature.kind
            && rule
                .oracle
                .as_ref()
                .is_none_or(|o| tell_alike(o, &signature.oracle))
            && (rule.levels_any.is_empty() || rule.levels_any.iter().any(level))
            && rule.features_all.iter().all(has)
            && (rule.features_any.is_empty() || rule.features_any.iter().any(has))
            && rule.variables.iter().all(|(name, value)| {
                let got = server.variables.get(name);
                got.is_some_and(|got| got.eq_ignore_ascii_case(value))
            })
            && self.engines.iter().any(|engine| engine.holds(server))
    }

    /// Whether the server's version is one that claims the fix: not older than the fixed release
    /// of its branch, or of a branch newer than every one that got the fix.
    pub fn claims_fix(&self, server: &Identity) -> bool {
        let branch =
            |version: &ServerVersion| version.0.iter().take(2).copied().collect::<Vec<_>>();
        let fixes: Vec<&ServerVersion> = self
            .fixed_in
            .iter()
            .filter(|(engine, _)| *engine == server.engine)
            .map(|(_, version)| version)
            .collect();
        match fixes
            .iter()
            .find(|fix| branch(fix) == branch(&server.version))
        {
            Some(fix) => server.version >= **fix,
            None => fixes
                .iter()
                .max()
                .is_some_and(|fix| server.version >= **fix),
        }
    }
}

impl EngineVersions {
    fn holds(&self, server: &Identity) -> bool {
        self.engine == server.engine
            && self.bounds.iter().all(|(comparison, bound)| {
                let version = &server.version;
                match comparison {
                    Comparison::AtLeast => version >= bound,
                    Comparison::Above => version > bound,
                    Comparison::AtMost => version <= bound,
                    Comparison::Below => version < bound,
                    Comparison::Exactly => version == bound,
                }
            })
    }
}

/// Where errors point.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> FormatError {
        let (line, column) = scanner::place(self.text, at);
        FormatError {
            file: self.file.to_owned(),
            line,
            column,
            message: message.into(),
        }
    }

    fn known(&self, raw: RawKnown) -> Result<Known, FormatError> {
        let status = match raw.status.get_ref().as_str() {
            "open" => KnownStatus::Open,
            "fixed" => KnownStatus::Fixed,
            "wont-fix" => KnownStatus::WontFix,
            "by-design" => KnownStatus::ByDesign,
            other => {
                return Err(self.error(
                    raw.status.span().start,
                    format!("unknown status {other:?}: one of open, fixed, wont-fix, by-design"),
                ));
            }
        };
        if raw.engines.is_empty() {
            return Err(self.error(
                raw.id.span().start,
                "expected an engine in engines, such as \"mariadb >=10.6\"",
            ));
        }
        Ok(Known {
            id: raw.id.into_inner(),
            status,
            url: raw.url,
            note: raw.note,
            engines: raw
                .engines
                .iter()
                .map(|text| self.engine(text))
                .collect::<Result<_, _>>()?,
            rule: self.rule(raw.rule)?,
            fixed_in: raw
                .fixed_in
                .iter()
                .map(|text| self.fix(text))
                .collect::<Result<_, _>>()?,
        })
    }

    fn rule(&self, raw: RawRule) -> Result<Rule, FormatError> {
        let (word, at) = (raw.kind.get_ref(), raw.kind.span().start);
        let Some(kind) = FindingKind::from_slug(word) else {
            let kinds: Vec<&str> = FindingKind::all().map(FindingKind::slug).collect();
            let message = format!("unknown kind {word:?}: one of {}", kinds.join(", "));
            return Err(self.error(at, message));
        };
        Ok(Rule {
            kind,
            oracle: raw.oracle,
            levels_any: raw.levels_any,
            features_all: raw.features_all,
            features_any: raw.features_any,
            variables: raw.variables,
        })
    }

    fn engine(&self, text: &Spanned<String>) -> Result<EngineVersions, FormatError> {
        let mut words = text.get_ref().split_whitespace();
        let bad = || {
            self.error(
                text.span().start,
                "expected an engine and bounds, such as \"mariadb >=10.6 <11.4.3\"",
            )
        };
        let engine = words.next().ok_or_else(bad)?.to_owned();
        let mut bounds = Vec::new();
        for word in words.filter(|word| *word != "*") {
            let comparisons = [
                (">=", Comparison::AtLeast),
                ("<=", Comparison::AtMost),
                (">", Comparison::Above),
                ("<", Comparison::Below),
                ("=", Comparison::Exactly),
            ];
            let (comparison, number) = comparisons
                .into_iter()
                .find_map(|(sign, c)| word.strip_prefix(sign).map(|rest| (c, rest)))
                .ok_or_else(bad)?;
            bounds.push((comparison, version(number).ok_or_else(bad)?));
        }
        Ok(EngineVersions { engine, bounds })
    }

    fn fix(&self, text: &Spanned<String>) -> Result<(String, ServerVersion), FormatError> {
        text.get_ref()
            .split_once(' ')
            .and_then(|(engine, number)| Some((engine.to_owned(), version(number.trim())?)))
            .ok_or_else(|| {
                self.error(
                    text.span().start,
                    "expected an engine and its fixed release, such as \"mariadb 11.4.3\"",
                )
            })
    }
}

/// A version that is a dotted number and nothing else.
fn version(text: &str) -> Option<ServerVersion> {
    let version: ServerVersion = text.parse().ok()?;
    (!version.0.is_empty() && version.to_string() == text).then_some(version)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: &str = r#"
format = 1
[[known]]
id = "MDEV-1"
status = "open"
engines = ["mariadb >=10.6 <11.8"]
match = { kind = "wrong-rows", levels_any = ["REPEATABLE READ"], features_all = ["update"] }
fixed_in = ["mariadb 10.6.18", "mariadb 10.11.8"]
"#;

    fn server(engine: &str, version: &str) -> Identity {
        Identity {
            engine: engine.to_owned(),
            version_text: version.to_owned(),
            version: version.parse().unwrap(),
            variables: BTreeMap::new(),
            session_setup: Vec::new(),
            isolation_setup: BTreeMap::new(),
        }
    }

    fn signature(kind: &str) -> Signature {
        Signature {
            oracle: "txcheck".to_owned(),
            kind: FindingKind::from_slug(kind).expect("a kind"),
            levels: vec!["REPEATABLE READ".to_owned()],
            features: vec!["update".to_owned()],
        }
    }

    #[test]
    fn the_builtin_registry_reads() {
        Registry::builtin().unwrap();
    }

    #[test]
    fn a_fixed_release_makes_the_same_finding_a_regression() {
        let registry = Registry::read(RULE, "known.toml").unwrap();
        let judge = |version| registry.judge(&signature("wrong-rows"), &server("mariadb", version));
        assert!(matches!(judge("10.6.17"), Match::Known(_)));
        assert!(matches!(judge("10.6.18"), Match::Regression(_)));
        assert!(matches!(judge("10.11.7"), Match::Known(_)));
        assert!(matches!(judge("11.4.1"), Match::Regression(_)));
        assert!(matches!(judge("11.8.1"), Match::None));
        assert!(matches!(judge("10.5.12"), Match::None));
    }

    #[test]
    fn errors_name_the_place_and_what_was_expected() {
        let check = |text: &str, expected: &str| {
            let error = Registry::read(text, "known.toml").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("format = 2\n", "known.toml:1:10: format 2 is not known");
        check(
            &RULE.replace("kind = \"wrong-rows\", ", ""),
            "known.toml:7:",
        );
        check(
            &RULE.replace("\"open\"", "\"opn\""),
            "known.toml:5:10: unknown status \"opn\"",
        );
        check(
            &RULE.replace(">=10.6", "10.6"),
            "known.toml:6:12: expected an engine",
        );
        check(
            &RULE.replace("status", "state"),
            "known.toml:5:1: unknown field",
        );
    }

    proptest! {
        #[test]
        fn a_rule_never_hides_a_finding_of_another_kind(
            rule_kind in "wrong-rows|crash|lost-update", kind in "wrong-rows|crash|lost-update",
            features in proptest::collection::vec("[x-z]", 0..3),
            rule_features in proptest::collection::vec("[x-z]", 0..3),
        ) {
            let text = format!(
                "format = 1\n[[known]]\nid = \"K\"\nstatus = \"open\"\nengines = [\"mariadb *\"]\n\
                 match = {{ kind = {rule_kind:?}, features_any = {rule_features:?} }}\n"
            );
            let registry = Registry::read(&text, "known.toml").unwrap();
            let finding = Signature { features, ..signature(&kind) };
            let found = registry.find(&finding, &server("mariadb", "11.4.2"));
            prop_assert!(found.is_none() || rule_kind == kind);
            prop_assert!(registry.find(&finding, &server("mysql", "9.7.0")).is_none());
        }
    }
}
