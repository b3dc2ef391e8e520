//! Tables whose row key a counter fills, and the rows that get their key from it.

use super::entropy::Entropy;
use super::expand::Expander;
use super::schema::TablePlan;
use super::scope::KeyListing;
use crate::dialect::{Capability, Dialect};

/// How many of the tables with a key on `pkey`, of a hundred, of a schema with counters have one.
const TABLE_PERCENT: usize = 65;

/// Has counters fill the row keys of some tables; of none in most schemas.
pub(super) fn add_counters(
    entropy: &mut Entropy<'_>,
    percent: usize,
    tables: &mut [TablePlan],
    dialect: &Dialect,
) {
    if !dialect.supports(Capability::AutoIncrement) || !entropy.percent(percent) {
        return;
    }
    for table in tables.iter_mut().filter(|table| table.keyed) {
        if !entropy.percent(TABLE_PERCENT) {
            continue;
        }
        const DECLARED: &str = "(pkey BIGINT NOT NULL";
        let create = &mut table.statements[0];
        if let Some(at) = create.find(DECLARED) {
            create.insert_str(at + DECLARED.len(), " AUTO_INCREMENT");
            table.counted = true;
        }
    }
}

impl Expander<'_, '_, '_> {
    /// The column list of an INSERT each of whose rows gets its key from the counter.
    pub(super) fn counted_columns(&mut self, table: usize) {
        let listing = match self.entropy.percent(60) {
            true => KeyListing::LeftOut,
            false => KeyListing::Counted,
        };
        self.list_columns(table, listing);
    }

    /// What stands for the key of a row that the counter gives one, with the comma behind it.
    pub(super) fn counted_key(&mut self, table: usize) -> &'static str {
        self.stock.counted_key(table);
        match (self.key_listing, self.entropy.below(10)) {
            (KeyListing::LeftOut, _) => "",
            (KeyListing::Listed | KeyListing::Counted, 0..5) => "NULL, ",
            (KeyListing::Listed | KeyListing::Counted, 5..8) => "DEFAULT, ",
            (KeyListing::Listed | KeyListing::Counted, _) => "0, ",
        }
    }
}
