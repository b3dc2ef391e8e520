//! Sets of values of one column, as conditions with constants leave them.

use std::cmp::Ordering;

/// A constant that bounds a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bounding<'a> {
    Number(f64),
    Text(&'a str),
    Null,
}

/// An end of an interval.
#[derive(Clone, Debug, PartialEq)]
struct End {
    value: RangeConstant,
    /// The value itself belongs to the interval.
    closed: bool,
}

/// A constant that is not NULL.
#[derive(Clone, Debug, PartialEq)]
enum RangeConstant {
    Number(f64),
    Text(String),
}

impl RangeConstant {
    /// How two constants of one type compare.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(b),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Number(_), Self::Text(_)) | (Self::Text(_), Self::Number(_)) => None,
        }
    }
}

/// All values between two ends; without an end, however far.
#[derive(Clone, Debug, Default, PartialEq)]
struct Interval {
    low: Option<End>,
    high: Option<End>,
}

impl Interval {
    /// Whether no value lies in it, as far as the ends can be compared.
    fn is_empty(&self) -> bool {
        let (Some(low), Some(high)) = (&self.low, &self.high) else {
            return false;
        };
        match low.value.order(&high.value) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => !(low.closed && high.closed),
            Some(Ordering::Less) | None => false,
        }
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            low: inner(&self.low, &other.low, Ordering::Greater),
            high: inner(&self.high, &other.high, Ordering::Less),
        }
    }
}

/// Of two ends the one that leaves less: the one that lies this way of the other.
fn inner(one: &Option<End>, other: &Option<End>, way: Ordering) -> Option<End> {
    let (Some(a), Some(b)) = (one, other) else {
        return one.clone().or_else(|| other.clone());
    };
    match a.value.order(&b.value) {
        Some(Ordering::Equal) if a.closed => Some(b.clone()),
        Some(order) if order == way.reverse() => Some(b.clone()),
        Some(_) | None => Some(a.clone()),
    }
}

/// The values that a condition leaves a column.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::statement) struct Region {
    intervals: Vec<Interval>,
    /// NULL, too.
    null: bool,
    /// An equality with one constant is among the conditions that all must hold.
    by_equality: bool,
}

impl Region {
    fn of(intervals: Vec<Interval>) -> Self {
        Self {
            intervals,
            null: false,
            by_equality: false,
        }
    }

    /// Greater than this, or equal to it; nothing is greater than NULL.
    pub(super) fn above(value: Bounding<'_>, closed: bool) -> Self {
        let low = end(value, closed);
        let interval = low.map(|low| Interval {
            low: Some(low),
            high: None,
        });
        Self::of(interval.into_iter().collect())
    }

    /// Less than this, or equal to it; nothing is less than NULL.
    pub(super) fn below(value: Bounding<'_>, closed: bool) -> Self {
        let high = end(value, closed);
        let interval = high.map(|high| Interval {
            low: None,
            high: Some(high),
        });
        Self::of(interval.into_iter().collect())
    }

    /// Equal to one of these; nothing is equal to NULL.
    pub(super) fn of_values(values: &[Bounding<'_>]) -> Self {
        let ends = values.iter().filter_map(|value| end(*value, true));
        let point = |end: End| Interval {
            low: Some(end.clone()),
            high: Some(end),
        };
        Self {
            intervals: ends.map(point).collect(),
            null: false,
            by_equality: matches!(values, [one] if *one != Bounding::Null),
        }
    }

    /// Not equal to this; whatever is compared with NULL is unknown.
    pub(super) fn other_than(value: Bounding<'_>) -> Self {
        let mut intervals = Self::below(value, false).intervals;
        intervals.extend(Self::above(value, false).intervals);
        Self::of(intervals)
    }

    pub(super) fn null() -> Self {
        Self {
            intervals: Vec::new(),
            null: true,
            by_equality: false,
        }
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        let pairs = self
            .intervals
            .iter()
            .flat_map(|one| other.intervals.iter().map(|another| one.and(another)));
        Self {
            intervals: pairs.filter(|interval| !interval.is_empty()).collect(),
            null: self.null && other.null,
            by_equality: self.by_equality || other.by_equality,
        }
    }

    pub(super) fn or(mut self, other: &Self) -> Self {
        self.intervals.extend(other.intervals.iter().cloned());
        self.null |= other.null;
        self.by_equality &= other.by_equality;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty() && !self.null
    }

    pub(super) fn is_null_only(&self) -> bool {
        self.intervals.is_empty() && self.null
    }

    pub(super) fn is_by_equality(&self) -> bool {
        self.by_equality
    }
}

fn end(value: Bounding<'_>, closed: bool) -> Option<End> {
    let value = match value {
        Bounding::Number(number) => RangeConstant::Number(number),
        Bounding::Text(text) => RangeConstant::Text(text.to_owned()),
        Bounding::Null => return None,
    };
    Some(End { value, closed })
}
