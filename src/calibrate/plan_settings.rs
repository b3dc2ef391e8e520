//! Whether the server takes the settings of the optimizer that the generator draws.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Stage};
use crate::dialect::{Dialect, PlanSetting};
use crate::model::Outcome;

/// The key of the dialect file that it proves.
pub(super) const KEY: &str = "plan-setting";

/// Each variable with each value.
pub(super) fn of(dialect: &Dialect) -> impl Iterator<Item = (&PlanSetting, &str)> {
    let settings = dialect.plan_settings.iter();
    settings.flat_map(|setting| setting.values.iter().map(move |v| (setting, v.as_str())))
}

/// Sets it in the session under test, which keeps it.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    (setting, value): (&PlanSetting, &str),
) -> Result<CalibratedEntry, Halt> {
    let sql = stage
        .server
        .dialect()
        .set_variable(&setting.variable, value);
    let (measured, proof) = match stage.tested.run(&sql)? {
        Outcome::Rejected(error) => (error.message, Proof::Wrong),
        Outcome::Rows(_) | Outcome::Affected(_) => ("accepted".to_owned(), Proof::Right),
    };
    let subject = format!("{KEY}.{}", setting.variable);
    let entry = CalibratedEntry::new(subject, sql, "accepted".to_owned(), proof);
    Ok(entry.measured(measured))
}
