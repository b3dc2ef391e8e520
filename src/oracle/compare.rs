//! Comparing what a run gave with what an account predicts. Exact: nothing is rounded or folded.

use std::cmp::Ordering;

use crate::model::{self, Aspect, Direction, Outcome, Row, RowOrder, StatementId, Value};

/// What differs between a prediction and an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) aspect: Aspect,
    pub(super) direction: Direction,
    pub(super) expected: String,
    pub(super) got: String,
}

/// Compares typed rows as multisets (in order where a total ORDER BY fixes it), affected rows, and
/// errors by class.
pub(super) fn outcomes(predicted: &Outcome, got: &Outcome, order: RowOrder) -> Option<Mismatch> {
    let mismatch = |aspect, direction| {
        Some(Mismatch {
            aspect,
            direction,
            expected: outcome_text(predicted, order),
            got: outcome_text(got, order),
        })
    };
    match (predicted, got) {
        (Outcome::Rows(a), Outcome::Rows(b)) => {
            let same = match order {
                RowOrder::Total => a == b,
                RowOrder::Unordered => same_rows(a, b),
            };
            if same {
                None
            } else {
                mismatch(Aspect::Rows, rows_direction(a, b))
            }
        }
        (Outcome::Affected(a), Outcome::Affected(b)) => match b.cmp(a) {
            Ordering::Equal => None,
            Ordering::Less => mismatch(Aspect::Affected, Direction::Lower),
            Ordering::Greater => mismatch(Aspect::Affected, Direction::Higher),
        },
        (Outcome::Rejected(a), Outcome::Rejected(b)) => {
            if a.class == b.class && a.code == b.code {
                None
            } else {
                mismatch(Aspect::Error, Direction::OtherError)
            }
        }
        (Outcome::Rejected(_), Outcome::Rows(_) | Outcome::Affected(_)) => {
            mismatch(Aspect::Error, Direction::Answered)
        }
        (Outcome::Rows(_) | Outcome::Affected(_), Outcome::Rejected(_)) => {
            mismatch(Aspect::Error, Direction::Refused)
        }
        (Outcome::Rows(_), Outcome::Affected(_)) | (Outcome::Affected(_), Outcome::Rows(_)) => {
            mismatch(Aspect::Error, Direction::Other)
        }
    }
}

/// The direction in which rows differ from the expected ones. The one number that an aggregate gives
/// is too low or too high.
pub(super) fn rows_direction(expected: &[Row], got: &[Row]) -> Direction {
    if let ([a], [b]) = (expected, got)
        && let ([Value::Integer(a)], [Value::Integer(b)]) = (a.as_slice(), b.as_slice())
    {
        return if b < a {
            Direction::Lower
        } else {
            Direction::Higher
        };
    }
    table_difference(expected, got).map_or(Direction::Order, |(missing, extra)| {
        difference_direction(&missing, &extra)
    })
}

/// The direction of a difference: rows that are missing, and rows that are too many.
pub(super) fn difference_direction(missing: &[Row], extra: &[Row]) -> Direction {
    match (missing.is_empty(), extra.is_empty()) {
        (_, true) => Direction::Lost,
        (true, false) => Direction::Extra,
        (false, false) if nulled(missing, extra) => Direction::Nulled,
        (false, false) if padded(missing, extra) => Direction::Padded,
        (false, false) => Direction::Changed,
    }
}

/// Whether these are the missing rows, each with NULL in place of some values.
fn nulled(missing: &[Row], extra: &[Row]) -> bool {
    each_stands_for_one(missing, extra, |cell, value| {
        cell == value || *cell == Value::Null
    })
}

/// Whether these are the missing rows, but for blanks at the end of texts.
fn padded(missing: &[Row], extra: &[Row]) -> bool {
    each_stands_for_one(missing, extra, |cell, value| match (cell, value) {
        (Value::Text(one), Value::Text(other)) => {
            one.trim_end_matches(' ') == other.trim_end_matches(' ')
        }
        (cell, value) => cell == value,
    })
}

/// Whether each extra row stands for another missing one, cell by cell, and none is left.
fn each_stands_for_one(
    missing: &[Row],
    extra: &[Row],
    stands_for: impl Fn(&Value, &Value) -> bool,
) -> bool {
    let is_of = |row: &Row, whole: &Row| {
        let mut cells = row.iter().zip(whole);
        row.len() == whole.len() && cells.all(|(cell, value)| stands_for(cell, value))
    };
    let mut left: Vec<&Row> = missing.iter().collect();
    let all_found = extra.iter().all(|row| {
        let place = left.iter().position(|whole| is_of(row, whole));
        place.map(|at| left.swap_remove(at)).is_some()
    });
    all_found && left.is_empty()
}

/// Whether two results hold the same rows, each as often.
pub fn same_rows(a: &[Row], b: &[Row]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let sorted = |rows: &[Row]| {
        let mut sorted: Vec<Row> = rows.to_vec();
        sorted.sort();
        sorted
    };
    sorted(a) == sorted(b)
}

/// An outcome in one line for people, its rows sorted unless their order counts.
pub(super) fn outcome_text(outcome: &Outcome, order: RowOrder) -> String {
    match (outcome, order) {
        (Outcome::Rows(rows), RowOrder::Unordered) => rows_text(rows),
        (Outcome::Rows(rows), RowOrder::Total) => shown_rows(rows),
        (Outcome::Affected(_) | Outcome::Rejected(_), _) => outcome.to_string(),
    }
}

/// Where something differs, for people.
pub(super) fn place_text(statement: Option<StatementId>) -> String {
    statement.map_or("the final state".to_owned(), |id| id.to_string())
}

/// Rows in one line, sorted, at most a dozen of them in full.
pub(super) fn rows_text(rows: &[Row]) -> String {
    let mut sorted = rows.to_vec();
    sorted.sort();
    shown_rows(&sorted)
}

fn shown_rows(rows: &[Row]) -> String {
    const SHOWN: usize = 12;
    match rows.split_at_checked(SHOWN) {
        Some((shown, rest)) if !rest.is_empty() => {
            format!("{} and {} more", model::rows_text(shown), rest.len())
        }
        _ => model::rows_text(rows),
    }
}

/// Two tables, rows that only one of them has: `missing (1, 2); extra (1, 3)`.
pub(super) fn table_difference(expected: &[Row], got: &[Row]) -> Option<(Vec<Row>, Vec<Row>)> {
    let only = |a: &[Row], b: &[Row]| {
        let mut left = b.to_vec();
        let mut rest = Vec::new();
        for row in a {
            match left.iter().position(|other| other == row) {
                Some(index) => {
                    left.swap_remove(index);
                }
                None => rest.push(row.clone()),
            }
        }
        rest
    };
    let (missing, extra) = (only(expected, got), only(got, expected));
    (!missing.is_empty() || !extra.is_empty()).then_some((missing, extra))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[i64]]) -> Vec<Row> {
        rows.iter()
            .map(|row| row.iter().copied().map(Value::Integer).collect())
            .collect()
    }

    #[test]
    fn rows_are_a_multiset_unless_a_total_order_fixes_them() {
        let a = Outcome::Rows(rows(&[&[1, 2], &[3, 4]]));
        let b = Outcome::Rows(rows(&[&[3, 4], &[1, 2]]));
        assert_eq!(outcomes(&a, &b, RowOrder::Unordered), None);
        assert_eq!(
            outcomes(&a, &b, RowOrder::Total).map(|m| m.aspect),
            Some(Aspect::Rows)
        );
    }

    #[test]
    fn cells_do_not_wander_between_rows() {
        let a = Outcome::Rows(rows(&[&[1, 2], &[3, 4]]));
        let b = Outcome::Rows(rows(&[&[1, 4], &[3, 2]]));
        assert_eq!(
            outcomes(&a, &b, RowOrder::Unordered).map(|m| m.aspect),
            Some(Aspect::Rows)
        );
        let twice = Outcome::Rows(rows(&[&[1, 2], &[1, 2], &[3, 4]]));
        let other = Outcome::Rows(rows(&[&[1, 2], &[3, 4], &[3, 4]]));
        assert!(outcomes(&twice, &other, RowOrder::Unordered).is_some());
    }

    #[test]
    fn rows_that_differ_by_null_alone_are_told_from_changed_ones() {
        let (one, two, null) = (Value::Integer(1), Value::Integer(2), Value::Null);
        let row = |a: &Value, b: &Value| vec![a.clone(), b.clone()];
        let right = [row(&one, &one), row(&two, &two)];
        let table = [
            (vec![row(&one, &null), row(&null, &null)], Direction::Nulled),
            (vec![row(&one, &null), row(&two, &two)], Direction::Nulled),
            (vec![row(&one, &null)], Direction::Changed),
            (vec![row(&one, &null), row(&null, &one)], Direction::Changed),
            (vec![row(&one, &two), row(&two, &two)], Direction::Changed),
        ];
        for (got, direction) in table {
            assert_eq!(rows_direction(&right, &got), direction, "{got:?}");
        }
    }

    #[test]
    fn rows_that_differ_by_blanks_at_the_end_alone_are_told_from_changed_ones() {
        let text = |text: &str| Value::Text(text.to_owned());
        let right = [
            vec![Value::Integer(1), text("a ")],
            vec![Value::Integer(2), text("b")],
        ];
        let table = [
            ("a", "b", Direction::Padded),
            ("a  ", "b ", Direction::Padded),
            (" a", "b", Direction::Changed),
            ("A", "b", Direction::Changed),
            ("b", "a", Direction::Changed),
        ];
        for (one, two, direction) in table {
            let got = [
                vec![Value::Integer(1), text(one)],
                vec![Value::Integer(2), text(two)],
            ];
            assert_eq!(rows_direction(&right, &got), direction, "{got:?}");
        }
        assert_eq!(
            rows_direction(&right, &[vec![Value::Integer(1), text("a")]]),
            Direction::Changed
        );
    }

    #[test]
    fn a_number_is_not_its_text() {
        let a = Outcome::Rows(vec![vec![Value::Integer(1)]]);
        let b = Outcome::Rows(vec![vec![Value::Text("1".to_owned())]]);
        assert!(outcomes(&a, &b, RowOrder::Unordered).is_some());
    }

    #[test]
    fn a_table_difference_names_both_sides() {
        let difference = table_difference(&rows(&[&[1], &[2]]), &rows(&[&[2], &[3]]));
        assert_eq!(difference, Some((rows(&[&[1]]), rows(&[&[3]]))));
        assert_eq!(
            table_difference(&rows(&[&[1], &[2]]), &rows(&[&[2], &[1]])),
            None
        );
    }
}
