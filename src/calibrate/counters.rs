//! What a counter that fills a column promises, and how a session is given its next number (MySQL manual,
//! "AUTO_INCREMENT Handling in InnoDB"; MariaDB manual, "AUTO_INCREMENT").

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Stage};
use crate::dialect::{Capability, Dialect};
use crate::model::{Outcome, Value};

/// The keys of the dialect file that it proves.
const CAPABILITY: &str = "capabilities.auto-increment";
const COUNT_FROM: &str = "spelling.count-from";

/// A table whose counter stands at 1.
const CREATE: &str =
    "CREATE TABLE counted (pkey BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT)";

/// The row keys that statements leave, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterFact {
    /// For people.
    form: &'static str,
    statements: &'static [&'static str],
    keys: &'static [i64],
    proves: Proves,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proves {
    Capability,
    /// The answer to the last statement names this number as the first.
    Answer(i64),
    /// This is the next number before the last statement.
    CountFrom(i64),
}

const FACTS: [CounterFact; 9] = [
    CounterFact {
        form: "INSERT without a number, with NULL, DEFAULT and 0",
        statements: &[
            "INSERT INTO counted (a) VALUES (1)",
            "INSERT INTO counted VALUES (NULL, 1), (DEFAULT, 1), (0, 1)",
        ],
        keys: &[1, 2, 3, 4],
        proves: Proves::Capability,
    },
    CounterFact {
        form: "INSERT after a ROLLBACK",
        statements: &[
            "BEGIN",
            "INSERT INTO counted (a) VALUES (1), (2)",
            "ROLLBACK",
            "INSERT INTO counted (a) VALUES (3)",
        ],
        keys: &[3],
        proves: Proves::Capability,
    },
    CounterFact {
        form: "INSERT after the last row was deleted",
        statements: &[
            "INSERT INTO counted (a) VALUES (1), (2)",
            "DELETE FROM counted",
            "INSERT INTO counted (a) VALUES (3)",
        ],
        keys: &[3],
        proves: Proves::Capability,
    },
    CounterFact {
        form: "INSERT after a greater number",
        statements: &[
            "INSERT INTO counted VALUES (7, 1)",
            "INSERT INTO counted (a) VALUES (1)",
        ],
        keys: &[7, 8],
        proves: Proves::Capability,
    },
    CounterFact {
        form: "INSERT after an UPDATE to a greater number",
        statements: &[
            "INSERT INTO counted VALUES (7, 1)",
            "UPDATE counted SET pkey = 9",
            "INSERT INTO counted (a) VALUES (1)",
        ],
        keys: &[9, 10],
        proves: Proves::Capability,
    },
    CounterFact {
        form: "the answer to an INSERT of two rows",
        statements: &[
            "INSERT INTO counted (a) VALUES (1)",
            "INSERT INTO counted (a) VALUES (1), (2)",
        ],
        keys: &[1, 2, 3],
        proves: Proves::Answer(2),
    },
    CounterFact {
        form: "the answer to an INSERT .. SELECT",
        statements: &[
            "INSERT INTO counted (a) VALUES (1), (2)",
            "INSERT INTO counted (a) SELECT r.a FROM counted AS r ORDER BY r.pkey",
        ],
        keys: &[1, 2, 3, 4],
        proves: Proves::Answer(3),
    },
    CounterFact {
        form: "INSERT of two rows",
        statements: &["INSERT INTO counted (a) VALUES (1), (2)"],
        keys: &[50, 51],
        proves: Proves::CountFrom(50),
    },
    CounterFact {
        form: "INSERT below the counter",
        statements: &[
            "INSERT INTO counted VALUES (60, 1)",
            "INSERT INTO counted (a) VALUES (1), (2)",
        ],
        keys: &[50, 51, 60],
        proves: Proves::CountFrom(50),
    },
];

/// What there is to prove.
pub(super) fn of(dialect: &Dialect) -> impl Iterator<Item = CounterFact> + use<'_> {
    let counts = dialect.supports(Capability::AutoIncrement);
    let gives = !dialect.spelling.count_from.is_empty();
    FACTS.into_iter().filter(move |fact| match fact.proves {
        Proves::Capability | Proves::Answer(_) => counts,
        Proves::CountFrom(_) => counts && gives,
    })
}

impl CounterFact {
    /// The key of the dialect file that it proves.
    pub(super) fn key(self) -> &'static str {
        match self.proves {
            Proves::Capability | Proves::Answer(_) => CAPABILITY,
            Proves::CountFrom(_) => COUNT_FROM,
        }
    }

    /// Asks the server.
    pub(super) fn probe(self, stage: &mut Stage<'_>) -> Result<CalibratedEntry, Halt> {
        let spelling = &stage.server.dialect().spelling;
        let (options, count_from) = (spelling.table_options.clone(), spelling.count_from.clone());
        stage.tested.must("DROP TABLE IF EXISTS counted")?;
        stage.tested.must(&format!("{CREATE}{options}"))?;
        let mut named = None;
        for (at, sql) in self.statements.iter().enumerate() {
            if let Proves::CountFrom(first) = self.proves
                && at + 1 == self.statements.len()
            {
                let sql = count_from.replace("{first}", &first.to_string());
                stage.tested.must(&sql)?;
            }
            stage.tested.must(sql)?;
            named = stage.tested.counted();
        }
        let rows = stage
            .tested
            .must("SELECT pkey FROM counted ORDER BY pkey")?;
        stage.tested.must("DROP TABLE counted")?;
        let claimed = told(
            self.keys.iter().copied(),
            match self.proves {
                Proves::Answer(first) => Some(first),
                Proves::Capability | Proves::CountFrom(_) => None,
            },
        );
        let named = named.filter(|_| matches!(self.proves, Proves::Answer(_)));
        let measured = told(keys(&rows), named);
        let proof = match measured == claimed {
            true => Proof::Right,
            false => Proof::Wrong,
        };
        let (subject, form) = (self.key().to_owned(), self.form.to_owned());
        let entry = CalibratedEntry::new(subject, form, claimed, proof);
        Ok(entry.measured(measured))
    }
}

fn keys(rows: &Outcome) -> impl Iterator<Item = i64> + use<'_> {
    let cells = rows.rows().iter().filter_map(|row| row.first());
    cells.filter_map(Value::as_integer)
}

fn told(keys: impl Iterator<Item = i64>, named: Option<i64>) -> String {
    let keys: Vec<String> = keys.map(|key| key.to_string()).collect();
    let named = named.map(|first| format!(", and the answer names {first}"));
    format!("{}{}", keys.join(" "), named.unwrap_or_default())
}
