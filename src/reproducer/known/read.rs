//! Reading a registry file: `docs/known-cases.md` describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::entry::{Comparison, EngineVersions, Known, KnownStatus};
use super::rule::{Rule, Shape};
use crate::dialect::ServerVersion;
use crate::model::{Direction, FindingKind, IsolationLevel, Signature, StatementKind, group_id};
use crate::reproducer::{FormatError, scanner};

/// The version of the format: raise it when an older program would misread a newer file, or the other
/// way round.
const FORMAT: u32 = 3;

/// The last one before, whose files are read as long as they name no signature: signatures were others.
const FORMAT_BEFORE: u32 = 2;

#[derive(Deserialize)]
struct RawVersion {
    format: Spanned<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(rename = "format")]
    _format: u32,
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
    rule: Spanned<RawRule>,
    #[serde(default)]
    fixed_in: Vec<Spanned<String>>,
    url: Option<String>,
    note: Option<String>,
    case: Option<String>,
    example: Option<Spanned<String>>,
}

/// A rule as the file spells it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    signature: Option<Spanned<String>>,
    group: Option<Spanned<String>>,
    oracle: Option<String>,
    kind: Option<Spanned<String>>,
    #[serde(default)]
    direction: Vec<Spanned<String>>,
    #[serde(default)]
    statement: Vec<Spanned<String>>,
    #[serde(default)]
    levels: Vec<Spanned<String>>,
    #[serde(default)]
    levels_any: Vec<Spanned<String>>,
    #[serde(default)]
    features_all: Vec<String>,
    #[serde(default)]
    features_any: Vec<String>,
    #[serde(default)]
    features_may: Vec<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

/// Reads the entries of a registry from text.
pub(super) fn read(text: &str, file: &str) -> Result<Vec<Known>, FormatError> {
    let source = Source { file, text };
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        source.error(at, error.message())
    };
    // The version first: a file of another one has other keys.
    let version: RawVersion = toml::from_str(text).map_err(wrong)?;
    let (found, at) = (*version.format.get_ref(), version.format.span().start);
    if found == 1 {
        let message = "format 1 is no longer read, for its rules explained more than they named: write \
                       `format = 2` and give each match an oracle, levels, direction and statement, as \
                       docs/known-cases.md describes";
        return Err(source.error(at, message));
    }
    if found != FORMAT && found != FORMAT_BEFORE {
        let message = format!("format {found} is not known: expected {FORMAT}");
        return Err(source.error(at, message));
    }
    let raw: RawFile = toml::from_str(text).map_err(wrong)?;
    let by_signature = |entry: &RawKnown| {
        let id = entry.rule.get_ref().signature.as_ref();
        id.map(|id| id.span().start)
    };
    if let (FORMAT_BEFORE, Some(at)) = (found, raw.known.iter().find_map(by_signature)) {
        let message = "a signature of format 2 names no finding any more, for signatures now stand for all \
                       findings that are told as one bug: replay the case file, take the signature that is \
                       printed, and write `format = 3`";
        return Err(source.error(at, message));
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
    Ok(entries)
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
        let engines: Result<Vec<EngineVersions>, FormatError> =
            raw.engines.iter().map(|text| self.engine(text)).collect();
        let at = raw.rule.span().start;
        let rule = self.rule(raw.rule.into_inner(), at)?;
        let example = raw.example.map(|text| self.example(&text, &rule));
        Ok(Known {
            id: raw.id.into_inner(),
            status,
            url: raw.url,
            note: raw.note,
            case: raw.case,
            example: example.transpose()?,
            engines: engines?,
            rule,
            fixed_in: raw
                .fixed_in
                .iter()
                .map(|text| self.fix(text))
                .collect::<Result<_, _>>()?,
        })
    }

    /// A match: a signature, or a whole shape.
    fn rule(&self, raw: RawRule, at: usize) -> Result<Rule, FormatError> {
        let variables = raw.variables;
        if let (None, Some(group)) = (&raw.signature, &raw.group) {
            let message = "expected the signature of this group beside it";
            return Err(self.error(group.span().start, message));
        }
        if let Some(id) = raw.signature {
            let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if id.get_ref().len() != 8 || !id.get_ref().chars().all(hexadecimal) {
                let message = "expected eight hexadecimal digits, as a case file's `signature`";
                return Err(self.error(id.span().start, message));
            }
            if raw.oracle.is_some() || raw.kind.is_some() {
                let message = "a signature says everything: remove what stands beside it";
                return Err(self.error(at, message));
            }
            if let Some(group) = raw
                .group
                .filter(|group| group_id(group.get_ref()) != *id.get_ref())
            {
                let message = format!(
                    "this group has the signature {:?}",
                    group_id(group.get_ref())
                );
                return Err(self.error(group.span().start, message));
            }
            let id = id.into_inner();
            return Ok(Rule::Signature { id, variables });
        }
        let needed = |what: &str| self.error(at, format!("expected {what}, or a signature"));
        let kind = raw.kind.ok_or_else(|| needed("a kind"))?;
        let kinds = FindingKind::all().map(FindingKind::slug);
        let of = FindingKind::from_slug(kind.get_ref());
        let of = of.ok_or_else(|| self.unknown("kind", &kind, kinds.collect()))?;
        let shape = Shape {
            kind: of,
            oracle: raw.oracle.ok_or_else(|| needed("an oracle"))?,
            levels: self.levels(&raw.levels)?,
            levels_any: self.levels(&raw.levels_any)?,
            directions: self.directions(&raw.direction)?,
            statements: self.statements(&raw.statement)?,
            features_all: raw.features_all,
            features_any: raw.features_any,
            features_may: raw.features_may,
            variables,
        };
        if shape.levels.is_empty() {
            return Err(needed("levels"));
        }
        if shape.is_about_an_outcome()
            && (shape.directions.is_empty() || shape.statements.is_empty())
        {
            return Err(needed("a direction and a statement"));
        }
        Ok(Rule::Shape(Box::new(shape)))
    }

    fn levels(&self, raw: &[Spanned<String>]) -> Result<Vec<IsolationLevel>, FormatError> {
        let level = |text: &Spanned<String>| {
            let all = IsolationLevel::ALL.iter().map(|level| level.slug());
            let level = text.get_ref().parse::<IsolationLevel>();
            level.map_err(|_| self.unknown("level", text, all.collect()))
        };
        raw.iter().map(level).collect()
    }

    fn directions(&self, raw: &[Spanned<String>]) -> Result<Vec<Direction>, FormatError> {
        let direction = |text: &Spanned<String>| {
            let all = Direction::ALL.iter().map(|direction| direction.slug());
            let direction = Direction::from_slug(text.get_ref());
            direction.ok_or_else(|| self.unknown("direction", text, all.collect()))
        };
        raw.iter().map(direction).collect()
    }

    fn statements(&self, raw: &[Spanned<String>]) -> Result<Vec<StatementKind>, FormatError> {
        let statement = |text: &Spanned<String>| {
            let all = StatementKind::ALL.iter().map(|kind| kind.slug());
            let mut kinds = StatementKind::ALL.into_iter();
            let kind = kinds.find(|kind| kind.slug() == text.get_ref());
            kind.ok_or_else(|| self.unknown("statement", text, all.collect()))
        };
        raw.iter().map(statement).collect()
    }

    fn unknown(&self, what: &str, text: &Spanned<String>, all: Vec<&str>) -> FormatError {
        let (word, all) = (text.get_ref(), all.join(", "));
        let message = format!("unknown {what} {word:?}: one of {all}");
        self.error(text.span().start, message)
    }

    /// `ORACLE KIND [LEVEL, LEVEL] FEATURE FEATURE`, which the rule must explain.
    fn example(&self, text: &Spanned<String>, rule: &Rule) -> Result<Signature, FormatError> {
        let at = text.span().start;
        let example = Signature::parse(text.get_ref()).ok_or_else(|| {
            let message = "expected a signature's text, as replay prints it: \
                           `txcheck wrong-rows [READ COMMITTED] differs:lost select`";
            self.error(at, message)
        })?;
        if !rule.has_shape(&example) {
            return Err(self.error(at, "the match does not explain its own example"));
        }
        Ok(example)
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
