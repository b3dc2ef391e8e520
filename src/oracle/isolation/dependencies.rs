//! The graph of item dependencies between the moments of committed transactions.
//!
//! Adya's direct serialization graph has one vertex a transaction. A level that reads from a snapshot
//! and writes at the commit promises something of both moments, so here a transaction has up to three
//! kinds of vertices: its commit, its snapshot, and single reads. Which of them a read belongs to
//! follows from the model that its own level promises (Adya's mixing-correct graph, section 3.5 of his
//! thesis); at serializability all of them are one. Every edge says that one moment comes before
//! another on an engine that keeps its promises, so that a cycle is a violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::promises::{is_serializable, promised};
use super::reads::{ItemQuery, QuerySource};
use crate::graph::Graph;
use crate::model::{
    ConsistencyModel, Doubt, ReadMode, SessionId, StatementId, StatementKind, StatementRecord,
    TransactionId, TransactionStatus, Value,
};
use crate::observe::{RowId, Sight, Version, VersionId};
use crate::oracle::Evidence;
use crate::oracle::view::is_miscounted;

/// Why one moment comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::oracle) enum ItemEdgeKind {
    /// Replaces a version of the other (ww).
    Write,
    /// Reads a version of the other (wr).
    Read,
    /// Replaces a version that the other read (rw).
    Anti,
    /// Follows the other in one session.
    Session,
    /// Two moments of one transaction.
    Program,
}

/// As graphs of Adya label it.
impl fmt::Display for ItemEdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "ww",
            Self::Read => "wr",
            Self::Anti => "rw",
            Self::Session => "so",
            Self::Program => "po",
        })
    }
}

/// One reason for an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct ItemReason {
    /// The row, `t0 row 3`; empty for edges within a session.
    pub(in crate::oracle) item: String,
    /// The statements that made the edge.
    pub(in crate::oracle) statements: Vec<StatementId>,
    /// For people.
    pub(in crate::oracle) text: String,
    /// The reader ranged over where the row was to be, and did not find it.
    pub(in crate::oracle) came_into_range: bool,
}

/// When something of a transaction happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ItemMoment {
    Commit(TransactionId),
    Snapshot(TransactionId),
    /// One query, by its place in the list.
    Query(TransactionId, usize),
}

impl ItemMoment {
    fn transaction(self) -> TransactionId {
        let (Self::Commit(of) | Self::Snapshot(of) | Self::Query(of, _)) = self;
        of
    }
}

/// How the transactions of a run are judged.
pub(in crate::oracle) enum JudgedBy {
    /// Each by the model that its own level promises.
    ByLevel,
    /// The same, but what a statement read before the engine let go of its locks and its snapshot is
    /// only known to come before the commit.
    WithoutWhatWasLetGo,
    /// All as serializable ones.
    AsSerializable,
    /// Those whose level is serializable as such, as if the others were not there.
    SerializableAlone,
}

/// The graph.
#[derive(Default)]
pub(in crate::oracle) struct ItemGraph {
    moments: Vec<ItemMoment>,
    index: BTreeMap<ItemMoment, usize>,
    edges: BTreeMap<(usize, usize), BTreeMap<ItemEdgeKind, ItemReason>>,
}

/// A step of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct ItemStep {
    pub(in crate::oracle) from: TransactionId,
    pub(in crate::oracle) to: TransactionId,
    pub(in crate::oracle) kind: ItemEdgeKind,
    pub(in crate::oracle) reason: ItemReason,
}

impl ItemGraph {
    /// The graph of a run. Only transactions that committed are in it.
    pub(in crate::oracle) fn of(
        evidence: &Evidence,
        queries: &[ItemQuery],
        judged: &JudgedBy,
    ) -> Self {
        let mut graph = Self::default();
        let reading = Dependencies { evidence, judged };
        reading.write_order(&mut graph);
        for (place, query) in queries.iter().enumerate() {
            reading.read_order(place, query, &mut graph);
        }
        reading.session_order(&mut graph);
        if let JudgedBy::SerializableAlone = judged {
            let moments = &graph.moments;
            let stays = |at: usize| is_serializable(evidence, moments[at].transaction());
            graph
                .edges
                .retain(|(from, to), _| stays(*from) && stays(*to));
        }
        graph
    }

    fn vertex(&mut self, moment: ItemMoment) -> usize {
        let next = self.moments.len();
        let at = *self.index.entry(moment).or_insert(next);
        if at == next {
            self.moments.push(moment);
        }
        at
    }

    /// Adds an edge; of several of one kind between two moments the first stays.
    fn add(&mut self, from: ItemMoment, to: ItemMoment, kind: ItemEdgeKind, reason: ItemReason) {
        let edge = (self.vertex(from), self.vertex(to));
        if edge.0 != edge.1 {
            let kinds = self.edges.entry(edge).or_default();
            kinds.entry(kind).or_insert(reason);
        }
    }

    /// The edges of these kinds as a plain graph.
    fn of_kinds(&self, kinds: &[ItemEdgeKind]) -> Graph {
        let mut graph = Graph::new(self.moments.len());
        for (&(from, to), reasons) in &self.edges {
            if kinds.iter().any(|kind| reasons.contains_key(kind)) {
                graph.add(from, to);
            }
        }
        graph
    }

    /// A shortest cycle of edges of these kinds.
    pub(in crate::oracle) fn cycle(&self, kinds: &[ItemEdgeKind]) -> Option<Vec<ItemStep>> {
        let all: BTreeSet<usize> = (0..self.moments.len()).collect();
        let cycle = self.of_kinds(kinds).shortest_cycle(&all)?;
        let next = cycle.iter().cycle().skip(1);
        let steps = cycle.iter().zip(next);
        steps
            .map(|(&from, &to)| self.step(from, to, kinds))
            .collect()
    }

    /// A shortest cycle with one edge of this kind, closed by edges of the others.
    pub(in crate::oracle) fn cycle_with_one(
        &self,
        kind: ItemEdgeKind,
        others: &[ItemEdgeKind],
    ) -> Option<Vec<ItemStep>> {
        let closing = self.of_kinds(others);
        let with_kind = |reasons: &BTreeMap<ItemEdgeKind, ItemReason>| reasons.contains_key(&kind);
        let candidates = self.edges.iter().filter(|(_, reasons)| with_kind(reasons));
        let paths = candidates.filter_map(|(&(from, to), _)| closing.shortest_path(to, from));
        let path = paths.min_by_key(Vec::len)?;
        let first = self.step(*path.last()?, *path.first()?, &[kind])?;
        let rest = path.windows(2);
        let rest = rest.filter_map(|pair| self.step(pair[0], pair[1], others));
        Some([first].into_iter().chain(rest).collect())
    }

    fn step(&self, from: usize, to: usize, kinds: &[ItemEdgeKind]) -> Option<ItemStep> {
        let reasons = self.edges.get(&(from, to))?;
        let kind = kinds.iter().find(|kind| reasons.contains_key(kind))?;
        Some(ItemStep {
            from: self.moments[from].transaction(),
            to: self.moments[to].transaction(),
            kind: *kind,
            reason: reasons.get(kind)?.clone(),
        })
    }
}

/// The inference of the graph.
struct Dependencies<'a> {
    evidence: &'a Evidence,
    judged: &'a JudgedBy,
}

impl Dependencies<'_> {
    fn version(&self, id: VersionId) -> &Version {
        self.evidence.account.chains.version(id)
    }

    fn writer(&self, id: VersionId) -> TransactionId {
        self.version(id).writer.transaction
    }

    /// What the transaction is promised, by its own level.
    fn model(&self, transaction: TransactionId) -> Option<ConsistencyModel> {
        match self.judged {
            JudgedBy::AsSerializable | JudgedBy::SerializableAlone => {
                Some(ConsistencyModel::Serializable)
            }
            JudgedBy::ByLevel | JudgedBy::WithoutWhatWasLetGo => {
                promised(self.evidence, transaction)
            }
        }
    }

    /// Where plain reads of a transaction's snapshot stand.
    fn snapshot(&self, transaction: TransactionId) -> ItemMoment {
        match self.model(transaction) {
            Some(model) if model >= ConsistencyModel::Serializable => {
                ItemMoment::Commit(transaction)
            }
            _ => ItemMoment::Snapshot(transaction),
        }
    }

    fn write_order(&self, graph: &mut ItemGraph) {
        for table in &self.evidence.case.tables {
            for (row, chain) in self.evidence.account.chains.table(&table.name) {
                let lasting = lasting(self.evidence, chain);
                for pair in lasting.windows(2) {
                    let (from, to) = (self.writer(pair[0]), self.writer(pair[1]));
                    if from == to || from == TransactionId::SETUP {
                        continue;
                    }
                    let reason = self.write_reason(&table.name, row, pair[0], pair[1]);
                    self.order_writers(from, to, pair[1], &reason, graph);
                }
            }
        }
    }

    fn order_writers(
        &self,
        from: TransactionId,
        to: TransactionId,
        version: VersionId,
        reason: &ItemReason,
        graph: &mut ItemGraph,
    ) {
        let (before, after) = (ItemMoment::Commit(from), ItemMoment::Commit(to));
        graph.add(before, after, ItemEdgeKind::Write, reason.clone());
        // Under snapshot isolation nobody changes a row that changed since the snapshot. A row that is
        // inserted where another one was deleted need not be looked at through the snapshot.
        let writer = self.evidence.case.statement(self.version(version).writer);
        let kind = writer.map(|statement| statement.effect.kind);
        let changes = matches!(kind, Some(StatementKind::Update | StatementKind::Delete));
        if changes && self.model(to) == Some(ConsistencyModel::Snapshot) {
            let snapshot = self.snapshot(to);
            graph.add(before, snapshot, ItemEdgeKind::Write, reason.clone());
            self.program_order(snapshot, graph);
        }
    }

    /// After the writer of each version that it showed, before the writer of the next.
    fn read_order(&self, place: usize, query: &ItemQuery, graph: &mut ItemGraph) {
        let reader = query.statement.transaction;
        let (Some(model), true) = (self.model(reader), commits(self.evidence, reader)) else {
            return;
        };
        let Some((moment, keeps)) = self.moment(place, query, model) else {
            return;
        };
        for &version in &query.versions {
            let writer = self.writer(version);
            if writer == reader
                || !has_known_writer(self.evidence, version)
                || self.may_come_by_an_own_update(query.statement, version)
            {
                continue;
            }
            let reason = |other| self.read_reason(query, version, other);
            if writer != TransactionId::SETUP && commits(self.evidence, writer) {
                let written = ItemMoment::Commit(writer);
                graph.add(written, moment, ItemEdgeKind::Read, reason(None));
            }
            if let Some(next) = self.next(version).filter(|_| keeps)
                && self.writer(next) != reader
            {
                let replaced = ItemMoment::Commit(self.writer(next));
                graph.add(moment, replaced, ItemEdgeKind::Anti, reason(Some(next)));
            }
        }
        self.miss(query, moment, graph);
        self.program_order(moment, graph);
    }

    /// When a query reads, and whether what it read is replaced only after that moment. None where
    /// nothing is promised of it.
    fn moment(
        &self,
        place: usize,
        query: &ItemQuery,
        model: ConsistencyModel,
    ) -> Option<(ItemMoment, bool)> {
        let reader = query.statement.transaction;
        let alone = (ItemMoment::Query(reader, place), true);
        let is_let_go = match self.judged {
            JudgedBy::WithoutWhatWasLetGo => {
                self.evidence.timeline.let_go(query.statement).is_some()
            }
            JudgedBy::ByLevel | JudgedBy::AsSerializable | JudgedBy::SerializableAlone => false,
        };
        if model >= ConsistencyModel::Serializable {
            let together = (ItemMoment::Commit(reader), true);
            return Some(if is_let_go { alone } else { together });
        }
        Some(match query.mode {
            // By no promise of one moment: whoever plans it decides.
            ReadMode::Anything | ReadMode::EitherSnapshot => return None,
            // A current read keeps nobody from replacing what it read.
            ReadMode::Current => (ItemMoment::Commit(reader), false),
            // Each row as of when it was locked.
            ReadMode::StatementSnapshot if self.looked_again(query.statement) => {
                (ItemMoment::Commit(reader), false)
            }
            ReadMode::StatementSnapshot if model < ConsistencyModel::Causal => alone,
            ReadMode::TransactionSnapshot | ReadMode::StatementSnapshot if is_let_go => alone,
            ReadMode::TransactionSnapshot | ReadMode::StatementSnapshot => {
                (ItemMoment::Snapshot(reader), true)
            }
        })
    }

    /// Whether a read that locks has waited, at a level that looks again at what changed meanwhile (PostgreSQL manual, "Read
    /// Committed Isolation Level").
    fn looked_again(&self, id: StatementId) -> bool {
        let evidence = self.evidence;
        let record = evidence.execution.records.get(&id);
        let kind = evidence.case.statement(id).map(|s| s.effect.kind);
        kind == Some(StatementKind::LockingSelect)
            && record.is_some_and(StatementRecord::resumed)
            && evidence.dialect.registers(Doubt::ReEvaluated)
    }

    /// Whether an UPDATE of the reader's own transaction that changed nothing may have brought this version into its snapshot, where
    /// the dialect registers that (MDEV-26642): no moment is promised of it.
    fn may_come_by_an_own_update(&self, id: StatementId, version: VersionId) -> bool {
        let latitude = self.evidence.account.latitudes.get(&id);
        let mut rows = latitude.into_iter().flat_map(|latitude| &latitude.rows);
        let own = (Sight::Version(version), Doubt::NoOpUpdate);
        rows.any(|row| row.sights.contains(&own))
    }

    /// Before the writers of rows that it did not see.
    fn miss(&self, query: &ItemQuery, moment: ItemMoment, graph: &mut ItemGraph) {
        let reader = query.statement.transaction;
        for &version in &query.missed {
            let of = self.version(version);
            let chain = self.evidence.account.chains.chain(&of.table, &of.id);
            let Some(&first) = lasting(self.evidence, chain).first() else {
                continue;
            };
            let writer = self.version(first).writer;
            if writer.transaction == reader {
                continue;
            }
            let reason = ItemReason {
                item: item_text(&of.table, &of.id),
                statements: vec![query.statement, writer],
                text: format!(
                    "{} found no such row, which {writer} inserted as {}",
                    query_text(query),
                    self.version_text(first)
                ),
                came_into_range: true,
            };
            let written = ItemMoment::Commit(writer.transaction);
            graph.add(moment, written, ItemEdgeKind::Anti, reason);
        }
    }

    /// Every moment of a transaction comes before its commit, and its queries one after another.
    fn program_order(&self, moment: ItemMoment, graph: &mut ItemGraph) {
        let of = moment.transaction();
        let within = |text: &str| ItemReason {
            item: String::new(),
            statements: Vec::new(),
            text: text.to_owned(),
            came_into_range: false,
        };
        let reason = within(&format!("{of} reads before it commits"));
        graph.add(
            moment,
            ItemMoment::Commit(of),
            ItemEdgeKind::Program,
            reason,
        );
        let ItemMoment::Query(_, place) = moment else {
            return;
        };
        let first = ItemMoment::Query(of, 0);
        let earlier = graph.index.range(first..ItemMoment::Query(of, place));
        if let Some(earlier) = earlier.map(|(moment, _)| *moment).next_back() {
            let reason = within(&format!("{of} reads one after the other"));
            graph.add(earlier, moment, ItemEdgeKind::Program, reason);
        }
    }

    /// A transaction sees what its session committed before, from causal consistency on.
    fn session_order(&self, graph: &mut ItemGraph) {
        let case = &self.evidence.case;
        let mut last: BTreeMap<SessionId, TransactionId> = BTreeMap::new();
        let transactions = self.evidence.execution.transactions.keys();
        for &next in transactions.filter(|of| commits(self.evidence, **of)) {
            let Some(session) = case.session_of(next) else {
                continue;
            };
            let Some(before) = last.insert(session, next) else {
                continue;
            };
            if self
                .model(next)
                .is_some_and(|model| model >= ConsistencyModel::Causal)
            {
                let reason = ItemReason {
                    item: String::new(),
                    statements: Vec::new(),
                    text: format!("{next} follows {before} in session {session}"),
                    came_into_range: false,
                };
                let snapshot = self.snapshot(next);
                let kind = ItemEdgeKind::Session;
                graph.add(ItemMoment::Commit(before), snapshot, kind, reason);
                self.program_order(snapshot, graph);
            }
        }
    }

    /// The version that replaced this one: the next that lasts, of another transaction than its own.
    fn next(&self, version: VersionId) -> Option<VersionId> {
        let of = self.version(version);
        let chain = self.evidence.account.chains.chain(&of.table, &of.id);
        let behind = chain.iter().skip_while(|id| **id != version).skip(1);
        let behind: Vec<VersionId> = behind.copied().collect();
        let lasting = lasting(self.evidence, &behind);
        lasting
            .into_iter()
            .find(|next| self.writer(*next) != of.writer.transaction)
    }

    fn write_reason(
        &self,
        table: &str,
        row: &RowId,
        first: VersionId,
        then: VersionId,
    ) -> ItemReason {
        let statements = vec![self.version(first).writer, self.version(then).writer];
        ItemReason {
            item: item_text(table, row),
            text: format!(
                "{} wrote {} and {} replaced it by {}",
                statements[0],
                self.version_text(first),
                statements[1],
                self.version_text(then)
            ),
            statements,
            came_into_range: false,
        }
    }

    fn read_reason(
        &self,
        query: &ItemQuery,
        version: VersionId,
        replaced: Option<VersionId>,
    ) -> ItemReason {
        let of = self.version(version);
        let mut statements = vec![query.statement, of.writer];
        let reader = match query.source {
            QuerySource::Rows | QuerySource::Probe => format!("{} shows", query_text(query)),
            QuerySource::View => format!("{} ranges over", query_text(query)),
        };
        let shown = self.version_text(version);
        let text = match replaced {
            None => format!("{reader} {shown}, which {} wrote", of.writer),
            Some(next) => {
                let writer = self.version(next).writer;
                statements[1] = writer;
                let by = self.version_text(next);
                format!("{reader} {shown}, which {writer} replaced by {by}")
            }
        };
        ItemReason {
            item: item_text(&of.table, &of.id),
            statements,
            text,
            came_into_range: false,
        }
    }

    fn version_text(&self, id: VersionId) -> String {
        version_text(self.version(id))
    }
}

/// The versions of a chain whose writers are known, committed and undid nothing of it, oldest first.
pub(super) fn lasting(evidence: &Evidence, chain: &[VersionId]) -> Vec<VersionId> {
    let writer = |id: VersionId| evidence.account.chains.version(id).writer;
    let lasts = |id: &VersionId| evidence.timeline.lasts(writer(*id));
    let known = |id: &VersionId| has_known_writer(evidence, *id);
    let lasting = chain.iter().copied().filter(lasts);
    lasting.filter(known).collect()
}

/// Whether the writer of a version changed as many rows as the engine counted. Where it did not, two
/// writes that met between two observations have changes of each other: who wrote which row is not
/// known, and an order without that version still holds.
pub(super) fn has_known_writer(evidence: &Evidence, version: VersionId) -> bool {
    let writer = evidence.account.chains.version(version).writer;
    let statement = evidence.case.statement(writer);
    statement.is_none_or(|statement| !is_miscounted(evidence, statement))
}

pub(super) fn commits(evidence: &Evidence, transaction: TransactionId) -> bool {
    let status = evidence.execution.transactions.get(&transaction);
    matches!(status, Some(TransactionStatus::Committed(_)))
}

/// A row as people name it: `t0 row 3`.
pub(super) fn item_text(table: &str, row: &RowId) -> String {
    format!("{table} row {}", row.key)
}

/// The reader of a version as people name it.
pub(super) fn query_text(query: &ItemQuery) -> String {
    match query.source {
        QuerySource::Probe => format!("a probe for {}", query.statement),
        QuerySource::Rows | QuerySource::View => query.statement.to_string(),
    }
}

/// A version as people name it: `(3, 1004, 7)`, `no row`.
pub(super) fn version_text(version: &Version) -> String {
    let Some(row) = &version.row else {
        return "no row".to_owned();
    };
    let cells: Vec<String> = row.iter().map(Value::to_string).collect();
    format!("({})", cells.join(", "))
}
