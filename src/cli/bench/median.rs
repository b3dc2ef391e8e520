//! The middle of several measurements, and how far they spread.

/// The middle value; of an even number the lower one.
pub(super) fn median(values: Vec<f64>) -> f64 {
    Spread::of(values).median
}

/// Where measurements lie: half of them between the quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) lower_quartile: f64,
    pub(super) median: f64,
    pub(super) upper_quartile: f64,
}

impl Spread {
    /// Zero of no values. Of two values beside a quartile's place it is the lower one.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1);
        let at = |quarters: usize| values.get(last * quarters / 4).copied().unwrap_or_default();
        Self {
            lower_quartile: at(1),
            median: at(2),
            upper_quartile: at(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0]) - 1.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }

    #[test]
    fn half_of_the_values_lie_between_the_quartiles() {
        let spread = Spread::of(vec![9.0, 1.0, 5.0, 3.0, 7.0]);
        let expected = Spread {
            lower_quartile: 3.0,
            median: 5.0,
            upper_quartile: 7.0,
        };
        assert_eq!(spread, expected);
    }
}
