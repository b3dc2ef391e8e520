//! The JSON beside a case file: what machines want to know of a finding.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::engine::Identity;
use crate::model::{
    Execution, Finding, Outcome, Row, StatementId, StatementRecord, TestCase, TransactionStatus,
    UndecidedReason, Value,
};

/// What goes into the sidecar of a case.
#[derive(Clone, Debug)]
pub struct Sidecar<'a> {
    pub server: &'a Identity,
    /// The case as published: the minimized one.
    pub case: &'a TestCase,
    pub finding: Option<&'a Finding>,
    /// The run that was judged.
    pub execution: Option<&'a Execution>,
    /// Seed, options, timings, counts: anything that the caller wants to keep, by name.
    pub run: Map<String, Json>,
}

/// The text of the sidecar.
pub fn sidecar(of: &Sidecar<'_>) -> String {
    let mut root = json!({
        "v": 1,
        "server": {
            "engine": of.server.engine,
            "version": of.server.version_text,
            "variables": of.server.variables,
        },
        "run": of.run,
        "case": case(of.case),
    });
    if let Some(found) = of.finding {
        root["finding"] = finding(found);
    }
    if let Some(run) = of.execution {
        root["execution"] = execution(of.case, run);
    }
    format!("{root:#}\n")
}

fn case(case: &TestCase) -> Json {
    let statements: Vec<Json> = case
        .statements
        .iter()
        .map(|s| {
            json!({
                "id": s.id.to_string(),
                "session": s.session.to_string(),
                "kind": s.effect.kind.slug(),
                "sql": s.sql,
            })
        })
        .collect();
    let setup: Vec<&str> = case.setup.iter().map(|s| s.sql.as_str()).collect();
    let isolation: BTreeMap<String, &str> = case
        .isolation
        .iter()
        .map(|(session, level)| (session.to_string(), level.sql()))
        .collect();
    json!({
        "setup": setup,
        "statements": statements,
        "isolation": isolation,
        "claim": case.claim.map(crate::model::IsolationLevel::sql),
    })
}

fn finding(finding: &Finding) -> Json {
    let signature = &finding.signature;
    let differences: Vec<Json> = finding
        .differences
        .iter()
        .map(|difference| {
            json!({
                "statement": difference.statement.map(|id| id.to_string()),
                "aspect": difference.aspect.slug(),
                "expected": difference.expected,
                "got": difference.got,
            })
        })
        .collect();
    json!({
        "signature": {
            "id": signature.id(),
            "group": signature.group(),
            "anomaly": signature.anomaly.slug(),
            "oracle": signature.oracle,
            "kind": signature.kind.slug(),
            "levels": signature.levels,
            "features": signature.features,
        },
        "headline": finding.headline,
        "differences": differences,
        "explanation": finding.explanation,
    })
}

fn execution(case: &TestCase, execution: &Execution) -> Json {
    let records: Vec<Json> = execution.records.values().map(record).collect();
    let transactions: BTreeMap<String, Json> = execution
        .transactions
        .iter()
        .map(|(id, status)| (id.to_string(), transaction(*status)))
        .collect();
    let order: Vec<String> = execution
        .execution_order()
        .iter()
        .map(StatementId::to_string)
        .collect();
    let state: BTreeMap<&str, Json> = case
        .own_final_state(execution)
        .into_iter()
        .map(|(table, content)| (table, rows(&content)))
        .collect();
    let mut told = json!({
        "records": records,
        "order": order,
        "transactions": transactions,
        "final_state": state,
        "unreliable": execution.unreliable.map(UndecidedReason::slug),
        "statements_sent": execution.statements_sent,
    });
    if let Some(crash) = &execution.crash {
        told["crash"] = json!({ "at": crash.at.0, "settings": crash.settings });
    }
    told
}

fn record(record: &StatementRecord) -> Json {
    let waited_for: Vec<String> = record.waited_for.iter().map(ToString::to_string).collect();
    json!({
        "id": record.id.to_string(),
        "sent": record.sent.0,
        "waiting": record.waiting.map(|tick| tick.0),
        "waited_for": waited_for,
        "answered": record.answered.0,
        "outcome": outcome(&record.outcome),
        "transaction_survives": record.transaction_survives,
    })
}

fn transaction(status: TransactionStatus) -> Json {
    match status {
        TransactionStatus::Committed(tick) => json!({ "committed": tick.0 }),
        TransactionStatus::Aborted(tick) => json!({ "aborted": tick.0 }),
        TransactionStatus::Indeterminate => json!("indeterminate"),
    }
}

fn outcome(outcome: &Outcome) -> Json {
    match outcome {
        Outcome::Rows(content) => json!({ "rows": rows(content) }),
        Outcome::Affected(count) => json!({ "affected": count }),
        Outcome::Rejected(error) => json!({
            "error": { "code": error.code, "class": error.class.slug(), "message": error.message }
        }),
    }
}

fn rows(rows: &[Row]) -> Json {
    rows.iter()
        .map(|row| row.iter().map(value).collect::<Json>())
        .collect()
}

/// A cell with its type: what JSON has as it is, everything else in an object that names the type.
fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => json!(number),
        Value::Unsigned(number) => json!(number),
        Value::Real(number) => json!({ "real": format!("{number:?}") }),
        Value::Decimal(text) => json!({ "decimal": text }),
        Value::Text(text) => json!(text),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "bytes": digits })
        }
        Value::Temporal(text) => json!({ "temporal": text }),
    }
}
