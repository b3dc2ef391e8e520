//! What must be seen under causal consistency: vector clocks over sessions.
//!
//! A clock counts, for each session, how many of its transactions lead to one. Only transactions
//! that lead to another need one. Where there are too many sessions for a table, clocks count along
//! other chains of transactions that lead to each other, and hold only what is not zero.

use crate::checker::resolved::resolve::Resolved;
use crate::checker::resolved::vertex::Vertex;
use crate::history::{Key, Txn};

/// Bytes that the clocks of a table may take; with more, clocks are sparse.
const TABLE_BYTES_MAX: usize = 4 << 30;

/// Bytes that sparse clocks may take.
const SPARSE_BYTES_MAX: usize = 4 << 30;

/// Why the pairs that causal consistency forces are not known.
pub(super) const TOO_LARGE: &str = "what leads to each transaction takes more than 4096 MB: \
     check fewer sessions at a time, or --model si, which implies causal consistency";

/// The clocks would take too much memory.
#[derive(Debug)]
pub(super) struct TooLarge;

/// Calls `edge(t2, t1, key, reader)` for the last `t2` of every chain that leads to the reader,
/// writes the key, and neither is the `t1` that the key was read from nor leads to it: those come
/// before it anyway. Earlier ones of the chain come before because they lead to `t2`.
///
/// `order` is a topological order of SO and WR.
///
/// # Errors
/// When the clocks would take more than [`SPARSE_BYTES_MAX`].
pub(super) fn forced(
    resolved: &Resolved<'_>,
    order: &[Vertex],
    edge: impl FnMut(Txn, Txn, Key, Txn),
) -> Result<(), TooLarge> {
    forced_within(resolved, order, [TABLE_BYTES_MAX, SPARSE_BYTES_MAX], edge)
}

/// The same within bounds for the bytes of a table and of sparse clocks.
fn forced_within(
    resolved: &Resolved<'_>,
    order: &[Vertex],
    [table_bytes_max, sparse_bytes_max]: [usize; 2],
    mut edge: impl FnMut(Txn, Txn, Key, Txn),
) -> Result<(), TooLarge> {
    let before = resolved.session_predecessors();
    let leads = leading(resolved, &before);
    let is_table = table_bytes(&leads, resolved.history.session_count()) <= table_bytes_max;
    let chains = match is_table {
        true => ChainCover::of_sessions(resolved),
        false => ChainCover::of_reads(resolved, order, &before, &leads),
    };
    let mut clocks = match is_table {
        true => Clocks::table(&leads, chains.count),
        false => Clocks::sparse(resolved.len(), sparse_bytes_max),
    };
    let mut writers = Writers::of(resolved, &chains, &leads);
    let mut own = OwnClock::new(chains.count);
    let vertices = order.iter().filter_map(|v| v.as_whole(resolved.len()));
    for transaction in vertices {
        if transaction.is_initial() || !resolved.is_live[transaction] {
            continue;
        }
        clocks.clear(&mut own);
        let sources = resolved.reads(transaction).iter();
        let sources = sources.map(|version| resolved.writer[*version]);
        for source in sources
            .chain([before[transaction]])
            .filter(|s| !s.is_initial())
        {
            let (chain, place) = chains.at[source];
            // What led to a source that is known already is known too.
            if own.places[chain as usize] >= place {
                continue;
            }
            own.raise(chain, place);
            clocks.merge(source, &mut own);
        }
        if leads[transaction] {
            clocks.keep(transaction, &mut own)?;
        }
        for version in resolved.reads(transaction) {
            let key = resolved.key[*version];
            let writer = resolved.writer[*version];
            let led = clocks.of(writer);
            let mut see = |run: usize, writers: &mut Writers| {
                let chain = writers.runs[run].0;
                let seen = own.places[chain as usize];
                let led = led.place(chain);
                if seen <= led {
                    return;
                }
                let Some((place, last)) = writers.last_of(run, seen) else {
                    return;
                };
                if place > led && last != writer && last != transaction {
                    edge(last, writer, key, transaction);
                }
            };
            let runs = writers.of_key(key);
            if is_table || runs.len() <= own.raised.len() {
                for run in runs {
                    see(run, &mut writers);
                }
                continue;
            }
            for chain in &own.raised {
                if let Some(run) = writers.run(runs.clone(), *chain) {
                    see(run, &mut writers);
                }
            }
        }
    }
    Ok(())
}

/// Bytes of a table with a row for each transaction that leads to another.
fn table_bytes(leads: &[bool], columns: usize) -> usize {
    let rows = leads.iter().filter(|leads| **leads).count();
    rows.saturating_mul(columns)
        .saturating_mul(size_of::<u32>())
}

/// Which transactions lead to another: that reads from them, or follows in their session.
fn leading(resolved: &Resolved<'_>, before: &[Txn]) -> Vec<bool> {
    let mut leads = vec![false; resolved.len()];
    for transaction in resolved.live() {
        leads[before[transaction]] = true;
        for version in resolved.reads(transaction) {
            leads[resolved.writer[*version]] = true;
        }
    }
    // The initial transaction precedes all without a clock.
    leads[Txn::INITIAL] = false;
    leads
}

/// The chain of a transaction that is in none.
const NO_CHAIN: u32 = u32::MAX;

/// ChainCover of transactions, each leading to the next.
struct ChainCover {
    /// How many there are.
    count: usize,
    /// For each transaction its chain, and its place in it, counted from 1.
    at: Vec<(u32, u32)>,
}

impl ChainCover {
    fn of_sessions(resolved: &Resolved<'_>) -> Self {
        let count = resolved.history.session_count();
        let mut at = vec![(NO_CHAIN, 0); resolved.len()];
        let mut places = vec![0u32; count];
        for transaction in resolved.live() {
            let session = resolved.history.session_of(transaction);
            places[session as usize] += 1;
            at[transaction] = (session, places[session as usize]);
        }
        Self { count, at }
    }

    /// A transaction continues the chain of one that leads to it and is the last of it.
    fn of_reads(resolved: &Resolved<'_>, order: &[Vertex], before: &[Txn], leads: &[bool]) -> Self {
        let mut at: Vec<(u32, u32)> = vec![(NO_CHAIN, 0); resolved.len()];
        let mut lasts: Vec<Txn> = Vec::new();
        let led = order.iter().filter_map(|v| v.as_whole(resolved.len()));
        let led = led.filter(|t| leads[*t]);
        for transaction in led.filter(|t| resolved.is_live[*t]) {
            let sources = resolved.reads(transaction).iter();
            let sources = sources.map(|version| resolved.writer[*version]);
            let mut sources = [before[transaction]].into_iter().chain(sources);
            let is_last =
                |source: &Txn| !source.is_initial() && lasts[at[*source].0 as usize] == *source;
            match sources.find(is_last) {
                Some(source) => {
                    let (chain, place) = at[source];
                    at[transaction] = (chain, place + 1);
                    lasts[chain as usize] = transaction;
                }
                None => {
                    at[transaction] = (lasts.len() as u32, 1);
                    lasts.push(transaction);
                }
            }
        }
        let count = lasts.len();
        Self { count, at }
    }
}

/// The clock of the transaction that is looked at.
struct OwnClock {
    /// By chain, how much of it leads here.
    places: Vec<u32>,
    /// The chains of which something does; of a table only those raised last.
    raised: Vec<u32>,
}

impl OwnClock {
    fn new(chains: usize) -> Self {
        Self {
            places: vec![0; chains],
            raised: Vec::new(),
        }
    }

    fn raise(&mut self, chain: u32, place: u32) {
        let known = &mut self.places[chain as usize];
        if *known == 0 {
            self.raised.push(chain);
        }
        *known = place.max(*known);
    }
}

/// The row of a transaction that leads to none.
const NO_ROW: u32 = u32::MAX;

/// The clocks of the transactions that lead to another.
enum Clocks {
    Table {
        chains: usize,
        /// The row of a transaction.
        row_of: Vec<u32>,
        places: Vec<u32>,
    },
    Sparse {
        /// Where the entries of a transaction lie.
        spans: Vec<(u32, u32)>,
        /// Chain and place, sorted by chain.
        entries: Vec<(u32, u32)>,
        entries_max: usize,
    },
}

impl Clocks {
    fn table(leads: &[bool], chains: usize) -> Self {
        let rows = leads.iter().filter(|leads| **leads).count();
        let mut next = 0;
        let number = |leads: &bool| match *leads {
            true => {
                next += 1;
                next - 1
            }
            false => NO_ROW,
        };
        Self::Table {
            chains,
            row_of: leads.iter().map(number).collect(),
            places: vec![0; rows * chains],
        }
    }

    fn sparse(len: usize, bytes_max: usize) -> Self {
        Self::Sparse {
            spans: vec![(0, 0); len],
            entries: Vec::new(),
            entries_max: (bytes_max / size_of::<(u32, u32)>()).min(u32::MAX as usize),
        }
    }

    /// Sets a clock to nothing.
    fn clear(&self, own: &mut OwnClock) {
        match self {
            Self::Table { .. } => {
                own.places.fill(0);
                own.raised.clear();
            }
            Self::Sparse { .. } => {
                for chain in own.raised.drain(..) {
                    own.places[chain as usize] = 0;
                }
            }
        }
    }

    /// Raises a clock to that of a transaction.
    fn merge(&self, of: Txn, into: &mut OwnClock) {
        match self {
            Self::Table {
                chains,
                row_of,
                places,
            } => {
                let at = row_of[of] as usize * chains;
                let theirs = &places[at..at + chains];
                for (mine, theirs) in into.places.iter_mut().zip(theirs) {
                    *mine = (*mine).max(*theirs);
                }
            }
            Self::Sparse { spans, entries, .. } => {
                let (begin, end) = spans[of];
                for (chain, place) in &entries[begin as usize..end as usize] {
                    into.raise(*chain, *place);
                }
            }
        }
    }

    /// Keeps the clock of a transaction.
    fn keep(&mut self, of: Txn, own: &mut OwnClock) -> Result<(), TooLarge> {
        match self {
            Self::Table {
                chains,
                row_of,
                places,
            } => {
                let at = row_of[of] as usize * *chains;
                places[at..at + *chains].copy_from_slice(&own.places);
            }
            Self::Sparse {
                spans,
                entries,
                entries_max,
            } => {
                if entries.len() + own.raised.len() > *entries_max {
                    return Err(TooLarge);
                }
                own.raised.sort_unstable();
                let begin = entries.len() as u32;
                let raised = own.raised.iter();
                entries.extend(raised.map(|chain| (*chain, own.places[*chain as usize])));
                spans[of] = (begin, entries.len() as u32);
            }
        }
        Ok(())
    }

    /// The clock of a transaction.
    fn of(&self, transaction: Txn) -> KeptClock<'_> {
        match self {
            Self::Table {
                chains,
                row_of,
                places,
            } => match row_of[transaction] {
                NO_ROW => KeptClock::Sparse(&[]),
                row => KeptClock::Row(&places[row as usize * chains..][..*chains]),
            },
            Self::Sparse { spans, entries, .. } => {
                let (begin, end) = spans[transaction];
                KeptClock::Sparse(&entries[begin as usize..end as usize])
            }
        }
    }
}

/// By chain, how much of it leads to a transaction.
#[derive(Clone, Copy)]
enum KeptClock<'c> {
    Row(&'c [u32]),
    /// Chain and place, sorted by chain; nothing of the others leads to it.
    Sparse(&'c [(u32, u32)]),
}

impl KeptClock<'_> {
    #[inline]
    fn place(self, chain: u32) -> u32 {
        match self {
            Self::Row(places) => places[chain as usize],
            Self::Sparse(entries) => {
                let found = entries.binary_search_by_key(&chain, |entry| entry.0);
                found.map_or(0, |at| entries[at].1)
            }
        }
    }
}

/// The writers of every key by chain, in its order: `(place in the chain, transaction)`.
struct Writers {
    /// All of them, sorted by key, chain, place.
    all: Vec<(u32, Txn)>,
    /// Of every run of one key and chain: the chain, and where it begins.
    runs: Vec<(u32, u32)>,
    /// Where the runs of a key begin; one entry more than keys.
    begins: Vec<u32>,
    /// Of every run, how much of it was seen the last time that it was asked for.
    hints: Vec<u32>,
}

impl Writers {
    /// Those that lead to another: the rest is seen by no transaction.
    fn of(resolved: &Resolved<'_>, chains: &ChainCover, leads: &[bool]) -> Self {
        let history = resolved.history;
        let mut writes: Vec<(Key, u32, u32, Txn)> = Vec::with_capacity(resolved.writer.len());
        for transaction in resolved.live().filter(|t| leads[*t]) {
            let (chain, place) = chains.at[transaction];
            for version in resolved.writes(transaction) {
                let key = resolved.key[version];
                writes.push((key, chain, place, transaction));
            }
        }
        writes.sort_unstable();
        let mut all = Vec::with_capacity(writes.len());
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut begins = Vec::with_capacity(history.key_count() + 1);
        let mut last = None;
        for (key, chain, place, transaction) in writes {
            while begins.len() <= key.index() {
                begins.push(runs.len() as u32);
            }
            if last != Some((key, chain)) {
                runs.push((chain, all.len() as u32));
                last = Some((key, chain));
            }
            all.push((place, transaction));
        }
        begins.resize(history.key_count() + 1, runs.len() as u32);
        runs.push((0, all.len() as u32));
        let hints = vec![0; runs.len()];
        Self {
            all,
            runs,
            begins,
            hints,
        }
    }

    /// The run of a chain among those of a key.
    fn run(&self, of_key: std::ops::Range<usize>, chain: u32) -> Option<usize> {
        let runs = &self.runs[of_key.clone()];
        let found = runs.binary_search_by_key(&chain, |run| run.0).ok()?;
        Some(of_key.start + found)
    }

    /// The runs of a key.
    fn of_key(&self, key: Key) -> std::ops::Range<usize> {
        let at = key.index();
        self.begins[at] as usize..self.begins[at + 1] as usize
    }

    /// The last of a run at or before a place in its chain.
    ///
    /// Who asks next has mostly seen about as much as who asked last: looking from there takes one
    /// or two cache misses where halving the run takes as many as it can be halved.
    fn last_of(&mut self, run: usize, seen: u32) -> Option<(u32, Txn)> {
        let (begin, end) = (self.runs[run].1, self.runs[run + 1].1);
        let writes = &self.all[begin as usize..end as usize];
        let count = seen_of(writes, self.hints[run] as usize, seen);
        self.hints[run] = count as u32;
        count.checked_sub(1).map(|at| writes[at])
    }
}

/// How many of the writes are at or before a place, looked for in growing steps from a guess.
fn seen_of(writes: &[(u32, Txn)], guess: usize, seen: u32) -> usize {
    let is_seen = |at: usize| writes[at].0 <= seen;
    let mut step = 1;
    // All before `from` are seen, nothing from `to` on is.
    let (from, to) = if guess < writes.len() && is_seen(guess) {
        let mut from = guess + 1;
        while from + step < writes.len() && is_seen(from + step) {
            from += step + 1;
            step *= 2;
        }
        (from, writes.len().min(from + step))
    } else {
        let mut to = guess.min(writes.len());
        while to >= step && !is_seen(to - step) {
            to -= step;
            step *= 2;
        }
        ((to + 1).saturating_sub(step).min(to), to)
    };
    from + writes[from..to].partition_point(|(place, _)| *place <= seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::algorithm::weak::decide::happens_before;
    use crate::checker::resolved::arcs::Arcs;
    use crate::checker::resolved::resolve::resolve;
    use crate::checker::tests::{Numbers, build, random};

    /// Whether the forced pairs close a cycle, within bounds for a table and for sparse clocks.
    fn is_cyclic(resolved: &Resolved<'_>, bytes_max: [usize; 2]) -> Result<bool, TooLarge> {
        let mut arcs = Arcs::new(resolved.len(), 0);
        happens_before(resolved, |from, to| {
            arcs.add(Vertex::whole(from), Vertex::whole(to))
        });
        let Ok(order) = arcs.order() else {
            return Ok(true);
        };
        let mut arcs = Arcs::new(resolved.len(), 0);
        happens_before(resolved, |from, to| {
            arcs.add(Vertex::whole(from), Vertex::whole(to))
        });
        forced_within(resolved, &order, bytes_max, |t2, t1, _, _| {
            arcs.add(Vertex::whole(t2), Vertex::whole(t1));
        })?;
        Ok(arcs.order().is_err())
    }

    #[test]
    fn sparse_clocks_decide_as_a_table_does() {
        let mut numbers = Numbers(31);
        let (mut satisfied, mut violated, mut refused) = (0, 0, 0);
        for round in 0..4_000 {
            let draft = random(&mut numbers, [9, 3, 3], 1_000);
            let history = build(&draft);
            let Ok(resolved) = resolve(&history) else {
                continue;
            };
            let table = is_cyclic(&resolved, [usize::MAX, 0]).expect("a table of any size");
            let sparse = is_cyclic(&resolved, [0, usize::MAX]).expect("of any size");
            assert_eq!(table, sparse, "round {round}: {draft:?}");
            satisfied += u32::from(!table);
            violated += u32::from(table);
            refused += u32::from(is_cyclic(&resolved, [0, 0]).is_err());
        }
        let counts = [satisfied, violated, refused];
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    }

    #[test]
    fn whatever_the_guess_what_is_seen_is_counted() {
        for length in 0..40u32 {
            let write = |at| (at * 3 + 1, Txn::new(at));
            let writes: Vec<(u32, Txn)> = (0..length).map(write).collect();
            for guess in 0..=45 {
                for seen in 0..130 {
                    let expected = writes.iter().filter(|(place, _)| *place <= seen).count();
                    let found = seen_of(&writes, guess, seen);
                    assert_eq!(found, expected, "{length} {guess} {seen}");
                }
            }
        }
    }
}
