//! The tables that are probed, and their rows.

use crate::dialect::{Capability, Dialect};

/// The rows of the tables with foreign keys, whatever was in them.
const FOREIGN_KEY_ROWS: [&str; 12] = [
    "DELETE FROM child",
    "DELETE FROM kept_child",
    "DELETE FROM holding_child",
    "DELETE FROM parent",
    "DELETE FROM kept_parent",
    "DELETE FROM held_parent",
    "INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)",
    "INSERT INTO kept_parent VALUES (1, 1), (55, 55), (101, 101)",
    "INSERT INTO held_parent VALUES (1, 1), (2, 2), (101, 101)",
    "INSERT INTO child VALUES (1, 2)",
    "INSERT INTO holding_child VALUES (1, 2)",
    "INSERT INTO kept_child VALUES (1, 1)",
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

/// The statements that bring every table but `w` and `z` to the rows that probes begin with.
pub(super) fn rows(dialect: &Dialect) -> Vec<String> {
    let mut statements = Vec::new();
    for table in ["t", "u"] {
        statements.push(format!("DELETE FROM {table}"));
        statements.push(format!("INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)"));
    }
    if dialect.supports(Capability::ForeignKey) {
        statements.extend(FOREIGN_KEY_ROWS.map(str::to_owned));
    }
    if dialect.supports(Capability::Trigger) {
        statements.extend(TRIGGERED.map(|(name, _)| format!("DELETE FROM {name}")));
    }
    statements
}
