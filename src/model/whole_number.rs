//! Whole numbers that do not fit the type of their column.

/// What a column of this type holds of a number in a session whose mode is not strict: the nearest one that the type has
/// (MySQL manual, "Out-of-Range and Overflow Handling"). None for a type that is no whole number of a known width.
pub fn nearest_held(sql_type: &str, number: i64) -> Option<i64> {
    let sql_type = sql_type.to_ascii_uppercase();
    let name = sql_type.split(|c: char| !c.is_ascii_alphanumeric()).next();
    let bits = match name.unwrap_or_default() {
        "TINYINT" | "INT1" | "BOOLEAN" | "BOOL" => 8,
        "SMALLINT" | "INT2" => 16,
        "MEDIUMINT" | "INT3" => 24,
        "INT" | "INTEGER" | "INT4" => 32,
        "BIGINT" | "INT8" => 64,
        _ => return None,
    };
    let half = 1_i128 << (bits - 1);
    let (least, greatest) = match sql_type.contains("UNSIGNED") {
        true => (0, 2 * half - 1),
        false => (-half, half - 1),
    };
    let nearest = i128::from(number).clamp(least, greatest);
    i64::try_from(nearest).ok()
}

#[cfg(test)]
mod tests {
    use super::nearest_held;

    #[test]
    fn a_number_beyond_a_type_becomes_its_nearest() {
        for (sql_type, number, held) in [
            ("TINYINT", 250, 127),
            ("tinyint(4)", -200, -128),
            ("TINYINT UNSIGNED", 250, 250),
            ("SMALLINT UNSIGNED", -1, 0),
            ("INT", 3_000_000_000, 2_147_483_647),
            ("BIGINT", i64::MIN, i64::MIN),
            ("BIGINT UNSIGNED", -5, 0),
        ] {
            assert_eq!(
                nearest_held(sql_type, number),
                Some(held),
                "{sql_type} {number}"
            );
        }
        assert_eq!(nearest_held("YEAR", 99), None);
    }
}
