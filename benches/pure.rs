//! The parts that need no server: `cargo bench`. Speed against a server is `rashomon bench`.

use std::collections::BTreeSet;

use rashomon::dialect::{self, Dialect};
use rashomon::generate::{GenerateOptions, generate};
use rashomon::grammar::Grammar;
use rashomon::graph::{Graph, acyclic_part};
use rashomon::reproducer::{self, CaseFile};
use rashomon::statement;

fn main() {
    divan::main();
}

fn dialect_of(engine: &str) -> Dialect {
    let text = dialect::builtin(engine).expect("the engine has a dialect");
    dialect::parse(engine, text, &"99".parse().expect("a version")).expect("it parses")
}

/// One case from seed and index.
#[divan::bench(args = ["mariadb", "mysql", "sqlite"])]
fn generation(bencher: divan::Bencher<'_, '_>, engine: &str) {
    let (dialect, options) = (dialect_of(engine), GenerateOptions::benchmark());
    let grammar = Grammar::builtin(engine).expect("it is built in");
    let mut index = 0;
    bencher.bench_local(|| {
        index += 1;
        generate(1, index, &options, &grammar, &dialect)
    });
}

/// What one statement does, from its text.
#[divan::bench]
fn analysis(bencher: divan::Bencher<'_, '_>) {
    let dialect = dialect_of("mariadb");
    let sql =
        "UPDATE t0 SET vkey = 1001, c0 = (SELECT MAX(u.c1) FROM t1 AS u) WHERE t0.pkey IN (2, 3)";
    bencher.bench_local(|| statement::analyze(divan::black_box(sql), &dialect));
}

/// A case file from text to text.
#[divan::bench]
fn reproducer(bencher: divan::Bencher<'_, '_>) {
    let dialect = dialect_of("mariadb");
    let grammar = Grammar::builtin("mariadb").expect("it is built in");
    let case = generate(1, 1, &GenerateOptions::benchmark(), &grammar, &dialect).case;
    let text = reproducer::write(&CaseFile::of_case(&case));
    bencher.bench_local(|| {
        let file = reproducer::read(divan::black_box(&text), "bench.sql").expect("it is ours");
        reproducer::write(&file)
    });
}

/// The largest acyclic part of a graph as dense as a contended case's.
#[divan::bench(args = [10, 40])]
fn acyclic(bencher: divan::Bencher<'_, '_>, statements: usize) {
    let mut graph = Graph::new(statements);
    for from in 0..statements {
        for step in [1, 3, 7] {
            graph.add(from, (from * step + step) % statements);
        }
    }
    let candidates: BTreeSet<usize> = (0..statements).collect();
    bencher.bench_local(|| acyclic_part(divan::black_box(&graph), &candidates, |_| 1));
}
