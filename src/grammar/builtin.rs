//! The built-in nonterminals: scopes, names, keys, typed columns.

use crate::dialect::TypeClass;

/// A name that a production gives to a table or a column, local to that production.
pub type Local = String;

/// Which tables a `bind` may draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// Written by the statement; called by its own name.
    Target,
    /// Its columns are not in scope (the target of an INSERT).
    Hidden,
    /// Not written by the statement.
    Other,
    /// Its `pkey` is a primary or unique key.
    Keyed,
    /// Its `pkey` is the primary key.
    Primary,
    /// It has no unique key beside `pkey`.
    Lonely,
    /// A counter fills its `pkey`.
    Counted,
}

/// How many rows a SET list applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignedRows {
    /// At most one: columns of unique keys may be assigned.
    One,
    Many,
}

/// The row key of an `insert-values`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRow {
    /// A key never used before.
    Fresh,
    /// A key that is or may be in the table.
    Existing,
    /// As `Fresh`, but rarely an existing key, or NULL in a NOT NULL column: failing statements
    /// find bugs, too (TiDB#43294).
    Risky,
    /// The key of an earlier row of the same statement, which no unique key allows.
    Repeated,
    /// A key that is or may be in the table, and a value that the engine rejects.
    Broken,
    /// A key that the counter of the table gives.
    Counted,
}

/// Which columns a `pick` may draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    Any,
    Class(TypeClass),
    /// Of a class whose equal values are the same.
    Exact,
    /// The first column of an index that a hint can name.
    Indexed,
    /// Of the class and the collation of another column.
    Alike(Local),
}

/// Each is described in `docs/grammar-format.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Builtin {
    Open {
        closed: bool,
    },
    Close,
    Bind(Local, Vec<Wanted>),
    Derive(Local),
    Base(Local, Local),
    Pick(Local, Local, Picked),
    Table(Local),
    Name(Local),
    Alias(Local),
    Key(Local),
    Version(Local),
    Hint(Local),
    Col(Local),
    Like(Local),
    DerivedColumns(Local, Local),
    AnyColumn,
    ExactColumn,
    AnyKey,
    Column(TypeClass),
    Literal(TypeClass),
    HotKey(Local),
    FreshKey(Local),
    Small,
    TotalOrder,
    InsertColumns(Local),
    CountedColumns(Local),
    InsertValues(Local, NewRow),
    InsertQuery(Local, Local),
    Assignments {
        of: Local,
        rows: AssignedRows,
        qualified: bool,
    },
    CollidingAssignments(Local),
    BreakingAssignments(Local),
    Lock(String),
    OpenTransaction(String),
    Commit,
    Rollback,
    NewSavepoint,
    OpenSavepoint,
    PlanSetting,
}

/// The classes as the grammar spells them.
pub(super) const CLASSES: &[(&str, TypeClass)] = &[
    ("integer", TypeClass::Integer),
    ("decimal", TypeClass::Decimal),
    ("real", TypeClass::Real),
    ("text", TypeClass::Text),
    ("bytes", TypeClass::Bytes),
    ("temporal", TypeClass::Temporal),
    ("unsigned", TypeClass::Unsigned),
    ("collated", TypeClass::Collated),
    ("time", TypeClass::Time),
    ("json", TypeClass::Json),
];

/// The word for a class, as rule names end in it: `set-integer`.
pub fn class_word(class: TypeClass) -> &'static str {
    CLASSES
        .iter()
        .find(|(_, known)| *known == class)
        .map_or("integer", |(word, _)| word)
}

const WANTED: &[(&str, Wanted)] = &[
    ("target", Wanted::Target),
    ("hidden", Wanted::Hidden),
    ("other", Wanted::Other),
    ("keyed", Wanted::Keyed),
    ("primary", Wanted::Primary),
    ("lonely", Wanted::Lonely),
    ("counted", Wanted::Counted),
];

const NEW_ROWS: &[(&str, NewRow)] = &[
    ("fresh", NewRow::Fresh),
    ("existing", NewRow::Existing),
    ("risky", NewRow::Risky),
    ("repeated", NewRow::Repeated),
    ("broken", NewRow::Broken),
    ("counted", NewRow::Counted),
];

fn word<T: Copy>(text: &str, of: &[(&str, T)]) -> Result<T, String> {
    of.iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
            format!(
                "unknown word {text:?}: expected one of {}",
                names.join(", ")
            )
        })
}

impl Builtin {
    /// Reads the text between angle brackets; None when the name is not built in.
    ///
    /// # Errors
    /// The name is built in and takes other arguments.
    pub(super) fn read(text: &str) -> Option<Result<Self, String>> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next()?;
        let arguments: Vec<&str> = words.collect();
        let read = Self::read_words(name, &arguments);
        match read {
            Ok(None) => None,
            Ok(Some(builtin)) => Some(Ok(builtin)),
            Err(message) => Some(Err(message)),
        }
    }

    fn read_words(name: &str, arguments: &[&str]) -> Result<Option<Self>, String> {
        let local = |index: usize| {
            arguments
                .get(index)
                .map(|text| (*text).to_owned())
                .ok_or_else(|| format!("<{name}> takes a name as argument {}", index + 1))
        };
        let class = |index: usize| {
            word(
                arguments
                    .get(index)
                    .ok_or_else(|| format!("<{name}> takes a class as argument {}", index + 1))?,
                CLASSES,
            )
        };
        let (most, builtin) = match name {
            "open" => {
                let closed = arguments.first() == Some(&"closed");
                (usize::from(closed), Self::Open { closed })
            }
            "close" => (0, Self::Close),
            "bind" => {
                let wanted = arguments.iter().skip(1).map(|text| word(text, WANTED));
                let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
                (usize::MAX, Self::Bind(local(0)?, wanted))
            }
            "derive" => (1, Self::Derive(local(0)?)),
            "base" => (2, Self::Base(local(0)?, local(1)?)),
            "pick" => {
                let picked = match arguments.get(2) {
                    None => Picked::Any,
                    Some(&"exact") => Picked::Exact,
                    Some(&"indexed") => Picked::Indexed,
                    Some(&"alike") => Picked::Alike(local(3)?),
                    Some(text) => Picked::Class(word(text, CLASSES)?),
                };
                let most = if matches!(picked, Picked::Alike(_)) {
                    4
                } else {
                    3
                };
                (most, Self::Pick(local(0)?, local(1)?, picked))
            }
            "table" => (1, Self::Table(local(0)?)),
            "name" => (1, Self::Name(local(0)?)),
            "alias" => (1, Self::Alias(local(0)?)),
            "key" => (1, Self::Key(local(0)?)),
            "version" => (1, Self::Version(local(0)?)),
            "hint" => (1, Self::Hint(local(0)?)),
            "col" => (1, Self::Col(local(0)?)),
            "like" => (1, Self::Like(local(0)?)),
            "derived-columns" => (2, Self::DerivedColumns(local(0)?, local(1)?)),
            "any-column" => (0, Self::AnyColumn),
            "exact-column" => (0, Self::ExactColumn),
            "any-key" => (0, Self::AnyKey),
            "column" => (1, Self::Column(class(0)?)),
            "literal" => (1, Self::Literal(class(0)?)),
            "hot-key" => (1, Self::HotKey(local(0)?)),
            "fresh-key" => (1, Self::FreshKey(local(0)?)),
            "small" => (0, Self::Small),
            "total-order" => (0, Self::TotalOrder),
            _ => return Self::read_write(name, arguments),
        };
        enough(name, arguments, most)?;
        Ok(Some(builtin))
    }

    /// The built-in nonterminals of writes and of transaction control.
    fn read_write(name: &str, arguments: &[&str]) -> Result<Option<Self>, String> {
        let argument = |index: usize| {
            arguments
                .get(index)
                .copied()
                .ok_or_else(|| format!("<{name}> takes {} arguments or more", index + 1))
        };
        let local = |index: usize| argument(index).map(str::to_owned);
        let (most, builtin) = match name {
            "insert-columns" => (1, Self::InsertColumns(local(0)?)),
            "counted-columns" => (1, Self::CountedColumns(local(0)?)),
            "insert-values" => (
                2,
                Self::InsertValues(local(0)?, word(argument(1)?, NEW_ROWS)?),
            ),
            "insert-query" => (2, Self::InsertQuery(local(0)?, local(1)?)),
            "assignments" => {
                let rows = word(
                    argument(1)?,
                    &[("one", AssignedRows::One), ("many", AssignedRows::Many)],
                )?;
                let qualified = match arguments.get(2) {
                    Some(text) => word(text, &[("qualified", true)])?,
                    None => false,
                };
                let of = local(0)?;
                (
                    3,
                    Self::Assignments {
                        of,
                        rows,
                        qualified,
                    },
                )
            }
            "colliding-assignments" => (1, Self::CollidingAssignments(local(0)?)),
            "breaking-assignments" => (1, Self::BreakingAssignments(local(0)?)),
            "lock" => (1, Self::Lock(local(0)?)),
            "open-transaction" => (1, Self::OpenTransaction(local(0)?)),
            "commit" => (0, Self::Commit),
            "rollback" => (0, Self::Rollback),
            "new-savepoint" => (0, Self::NewSavepoint),
            "open-savepoint" => (0, Self::OpenSavepoint),
            "plan-setting" => (0, Self::PlanSetting),
            _ => return Ok(None),
        };
        enough(name, arguments, most)?;
        Ok(Some(builtin))
    }

    /// The local names it introduces.
    pub(super) fn binds(&self) -> Option<&Local> {
        match self {
            Self::Bind(name, _)
            | Self::Derive(name)
            | Self::Base(name, _)
            | Self::Pick(name, _, _) => Some(name),
            Self::Open { .. }
            | Self::Close
            | Self::Table(_)
            | Self::Name(_)
            | Self::Alias(_)
            | Self::Key(_)
            | Self::Version(_)
            | Self::Hint(_)
            | Self::Col(_)
            | Self::Like(_)
            | Self::DerivedColumns(..)
            | Self::AnyColumn
            | Self::ExactColumn
            | Self::AnyKey
            | Self::Column(_)
            | Self::Literal(_)
            | Self::HotKey(_)
            | Self::FreshKey(_)
            | Self::Small
            | Self::TotalOrder
            | Self::InsertColumns(_)
            | Self::CountedColumns(_)
            | Self::InsertValues(..)
            | Self::InsertQuery(..)
            | Self::Assignments { .. }
            | Self::CollidingAssignments(_)
            | Self::BreakingAssignments(_)
            | Self::Lock(_)
            | Self::OpenTransaction(_)
            | Self::Commit
            | Self::Rollback
            | Self::NewSavepoint
            | Self::OpenSavepoint
            | Self::PlanSetting => None,
        }
    }

    /// The local names it needs.
    pub(super) fn needs(&self) -> Vec<&Local> {
        match self {
            Self::Pick(_, name, Picked::Alike(other)) => vec![name, other],
            Self::Base(_, name)
            | Self::Pick(_, name, _)
            | Self::Table(name)
            | Self::Name(name)
            | Self::Alias(name)
            | Self::Key(name)
            | Self::Version(name)
            | Self::Hint(name)
            | Self::Col(name)
            | Self::Like(name)
            | Self::HotKey(name)
            | Self::FreshKey(name)
            | Self::InsertColumns(name)
            | Self::CountedColumns(name)
            | Self::InsertValues(name, _)
            | Self::Assignments { of: name, .. }
            | Self::CollidingAssignments(name)
            | Self::BreakingAssignments(name) => vec![name],
            Self::DerivedColumns(first, second) | Self::InsertQuery(first, second) => {
                vec![first, second]
            }
            Self::Open { .. }
            | Self::Close
            | Self::Bind(..)
            | Self::Derive(_)
            | Self::AnyColumn
            | Self::ExactColumn
            | Self::AnyKey
            | Self::Column(_)
            | Self::Literal(_)
            | Self::Small
            | Self::TotalOrder
            | Self::Lock(_)
            | Self::OpenTransaction(_)
            | Self::Commit
            | Self::Rollback
            | Self::NewSavepoint
            | Self::OpenSavepoint
            | Self::PlanSetting => Vec::new(),
        }
    }

    /// The prefix of the rules it calls, one for each class of types.
    pub(super) fn calls(&self) -> Option<&'static str> {
        match self {
            Self::Assignments { .. } => Some("set-"),
            Self::InsertValues(..) | Self::InsertQuery(..) => Some("value-"),
            Self::Open { .. }
            | Self::Close
            | Self::Bind(..)
            | Self::Derive(_)
            | Self::Base(..)
            | Self::Pick(..)
            | Self::Table(_)
            | Self::Name(_)
            | Self::Alias(_)
            | Self::Key(_)
            | Self::Version(_)
            | Self::Hint(_)
            | Self::Col(_)
            | Self::Like(_)
            | Self::DerivedColumns(..)
            | Self::AnyColumn
            | Self::ExactColumn
            | Self::AnyKey
            | Self::Column(_)
            | Self::Literal(_)
            | Self::HotKey(_)
            | Self::FreshKey(_)
            | Self::Small
            | Self::TotalOrder
            | Self::InsertColumns(_)
            | Self::CountedColumns(_)
            | Self::CollidingAssignments(_)
            | Self::BreakingAssignments(_)
            | Self::Lock(_)
            | Self::OpenTransaction(_)
            | Self::Commit
            | Self::Rollback
            | Self::NewSavepoint
            | Self::OpenSavepoint
            | Self::PlanSetting => None,
        }
    }
}

fn enough(name: &str, arguments: &[&str], most: usize) -> Result<(), String> {
    match arguments.get(most) {
        Some(extra) => Err(format!("<{name}> takes no argument {extra:?}")),
        None => Ok(()),
    }
}
