//! A dialect file that says only how it differs from one that comes with the program: `base = "tidb"`.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::text::{DialectError, DialectText};
use super::{BUILTIN, MODES};

/// Names the file whose keys hold where this file gives none.
const BASE: &str = "base";
/// Lists the keys of the base that do not hold.
const WITHOUT: &str = "without";

/// Dialect files by name.
type Library<'a> = [(&'a str, &'a str)];

/// The keys of a file, laid over those of its base. Offsets in it are places of the [`DialectText`].
pub(super) fn tree<'a>(
    name: &str,
    text: &'a str,
) -> Result<(DialectText<'a>, Spanned<DeTable<'a>>), DialectError> {
    let library: Vec<(&str, &str)> = BUILTIN.iter().chain(MODES).copied().collect();
    from_library(&library, name, text)
}

fn from_library<'a>(
    library: &Library<'a>,
    name: &str,
    text: &'a str,
) -> Result<(DialectText<'a>, Spanned<DeTable<'a>>), DialectError> {
    let mut source = DialectText::new(name, text);
    // A file of the program is on the list under its name, and a base names it so.
    let mut seen: Vec<&str> = library
        .iter()
        .filter(|file| file.1 == text)
        .map(|file| file.0)
        .collect();
    let mut layers = Vec::new();
    let mut next = Some((text, 0));
    while let Some((text, offset)) = next.take() {
        let layer = Layer::read(&source, text, offset)?;
        if let Some(base) = &layer.base {
            let wanted = base.get_ref().as_str();
            let place = base.span().start;
            let found = library.iter().find(|(name, _)| *name == wanted);
            let Some((name, text)) = found else {
                let names: Vec<&str> = library.iter().map(|(name, _)| *name).collect();
                let message = format!("{BASE}: no dialect {wanted:?}: one of {}", names.join(", "));
                return Err(source.error(place, message));
            };
            if seen.contains(name) {
                let message = format!("{BASE}: {wanted:?} is laid over this file itself");
                return Err(source.error(place, message));
            }
            seen.push(*name);
            next = Some((*text, source.add(&format!("dialects/{name}.toml"), text)));
        }
        layers.push(layer);
    }
    let mut keys = DeTable::new();
    for layer in layers.into_iter().rev() {
        layer.lay_over(&mut keys, &source)?;
    }
    Ok((source, Spanned::new(0..0, keys)))
}

/// One file.
struct Layer<'a> {
    base: Option<Spanned<String>>,
    /// Keys, with a dot before each that stands in a table.
    without: Vec<Spanned<String>>,
    keys: DeTable<'a>,
}

impl<'a> Layer<'a> {
    /// Reads a file whose first byte is at this offset.
    fn read(source: &DialectText<'_>, text: &'a str, offset: usize) -> Result<Self, DialectError> {
        let keys = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(offset + at, error.message().to_owned())
        })?;
        let mut keys = moved_table(keys.into_inner(), offset);
        let base = match keys.remove(BASE) {
            Some(value) => Some(text_of(source, BASE, value)?),
            None => None,
        };
        let mut without = Vec::new();
        if let Some(value) = keys.remove(WITHOUT) {
            let at = value.span().start;
            let DeValue::Array(list) = value.into_inner() else {
                return Err(source.error(at, format!("{WITHOUT}: expected a list of keys")));
            };
            if base.is_none() {
                let message = format!("{WITHOUT}: there is no {BASE} to take keys from");
                return Err(source.error(at, message));
            }
            for item in list {
                without.push(text_of(source, WITHOUT, item)?);
            }
        }
        Ok(Self {
            base,
            without,
            keys,
        })
    }

    /// Takes away from the base what does not hold, and gives it what this file has.
    fn lay_over(
        self,
        base: &mut DeTable<'a>,
        source: &DialectText<'_>,
    ) -> Result<(), DialectError> {
        for key in &self.without {
            if !take_away(base, key.get_ref()) {
                let message = format!("{WITHOUT}: the base has no key {:?}", key.get_ref());
                return Err(source.error(key.span().start, message));
            }
        }
        lay_over(base, self.keys);
        Ok(())
    }
}

/// Tables are laid over each other key by key, at any depth; whatever else is given replaces the base's.
fn lay_over<'a>(base: &mut DeTable<'a>, own: DeTable<'a>) {
    for (key, value) in own {
        let (span, value) = (value.span(), value.into_inner());
        let below = base.remove(&key).map(Spanned::into_inner);
        let value = match (below, value) {
            (Some(DeValue::Table(mut below)), DeValue::Table(own)) => {
                lay_over(&mut below, own);
                DeValue::Table(below)
            }
            (_, value) => value,
        };
        base.insert(key, Spanned::new(span, value));
    }
}

/// Removes a key, or one of a table (`spelling.begin.start`); false where it is not there.
fn take_away(table: &mut DeTable<'_>, key: &str) -> bool {
    match key.split_once('.') {
        None => table.remove(key).is_some(),
        Some((first, rest)) => match table.get_mut(first).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => take_away(inner, rest),
            Some(
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_),
            )
            | None => false,
        },
    }
}

fn text_of(
    source: &DialectText<'_>,
    key: &str,
    value: Spanned<DeValue<'_>>,
) -> Result<Spanned<String>, DialectError> {
    let span = value.span();
    match value.into_inner() {
        DeValue::String(text) => Ok(Spanned::new(span, text.into_owned())),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => {
            Err(source.error(span.start, format!("{key}: expected a name in quotes")))
        }
    }
}

fn moved_table(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    let moved = |(key, value)| (moved(key, by, |key| key), moved_value(value, by));
    table.into_iter().map(moved).collect()
}

fn moved_value(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    moved(value, by, |value| match value {
        DeValue::Table(table) => DeValue::Table(moved_table(table, by)),
        DeValue::Array(items) => DeValue::Array(
            items
                .into_iter()
                .map(|item| moved_value(item, by))
                .collect(),
        ),
        value @ (DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)) => value,
    })
}

/// What stands at a place, so many bytes behind it.
fn moved<T>(spanned: Spanned<T>, by: usize, inner: impl FnOnce(T) -> T) -> Spanned<T> {
    let Range { start, end } = spanned.span();
    Spanned::new(start + by..end + by, inner(spanned.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, ServerVersion, parse};

    fn newest() -> ServerVersion {
        ServerVersion(vec![99])
    }

    fn read(text: &str) -> Result<Dialect, DialectError> {
        parse("my.toml", text, &newest())
    }

    fn builtin(name: &str) -> Dialect {
        let all = BUILTIN.iter().chain(MODES);
        let text = all.copied().find(|(own, _)| *own == name).expect(name).1;
        parse(name, text, &newest()).expect("the file")
    }

    #[test]
    fn a_file_that_gives_nothing_is_its_base() {
        for (name, _) in BUILTIN.iter().chain(MODES) {
            let own = read(&format!("base = {name:?}")).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(own, builtin(name), "{name}");
        }
    }

    #[test]
    fn a_key_that_is_given_replaces_the_bases_and_tables_keep_their_other_keys() {
        let text = "
            base = \"tidb\"
            without = [\"known.moved-key\", \"spelling.lock-clauses.update-nowait\", \"locks\"]
            levels = [\"read-committed\"]
            [spelling]
            commit = \"COMMIT WORK\"
            [read-modes.read-committed]
            plain-select = \"current\"
        ";
        let own = read(text).unwrap_or_else(|error| panic!("{error}"));
        let mut expected = builtin("tidb");
        expected.levels.pop();
        expected.spelling.commit = "COMMIT WORK".to_owned();
        assert!(
            expected
                .spelling
                .lock_clauses
                .remove("update-nowait")
                .is_some()
        );
        assert_eq!(own.spelling, expected.spelling);
        assert_eq!(own.levels, expected.levels);
        assert_eq!(own.types, expected.types);
        let level = own.levels[0];
        let mode = |dialect: &Dialect, role| dialect.read_mode(level, role, true);
        use crate::model::{Doubt, ReadMode, Role};
        assert_eq!(mode(&own, Role::PlainSelect), ReadMode::Current);
        assert_ne!(mode(&expected, Role::PlainSelect), ReadMode::Current);
        assert_eq!(
            mode(&own, Role::UpdateSource),
            mode(&expected, Role::UpdateSource)
        );
        assert!(!own.registers(Doubt::MovedKey) && expected.registers(Doubt::MovedKey));
        assert!(own.registers(Doubt::TakenOverKey));
        assert!(own.lock_reach(level).is_none() && expected.lock_reach(level).is_some());
    }

    /// A list of tables is a value like any other: it replaces the base's.
    #[test]
    fn lists_are_not_joined() {
        let own = read(
            "base = \"tidb-optimistic\"\n[[type]]\nsql = \"INT\"\nclass = \"integer\"\nweight = 1\nliterals = [\"0\"]\n",
        );
        assert_eq!(own.expect("valid").types.len(), 1);
    }

    #[test]
    fn errors_name_the_file_that_has_the_place() {
        let error = |text: &str| read(text).expect_err(text).to_string();
        let names = "one of mariadb, mysql, postgres, simulated, sqlite, tidb, tidb-optimistic";
        assert_eq!(
            error("# first\nbase = \"tibd\""),
            format!("my.toml:2:8: base: no dialect \"tibd\": {names}")
        );
        assert_eq!(
            error("base = 7"),
            "my.toml:1:8: base: expected a name in quotes"
        );
        assert_eq!(
            error("without = [\"known\"]"),
            "my.toml:1:11: without: there is no base to take keys from"
        );
        assert_eq!(
            error("base = \"tidb\"\nwithout = \"known\""),
            "my.toml:2:11: without: expected a list of keys"
        );
        for missing in ["spelling.begin.stort", "levels.first", "knwon"] {
            assert_eq!(
                error(&format!(
                    "base = \"tidb\"\nwithout = [\"known\", {missing:?}]"
                )),
                format!("my.toml:2:21: without: the base has no key {missing:?}")
            );
        }
        let unknown = error("base = \"tidb\"\nunheard = 2\n");
        assert!(unknown.starts_with("my.toml:2:1: "), "{unknown}");
        let word = error("base = \"tidb\"\nobserver = \"all\"\n");
        assert!(word.starts_with("my.toml:2:12: unknown word"), "{word}");
        let missing = error("base = \"tidb\"\nwithout = [\"read-modes.read-committed\"]\n");
        let text = builtin_text("tidb");
        let line = text[..text.find("[read-modes").expect("there")]
            .matches('\n')
            .count();
        let place = format!("dialects/tidb.toml:{}:1: no read mode for", line + 1);
        assert!(missing.starts_with(&place), "{missing}");
    }

    /// What is wrong with a base is told as a place of the base.
    #[test]
    fn a_broken_base_is_told_by_its_own_name() {
        let tidb = builtin_text("tidb").replace("observer = \"none\"", "observer = \"nothing\"");
        let library = [("tidb", tidb.as_str())];
        let (source, tree) =
            from_library(&library, "my.toml", "base = \"tidb\"\n").expect("it is TOML");
        let at = tree.get_ref().get("observer").expect("a key").span().start;
        let line = tidb[..tidb.find("observer =").expect("there")]
            .matches('\n')
            .count();
        let error = source.error(at, "wrong");
        assert_eq!(
            error.to_string(),
            format!("dialects/tidb.toml:{}:12: wrong", line + 1)
        );
        let library = [("tidb", "observer = \n")];
        let error = from_library(&library, "my.toml", "base = \"tidb\"\n").expect_err("no TOML");
        assert!(
            error.to_string().starts_with("dialects/tidb.toml:1:"),
            "{error}"
        );
    }

    #[test]
    fn files_in_a_circle_are_refused() {
        let library = [
            ("one", "base = \"two\"\n"),
            ("two", "# second\nbase = \"one\"\n"),
            ("own", "base = \"own\"\n"),
        ];
        let error = |name: &str, text: &str| {
            let error = from_library(&library, name, text).expect_err("a circle");
            error.to_string()
        };
        let circle = "dialects/two.toml:2:8: base: \"one\" is laid over this file itself";
        assert_eq!(error("my.toml", "base = \"one\""), circle);
        assert_eq!(error("dialects/one.toml", library[0].1), circle);
        assert_eq!(
            error("dialects/own.toml", library[2].1),
            "dialects/own.toml:1:8: base: \"own\" is laid over this file itself"
        );
    }

    fn builtin_text(name: &str) -> &'static str {
        crate::dialect::builtin(name).expect("listed")
    }
}
