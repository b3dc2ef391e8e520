//! The reader of grammar files. Every error names file, line and column.

use std::collections::{BTreeMap, BTreeSet};

use super::builtin::{Builtin, CLASSES};
use super::rule::{
    Grammar, GrammarError, GrammarRule, Production, ProductionItem, Requirement, STARTS,
};
use crate::dialect::{Capability, TypeClass};

/// A place in a file.
#[derive(Clone, Debug)]
struct GrammarPosition {
    file: String,
    line: usize,
    column: usize,
}

impl GrammarPosition {
    fn error(&self, message: impl Into<String>) -> GrammarError {
        GrammarError::Text {
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }

    fn at(&self, column: usize) -> Self {
        Self {
            column,
            ..self.clone()
        }
    }
}

/// A production before its calls are resolved.
struct DraftProduction {
    weight: u32,
    requires: Vec<Requirement>,
    classes: Vec<TypeClass>,
    meant_to_fail: bool,
    text: String,
    /// Pieces with the place of each call.
    items: Vec<(DraftItem, GrammarPosition)>,
}

enum DraftItem {
    Text(String),
    Call(String),
    Builtin(Builtin),
}

struct DraftRule {
    name: String,
    place: GrammarPosition,
    productions: Vec<DraftProduction>,
}

/// Reads the common files and the engine's, and joins them.
pub(super) fn read(
    common: Vec<(String, String)>,
    own: Vec<(String, String)>,
) -> Result<Grammar, GrammarError> {
    let mut rules = read_folder(common)?;
    for rule in read_folder(own)? {
        match rules.iter_mut().find(|known| known.name == rule.name) {
            Some(known) => *known = rule,
            None => rules.push(rule),
        }
    }
    resolve(rules)
}

/// The rules of one folder's files; a name may be defined once.
fn read_folder(files: Vec<(String, String)>) -> Result<Vec<DraftRule>, GrammarError> {
    let mut rules: Vec<DraftRule> = Vec::new();
    for (file, text) in files {
        for rule in read_file(&file, &text)? {
            if let Some(first) = rules.iter().find(|known| known.name == rule.name) {
                return Err(rule.place.error(format!(
                    "rule {:?} is defined already, at {}:{}",
                    rule.name, first.place.file, first.place.line
                )));
            }
            rules.push(rule);
        }
    }
    Ok(rules)
}

fn read_file(file: &str, text: &str) -> Result<Vec<DraftRule>, GrammarError> {
    let mut rules: Vec<DraftRule> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let place = GrammarPosition {
            file: file.to_owned(),
            line: index + 1,
            column: 1,
        };
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            rules.push(read_name(line, place)?);
            continue;
        }
        let Some(rule) = rules.last_mut() else {
            return Err(place.error("expected a rule name and a colon before the first production"));
        };
        let mut production = read_production(line, &place)?;
        while let Some((index, line)) =
            lines.next_if(|(_, line)| line.trim_start().starts_with('|'))
        {
            let place = place.clone();
            let place = GrammarPosition {
                line: index + 1,
                ..place
            };
            continue_production(&mut production, line, &place)?;
        }
        rule.productions.push(production);
    }
    if let Some(empty) = rules.iter().find(|rule| rule.productions.is_empty()) {
        return Err(empty
            .place
            .error(format!("rule {:?} has no production", empty.name)));
    }
    Ok(rules)
}

/// `name:` at the start of a line.
fn read_name(line: &str, place: GrammarPosition) -> Result<DraftRule, GrammarError> {
    let Some(name) = line.trim_end().strip_suffix(':') else {
        return Err(
            place.error("expected a rule name and a colon, or a production indented by spaces")
        );
    };
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(place.error(format!(
            "expected a rule name of lower-case letters, digits and dashes, found {name:?}"
        )));
    }
    if Builtin::read(name).is_some() {
        return Err(place.error(format!("{name:?} is a built-in nonterminal")));
    }
    Ok(DraftRule {
        name: name.to_owned(),
        place,
        productions: Vec::new(),
    })
}

/// Among the capabilities: the production's statements are meant to be rejected.
const FAILS: &str = "fails";

/// `weight [capability !capability class fails] text`.
fn read_production(line: &str, place: &GrammarPosition) -> Result<DraftProduction, GrammarError> {
    let start = line.len() - line.trim_start().len();
    let digits = line[start..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(line.len() - start);
    let weight = line[start..start + digits].parse::<u32>().ok();
    let Some(weight) = weight.filter(|weight| *weight > 0) else {
        return Err(place
            .at(start + 1)
            .error("expected the weight of a production: a number above 0"));
    };
    let mut at = start + digits;
    let mut requires = Vec::new();
    let mut classes = Vec::new();
    let mut meant_to_fail = false;
    let rest = line[at..].trim_start();
    if let Some(inner) = rest.strip_prefix('[') {
        let open = line.len() - inner.len();
        let Some(length) = inner.find(']') else {
            return Err(place.at(open).error("expected ] after the capabilities"));
        };
        for word in inner[..length].split_ascii_whitespace() {
            if word == FAILS {
                meant_to_fail = true;
            } else if let Some((_, class)) = CLASSES.iter().find(|(name, _)| *name == word) {
                classes.push(*class);
            } else {
                requires.push(requirement(word, &place.at(open + 1))?);
            }
        }
        at = open + length + 1;
    }
    let mut draft = DraftProduction {
        weight,
        requires,
        classes,
        meant_to_fail,
        text: line[at..].trim().to_owned(),
        items: Vec::new(),
    };
    read_items(&mut draft, line, at, place)?;
    Ok(draft)
}

fn requirement(word: &str, place: &GrammarPosition) -> Result<Requirement, GrammarError> {
    let (slug, absent) = match word.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (word, false),
    };
    let capability = Capability::from_slug(slug).map_err(|error| place.error(error.to_string()))?;
    Ok(Requirement { capability, absent })
}

/// `| text`: continues the production of the line before.
fn continue_production(
    draft: &mut DraftProduction,
    line: &str,
    place: &GrammarPosition,
) -> Result<(), GrammarError> {
    let at = line.find('|').map_or(0, |at| at + 1);
    draft.text = format!("{} {}", draft.text, line[at..].trim());
    draft
        .items
        .push((DraftItem::Text(" ".to_owned()), place.clone()));
    read_items(draft, line, at, place)
}

/// Splits the text of a production: `<` before a letter opens a call, any other `<` is SQL.
fn read_items(
    draft: &mut DraftProduction,
    line: &str,
    start: usize,
    place: &GrammarPosition,
) -> Result<(), GrammarError> {
    let end = line.trim_end().len();
    let mut at = line.len() - line[start..].trim_start().len();
    let mut text = String::new();
    while at < end {
        let rest = &line[at..end];
        let opens =
            rest.starts_with('<') && rest[1..].starts_with(|c: char| c.is_ascii_lowercase());
        if !opens {
            let c = rest.chars().next().unwrap_or(' ');
            text.push(c);
            at += c.len_utf8();
            continue;
        }
        if !text.is_empty() {
            draft
                .items
                .push((DraftItem::Text(std::mem::take(&mut text)), place.at(at)));
        }
        let here = place.at(at + 1);
        let Some(length) = rest.find('>') else {
            return Err(here.error("expected > at the end of a nonterminal"));
        };
        let inner = &rest[1..length];
        let item = match Builtin::read(inner) {
            Some(Ok(builtin)) => DraftItem::Builtin(builtin),
            Some(Err(message)) => return Err(here.error(message)),
            None if inner.contains(' ') => {
                return Err(here.error(format!(
                    "<{inner}>: only built-in nonterminals take arguments"
                )));
            }
            None => DraftItem::Call(inner.to_owned()),
        };
        check_names(draft, &item, &here)?;
        draft.items.push((item, here));
        at += length + 1;
    }
    if !text.is_empty() {
        draft.items.push((DraftItem::Text(text), place.at(at)));
    }
    Ok(())
}

/// The local names that a built-in nonterminal needs must be bound before it, in the same
/// production.
fn check_names(
    draft: &DraftProduction,
    item: &DraftItem,
    place: &GrammarPosition,
) -> Result<(), GrammarError> {
    let DraftItem::Builtin(builtin) = item else {
        return Ok(());
    };
    for name in builtin.needs() {
        let bound = draft.items.iter().any(
            |(known, _)| matches!(known, DraftItem::Builtin(known) if known.binds() == Some(name)),
        );
        if !bound {
            return Err(place.error(format!(
                "{name:?} is not bound: expected <bind {name}>, <derive {name}>, <base {name} ..> \
                 or <pick {name} ..> before it in this production"
            )));
        }
    }
    Ok(())
}

/// The rules that a built-in nonterminal calls: one for each class of types.
fn called_by(prefix: &str) -> Vec<String> {
    let words = CLASSES.iter().map(|(word, _)| format!("{prefix}{word}"));
    words.collect()
}

fn resolve(drafts: Vec<DraftRule>) -> Result<Grammar, GrammarError> {
    let names: BTreeMap<String, usize> = drafts
        .iter()
        .enumerate()
        .map(|(index, rule)| (rule.name.clone(), index))
        .collect();
    let whole = GrammarPosition {
        file: drafts
            .first()
            .map_or_else(|| "grammar".to_owned(), |rule| rule.place.file.clone()),
        line: 1,
        column: 1,
    };
    for start in STARTS {
        if !names.contains_key(*start) {
            return Err(whole.error(format!("expected a rule {start:?} in one of the files")));
        }
    }
    let mut reached: BTreeSet<String> = STARTS.iter().map(|name| (*name).to_owned()).collect();
    let mut pending: Vec<String> = reached.iter().cloned().collect();
    while let Some(name) = pending.pop() {
        let rule = &drafts[names[&name]];
        for (item, place) in rule.productions.iter().flat_map(|p| &p.items) {
            let calls = match item {
                DraftItem::Call(name) => vec![name.clone()],
                DraftItem::Builtin(builtin) => builtin.calls().map(called_by).unwrap_or_default(),
                DraftItem::Text(_) => Vec::new(),
            };
            for call in calls {
                if !names.contains_key(&call) {
                    return Err(place.error(format!("rule {call:?} is not defined")));
                }
                if reached.insert(call.clone()) {
                    pending.push(call);
                }
            }
        }
    }
    if let Some(unused) = drafts.iter().find(|rule| !reached.contains(&rule.name)) {
        return Err(unused
            .place
            .error(format!("rule {:?} is never used", unused.name)));
    }
    finish(drafts, names)
}

/// Numbers the calls and measures the productions.
fn finish(drafts: Vec<DraftRule>, names: BTreeMap<String, usize>) -> Result<Grammar, GrammarError> {
    let places: Vec<GrammarPosition> = drafts.iter().map(|rule| rule.place.clone()).collect();
    let mut rules: Vec<GrammarRule> = drafts
        .into_iter()
        .map(|draft| GrammarRule {
            productions: draft
                .productions
                .into_iter()
                .enumerate()
                .map(|(index, production)| Production {
                    label: Production::label(&draft.name, index + 1, production.meant_to_fail),
                    text: production.text,
                    weight: production.weight,
                    requires: production.requires,
                    classes: production.classes,
                    meant_to_fail: production.meant_to_fail,
                    items: production
                        .items
                        .into_iter()
                        .map(|(item, _)| match item {
                            DraftItem::Text(text) => ProductionItem::Text(text),
                            DraftItem::Call(name) => ProductionItem::Rule(names[&name]),
                            DraftItem::Builtin(builtin) => ProductionItem::Builtin(builtin),
                        })
                        .collect(),
                    height: u32::MAX,
                })
                .collect(),
            name: draft.name,
        })
        .collect();
    measure(&mut rules, &names);
    for (rule, place) in rules.iter().zip(&places) {
        if rule.productions.iter().all(|p| p.height == u32::MAX) {
            return Err(place.error(format!("rule {:?} never terminates", rule.name)));
        }
    }
    Ok(Grammar { rules, names })
}

/// Sets the height of every production: 1 for one that calls nothing.
fn measure(rules: &mut [GrammarRule], names: &BTreeMap<String, usize>) {
    let mut heights = vec![u32::MAX; rules.len()];
    loop {
        let mut changed = false;
        for (index, rule) in rules.iter_mut().enumerate() {
            for production in &mut rule.productions {
                let called = production.items.iter().flat_map(|item| match item {
                    ProductionItem::Rule(rule) => vec![*rule],
                    ProductionItem::Builtin(builtin) => builtin
                        .calls()
                        .map(called_by)
                        .unwrap_or_default()
                        .iter()
                        .map(|name| names[name])
                        .collect(),
                    ProductionItem::Text(_) => Vec::new(),
                });
                let below = called.map(|rule| heights[rule]).max().unwrap_or(0);
                let height = below.saturating_add(1);
                if below != u32::MAX && height < production.height {
                    production.height = height;
                    changed = true;
                }
                heights[index] = heights[index].min(production.height);
            }
        }
        if !changed {
            break;
        }
    }
}
