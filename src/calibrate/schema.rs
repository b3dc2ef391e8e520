//! The tables that are probed, and their rows.

use std::collections::BTreeSet;

use crate::dialect::{Capability, Dialect};

/// Tables whose rows are brought back together, because a change of one reaches the other.
struct RestoredTables {
    /// A statement that names one of these tables may have changed the rows.
    named: &'static [&'static str],
    /// What an engine must have for the tables to be there.
    needs: Option<Capability>,
    /// The statements that bring the rows back, whatever was in the tables.
    restore: &'static [&'static str],
}

/// Every table but `w` and `z`, which no probe changes.
const RESTORED: [RestoredTables; 7] = [
    RestoredTables {
        named: &["t", "adding", "changing"],
        needs: None,
        restore: &[
            "DELETE FROM t",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        ],
    },
    RestoredTables {
        named: &["u"],
        needs: None,
        restore: &[
            "DELETE FROM u",
            "INSERT INTO u VALUES (1, 1), (2, 2), (3, 3)",
        ],
    },
    RestoredTables {
        named: &["parent", "child"],
        needs: Some(Capability::ForeignKey),
        restore: &[
            "DELETE FROM child",
            "DELETE FROM parent",
            "INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)",
            "INSERT INTO child VALUES (1, 2)",
        ],
    },
    RestoredTables {
        named: &["kept_parent", "kept_child"],
        needs: Some(Capability::ForeignKey),
        restore: &[
            "DELETE FROM kept_child",
            "DELETE FROM kept_parent",
            "INSERT INTO kept_parent VALUES (1, 1), (55, 55), (101, 101)",
            "INSERT INTO kept_child VALUES (1, 1)",
        ],
    },
    RestoredTables {
        named: &["held_parent", "holding_child"],
        needs: Some(Capability::ForeignKey),
        restore: &[
            "DELETE FROM holding_child",
            "DELETE FROM held_parent",
            "INSERT INTO held_parent VALUES (1, 1), (2, 2), (101, 101)",
            "INSERT INTO holding_child VALUES (1, 2)",
        ],
    },
    RestoredTables {
        named: &["adding"],
        needs: Some(Capability::Trigger),
        restore: &["DELETE FROM adding"],
    },
    RestoredTables {
        named: &["changing"],
        needs: Some(Capability::Trigger),
        restore: &["DELETE FROM changing"],
    },
];

/// The tables whose new rows fire a trigger that writes `t`, and what it does.
const TRIGGERED: [(&str, &str); 2] = [
    ("adding", "INSERT INTO t VALUES (NEW.pkey, NEW.c)"),
    ("changing", "UPDATE t SET c = c + 1000 WHERE pkey = NEW.c"),
];

/// The statements that make the tables.
pub(super) fn schema(dialect: &Dialect) -> Vec<String> {
    let options = &dialect.spelling.table_options;
    let table = |name: &str, key: &str| {
        format!("CREATE TABLE {name} (pkey INTEGER PRIMARY KEY, c INTEGER{key}){options}")
    };
    let mut made: Vec<String> = ["t", "u", "w", "z"].map(|name| table(name, "")).into();
    if dialect.supports(Capability::ForeignKey) {
        made.extend(["parent", "kept_parent", "held_parent"].map(|name| table(name, "")));
        made.push(table("child", ", FOREIGN KEY (c) REFERENCES parent (pkey)"));
        let kept = ", FOREIGN KEY (c) REFERENCES kept_parent (pkey) ON DELETE CASCADE \
                    ON UPDATE CASCADE";
        made.push(table("kept_child", kept));
        let held = ", FOREIGN KEY (c) REFERENCES held_parent (pkey)";
        made.push(table("holding_child", held));
    }
    if dialect.supports(Capability::Trigger) {
        made.extend(TRIGGERED.map(|(name, _)| table(name, "")));
        made.extend(TRIGGERED.map(|(name, body)| {
            let body = dialect.trigger_body(body);
            format!("CREATE TRIGGER after_{name} AFTER INSERT ON {name} FOR EACH ROW {body}")
        }));
    }
    made
}

/// The statements that fill every table but `w` and `z` with the rows that probes begin with.
pub(super) fn all_rows(dialect: &Dialect) -> Vec<&'static str> {
    restored(dialect, |_| true)
}

/// The statements that bring back what these statements may have changed, in their order.
pub(super) fn changed_rows<'s>(
    dialect: &Dialect,
    statements: impl Iterator<Item = &'s str>,
) -> Vec<&'static str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let writes = statements.filter(|sql| !sql.starts_with("SELECT "));
    let words: BTreeSet<&str> = writes.flat_map(|sql| sql.split(|c| !is_part(c))).collect();
    restored(dialect, |table| words.contains(table))
}

fn restored(dialect: &Dialect, is_named: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let there = RESTORED
        .iter()
        .filter(|tables| tables.needs.is_none_or(|needed| dialect.supports(needed)));
    there
        .filter(|tables| tables.named.iter().any(|table| is_named(table)))
        .flat_map(|tables| tables.restore.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{BUILTIN, ServerVersion, parse};

    #[test]
    fn what_a_statement_names_is_brought_back_and_what_its_triggers_write() {
        let all = BUILTIN
            .iter()
            .map(|(name, text)| parse(name, text, &ServerVersion(vec![99])).expect(name));
        let is_full =
            |d: &Dialect| d.supports(Capability::ForeignKey) && d.supports(Capability::Trigger);
        let dialect = all.into_iter().find(is_full).expect("one has both");
        let first = |sql: &str| {
            let restored = changed_rows(&dialect, [sql].into_iter());
            restored.first().copied().unwrap_or("nothing")
        };
        assert_eq!(first("UPDATE t SET c = 1"), "DELETE FROM t");
        assert_eq!(first("INSERT INTO u SELECT * FROM w"), "DELETE FROM u");
        assert_eq!(first("INSERT INTO adding VALUES (1, 1)"), "DELETE FROM t");
        assert_eq!(first("WITH x AS (DELETE FROM u) SELECT 1"), "DELETE FROM u");
        assert_eq!(first("DELETE FROM kept_parent"), "DELETE FROM kept_child");
        assert_eq!(first("SELECT c FROM t FOR UPDATE"), "nothing");
        assert_eq!(first("BEGIN"), "nothing");
        // Every table that is made is brought back, but for those that no probe changes.
        let made = schema(&dialect).into_iter();
        let tables = made.filter_map(|sql| Some(sql.strip_prefix("CREATE TABLE ")?.to_owned()));
        for table in tables {
            let name = table.split(' ').next().expect("a name");
            let delete = format!("DELETE FROM {name}");
            let is_restored = all_rows(&dialect).contains(&delete.as_str());
            assert_eq!(is_restored, !["w", "z"].contains(&name), "{name}");
            assert_eq!(
                changed_rows(&dialect, [delete.as_str()].into_iter()).is_empty(),
                !is_restored,
                "{name}"
            );
        }
    }
}
