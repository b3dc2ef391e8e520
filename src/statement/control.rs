//! Transaction control and settings, recognised by their words.

use super::token::{SqlToken, TokenKind, stands, tokens, without_end};
use crate::dialect::{Capability, Dialect, ParserKind};
use crate::model::{Effect, Setting, StatementKind};

/// What commits the transaction that it is executed in. MySQL manual, "Statements That Cause an Implicit Commit", without
/// those that change a schema.
const COMMITTING: [&str; 7] = [
    "ANALYZE", "CACHE", "CHECK", "FLUSH", "LOAD", "OPTIMIZE", "REPAIR",
];

/// Whether a statement that is no COMMIT ends its transaction by that.
pub fn commits_by_itself(sql: &str, dialect: &Dialect) -> bool {
    let words = tokens(sql, dialect).unwrap_or_default();
    let first = words.first();
    dialect.spelling.parser == ParserKind::MySql
        && first.is_some_and(|word| word.is_any(&COMMITTING))
}

/// The effect of a control statement; None for any other.
pub(super) fn analyze(tokens: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    let first = tokens.first()?;
    let rest = tokens.get(1..)?;
    if first.is("BEGIN") {
        let mode = skip(skip(rest, "WORK"), "TRANSACTION");
        let has_modes = dialect.spelling.parser == ParserKind::PostgreSql
            && mode.first().is_some_and(|word| word.is_any(&MODES));
        return match has_modes {
            true => Some(begin_in_mode(mode)),
            false => begin(rest).map(Effect::of_kind),
        };
    }
    if first.is("START") && stands(tokens, 1, &["TRANSACTION"]) {
        return Some(begin_in_mode(&tokens[2..]));
    }
    if first.is("COMMIT") || first.is("END") {
        return end(StatementKind::Commit, rest, dialect);
    }
    if first.is("ROLLBACK") {
        return rollback(rest, dialect);
    }
    if first.is("ABORT") && dialect.spelling.parser == ParserKind::PostgreSql {
        return end(StatementKind::Rollback, rest, dialect);
    }
    if first.is("SAVEPOINT") && rest.len() == 1 {
        return named(StatementKind::Savepoint, rest, dialect);
    }
    if first.is("RELEASE") {
        let rest = skip(rest, "SAVEPOINT");
        return (rest.len() == 1)
            .then(|| named(StatementKind::ReleaseSavepoint, rest, dialect))
            .flatten();
    }
    if first.is("SET") || first.is("PRAGMA") {
        return Some(Effect {
            setting: Some(setting(rest, dialect)),
            ..Effect::of_kind(StatementKind::Set)
        });
    }
    None
}

/// Whether a statement says that transactions of its session take their snapshot only when it is safe (PostgreSQL manual, "SET
/// TRANSACTION"). It may stand in the BEGIN, or in the name of a variable.
pub fn defers_snapshots(sql: &str, effect: &Effect) -> bool {
    let begins = effect.kind.is_begin() || effect.kind == StatementKind::Set;
    begins && sql.to_ascii_lowercase().contains("deferrable")
}

/// What a SET or PRAGMA assigns, as one word in lower case: `optimizer_switch=mrr=on`. None for any other
/// statement.
pub fn assignment(sql: &str, dialect: &Dialect) -> Option<String> {
    let tokens = tokens(sql, dialect)?;
    let (first, rest) = without_end(&tokens).split_first()?;
    if !first.is("SET") && !first.is("PRAGMA") {
        return None;
    }
    let words = skip(skip(rest, "SESSION"), "LOCAL").iter();
    let text: String = words
        .map(|word| if word.is("TO") { "=" } else { word.text })
        .collect();
    let quotes_and_blanks = |c: char| c == '\'' || c == '"' || c.is_whitespace();
    Some(text.replace(quotes_and_blanks, "").to_lowercase())
}

/// What a SET or PRAGMA changes, by the words after it. Of several settings the least harmless.
fn setting(rest: &[SqlToken<'_>], dialect: &Dialect) -> Setting {
    const TIMEOUTS: [&str; 4] = [
        "innodb_lock_wait_timeout",
        "lock_wait_timeout",
        "lock_timeout",
        "busy_timeout",
    ];
    const LEVELS: [&str; 3] = [
        "transaction_isolation",
        "tx_isolation",
        "default_transaction_isolation",
    ];
    let sets_level = (0..rest.len()).any(|at| stands(rest, at, &["ISOLATION", "LEVEL"]))
        || rest.iter().any(|word| word.is_any(&LEVELS));
    if sets_level {
        return Setting::Level;
    }
    let has_several = rest.iter().any(|word| word.is_mark(','));
    if !has_several && rest.iter().any(|word| word.is_any(&TIMEOUTS)) {
        return Setting::LockTimeout;
    }
    let variable = skip(skip(rest, "SESSION"), "LOCAL").first();
    let is_of_plans = variable.and_then(SqlToken::name);
    if !has_several && is_of_plans.is_some_and(|name| dialect.is_plan_setting(&name)) {
        return Setting::Plan;
    }
    let rest = skip(skip(rest, "SESSION"), "LOCAL");
    if let [variable, equals, value] = rest
        && equals.is_mark('=')
        && let Some(variable) = variable.name()
        && dialect.is_session_mode(&variable, value.text)
    {
        return Setting::Mode;
    }
    Setting::Other
}

/// What a transaction's modes begin with (PostgreSQL manual, "BEGIN").
const MODES: [&str; 4] = ["ISOLATION", "READ", "DEFERRABLE", "NOT"];

/// A transaction that begins in these modes: its level, if they name one, is not that of the case's header.
fn begin_in_mode(mode: &[SqlToken<'_>]) -> Effect {
    let says = |words: &[&str]| (0..mode.len()).any(|at| stands(mode, at, words));
    let kind = match says(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
        true => StatementKind::BeginSnapshot,
        false => StatementKind::Begin,
    };
    Effect {
        read_only: says(&["READ", "ONLY"]),
        setting: says(&["ISOLATION", "LEVEL"]).then_some(Setting::Level),
        ..Effect::of_kind(kind)
    }
}

/// `BEGIN`, with WORK or TRANSACTION, with SQLite's modes; not the BEGIN of a stored program.
fn begin(rest: &[SqlToken<'_>]) -> Option<StatementKind> {
    let (kind, rest) = match rest.first() {
        Some(word) if word.is("IMMEDIATE") || word.is("EXCLUSIVE") => {
            (StatementKind::BeginImmediate, &rest[1..])
        }
        Some(word) if word.is("DEFERRED") => (StatementKind::Begin, &rest[1..]),
        _ => (StatementKind::Begin, rest),
    };
    let rest = skip(skip(rest, "WORK"), "TRANSACTION");
    rest.is_empty().then_some(kind)
}

/// `ROLLBACK [WORK|TRANSACTION] [TO [SAVEPOINT] name]`.
fn rollback(rest: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    let behind = skip(skip(rest, "WORK"), "TRANSACTION");
    if !stands(behind, 0, &["TO"]) {
        return end(StatementKind::Rollback, rest, dialect);
    }
    let rest = skip(&behind[1..], "SAVEPOINT");
    (rest.len() == 1)
        .then(|| named(StatementKind::RollbackTo, rest, dialect))
        .flatten()
}

/// `[WORK|TRANSACTION] [AND [NO] CHAIN] [NO RELEASE]` (MySQL manual, "START TRANSACTION, COMMIT, and ROLLBACK Statements"; PostgreSQL
/// manual, "COMMIT"). RELEASE alone ends the session, too.
fn end(kind: StatementKind, rest: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    let mut rest = skip(skip(rest, "WORK"), "TRANSACTION");
    let knows_chains = dialect.supports(Capability::Chain);
    let chains = knows_chains && stands(rest, 0, &["AND", "CHAIN"]);
    if chains {
        rest = &rest[2..];
    } else if knows_chains && stands(rest, 0, &["AND", "NO", "CHAIN"]) {
        rest = &rest[3..];
    }
    if dialect.spelling.parser == ParserKind::MySql && stands(rest, 0, &["NO", "RELEASE"]) {
        rest = &rest[2..];
    }
    rest.is_empty().then(|| Effect {
        chains,
        ..Effect::of_kind(kind)
    })
}

/// The rest after an optional word.
fn skip<'t, 'a>(tokens: &'t [SqlToken<'a>], word: &str) -> &'t [SqlToken<'a>] {
    match tokens.first() {
        Some(token) if token.is(word) => &tokens[1..],
        _ => tokens,
    }
}

/// An effect about the savepoint that the token names.
fn named(kind: StatementKind, tokens: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    let token = tokens.first()?;
    let name = token.name()?;
    let is_exact = dialect.supports(Capability::FoldsNames)
        && token.kind == TokenKind::Quoted
        && name != name.to_lowercase();
    Some(Effect {
        savepoint: Some(if is_exact {
            format!("\"{name}\"")
        } else {
            name
        }),
        ..Effect::of_kind(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{self, tests::dialect};

    #[test]
    fn a_mode_is_one_of_those_that_the_dialect_names() {
        let told = |sql: &str| statement::analyze(sql, &dialect("mysql")).setting;
        let mode = dialect("mysql").session_mode.expect("sql_mode");
        for value in mode.others.iter().chain([&mode.usual]) {
            let sql = format!("set session SQL_MODE = {value};");
            assert_eq!(told(&sql), Some(Setting::Mode), "{sql}");
            let sql = format!("SET sql_mode = {value}, autocommit = 0");
            assert_eq!(told(&sql), Some(Setting::Other), "{sql}");
            let sql = format!("SET GLOBAL sql_mode = {value}");
            assert_eq!(told(&sql), Some(Setting::Other), "{sql}");
        }
        let sql = "SET SESSION sql_mode = 'ANSI_QUOTES'";
        assert_eq!(told(sql), Some(Setting::Other));
    }

    #[test]
    fn an_end_may_begin_the_next_transaction() {
        use StatementKind::{Commit, Opaque, Rollback};
        let told = |sql: &str, engine: &str| {
            let effect = statement::analyze(sql, &dialect(engine));
            (effect.kind, effect.chains)
        };
        for (sql, of_mysql, of_postgres) in [
            ("COMMIT AND CHAIN", (Commit, true), (Commit, true)),
            ("commit work and chain;", (Commit, true), (Commit, true)),
            ("COMMIT AND NO CHAIN", (Commit, false), (Commit, false)),
            ("ROLLBACK AND CHAIN", (Rollback, true), (Rollback, true)),
            (
                "ROLLBACK AND CHAIN NO RELEASE",
                (Rollback, true),
                (Opaque, false),
            ),
            ("COMMIT NO RELEASE", (Commit, false), (Opaque, false)),
            ("COMMIT RELEASE", (Opaque, false), (Opaque, false)),
            ("COMMIT AND CHAIN RELEASE", (Opaque, false), (Opaque, false)),
            ("COMMIT AND", (Opaque, false), (Opaque, false)),
            ("END AND CHAIN", (Commit, true), (Commit, true)),
            (
                "ABORT TRANSACTION AND CHAIN",
                (Opaque, false),
                (Rollback, true),
            ),
        ] {
            assert_eq!(told(sql, "mysql"), of_mysql, "{sql}");
            assert_eq!(told(sql, "mariadb"), of_mysql, "{sql}");
            assert_eq!(told(sql, "postgres"), of_postgres, "{sql}");
        }
        // It takes the words and begins nothing.
        assert_eq!(told("COMMIT AND CHAIN", "tidb"), (Opaque, false));
        assert_eq!(told("COMMIT AND CHAIN", "sqlite"), (Opaque, false));
    }

    #[test]
    fn settings_of_the_optimizer_are_those_of_the_dialect_one_at_a_time() {
        let told = |sql: &str, engine: &str| statement::analyze(sql, &dialect(engine)).setting;
        for (sql, engine) in [
            (
                "SET SESSION optimizer_switch = 'mrr=on,mrr_cost_based=off'",
                "mysql",
            ),
            ("set join_cache_level = 8", "mariadb"),
            ("SET enable_seqscan TO off", "postgres"),
            ("PRAGMA reverse_unordered_selects = ON", "sqlite"),
        ] {
            assert_eq!(told(sql, engine), Some(Setting::Plan), "{sql}");
        }
        for (sql, word) in [
            (
                "SET SESSION optimizer_switch = 'mrr=on, Skip_Scan=off';",
                "optimizer_switch=mrr=on,skip_scan=off",
            ),
            ("SET enable_seqscan TO OFF", "enable_seqscan=off"),
            ("PRAGMA automatic_index = OFF", "automatic_index=off"),
        ] {
            assert_eq!(assignment(sql, &dialect("mysql")).as_deref(), Some(word));
        }
        assert_eq!(assignment("BEGIN", &dialect("mysql")), None);
        for (sql, engine) in [
            ("SET SESSION sql_mode = 'optimizer_switch'", "mysql"),
            ("SET join_buffer_size = 128, autocommit = 0", "mysql"),
            ("SET SESSION join_cache_level = 8", "mysql"),
            ("SET GLOBAL optimizer_switch = 'mrr=on'", "mysql"),
            ("SET autocommit = @@join_buffer_size", "mysql"),
            ("PRAGMA foreign_keys = ON", "sqlite"),
        ] {
            assert_eq!(told(sql, engine), Some(Setting::Other), "{sql}");
        }
    }
}
