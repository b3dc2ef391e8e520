//! Histories that were judged or told wrong once, with what is right.

use super::*;
use crate::history::format;

fn read(lines: &str) -> History {
    let text = format!("#! rashomon history 1\n{lines}");
    let ours = format::by_name("rashomon").expect("our format");
    (ours.read)(&mut text.as_bytes()).expect("a history")
}

/// What `auto` says: the name of the anomaly, or nothing.
fn judged(history: &History, model: ConsistencyModel) -> Option<&'static str> {
    match check(history, model, Budget::default()).1 {
        Answer::Satisfied(witness) => {
            assert_eq!(replay(history, model, &witness), Ok(()));
            None
        }
        Answer::Violated(found) => Some(found.anomaly.slug()),
        Answer::Unknown(reason) => Some(if reason.is_empty() { "?" } else { "unknown" }),
    }
}

#[test]
fn an_indeterminate_transaction_with_an_end_may_be_left_out() {
    let history = read(
        "initial 0\nindeterminate s1 ~1..4 r(x,0) w(x,1)\nindeterminate s2 ~1..4 r(x,0) w(x,1)\n\
         committed s3 ~5..6 r(x,1)\n",
    );
    for model in [
        ConsistencyModel::StrictSerializable,
        ConsistencyModel::Linearizable,
    ] {
        assert_eq!(judged(&history, model), None, "{model}");
    }
}

#[test]
fn a_list_of_the_initial_value_makes_no_violation() {
    let history = read("initial 0\norder(x) 0\ncommitted s1 w(x,0)\ncommitted s2 r(x,0) w(x,1)\n");
    assert_eq!(
        judged(&history, ConsistencyModel::Serializable),
        Some("unknown")
    );
}

/// Two appends of one value are legal; which of them a list means is not known.
#[test]
fn a_value_that_was_appended_twice_makes_no_violation() {
    let history = read(
        "committed s1 w(x,1)\ncommitted s2 w(x,2)\ncommitted s3 w(x,1)\ncommitted s4 r(x,[1 2 1])\n",
    );
    let one = read("committed s1 w(x,1) w(x,1)\ncommitted s2 r(x,[1])\ncommitted s3 r(x,[1 1])\n");
    for model in ConsistencyModel::LADDER {
        assert_eq!(judged(&history, model), Some("unknown"), "{model}");
        assert_eq!(judged(&one, model), Some("unknown"), "{model}");
    }
}

#[test]
fn a_value_that_a_list_has_more_often_than_it_was_appended_is_a_violation() {
    let text = "committed s1 w(x,1)\naborted s2 w(x,1)\ncommitted s3 r(x,[1])\n\
                committed s4 r(x,[1 1])\n";
    expect_test::expect![[r#"
        incompatible order (Elle: duplicate-elements)
          T4 reads [1 1] for x: an element more often than appended
          T4 of session s4: r(x,[1 1])
    "#]]
    .assert_eq(&words(text, ConsistencyModel::ReadCommitted));
}

/// The longest list has 1 twice, so that a read of its last element does not say how long it was.
#[test]
fn a_read_is_shown_as_the_file_has_it_where_a_list_repeats_a_value() {
    let text = "committed s1 w(x,1)\ncommitted s2 w(x,2)\ncommitted s3 w(x,1)\n\
                committed s4 r(x,[1 2 1])\ncommitted s5 r(x,[2 1])\n";
    expect_test::expect![[r#"
        incompatible order (Elle: incompatible-order)
          T4 reads [1 2 1] for x, T5 reads [2 1]: neither begins with the other
          T4 of session s4: r(x,[1 2 1])
          T5 of session s5: r(x,[2 1])
    "#]]
    .assert_eq(&words(text, ConsistencyModel::ReadCommitted));
}

/// Clocks by session would take a terabyte.
#[test]
fn causal_consistency_of_as_many_sessions_as_transactions_is_decided() {
    let mut builder = Builder::new(Atom::from(0));
    for number in 0..500_000u32 {
        let key = builder.key((number / 2).into()).expect("a key");
        let value = (number / 2 + 1).into();
        let kind = [Kind::Write, Kind::Read][number as usize % 2];
        let head = Head {
            session: number.into(),
            label: (number + 1).into(),
            status: Status::Committed,
            timestamps: None,
            real_time: None,
        };
        let event = Event { kind, key, value };
        builder.transaction(&head, [event]).expect("few");
    }
    let history = builder.finish();
    let answer = check(&history, ConsistencyModel::Causal, Budget::default()).1;
    assert!(matches!(answer, Answer::Satisfied(_)), "{answer:.200?}");
}

#[test]
fn a_session_keeps_its_order_where_its_clock_does_not_show_it() {
    let history =
        read("initial 0\ncommitted s1 ~1..5 r(x,1) w(x,2)\ncommitted s1 ~5..9 r(x,0) w(x,1)\n");
    for checker in CHECKERS {
        if checker.models().contains(&ConsistencyModel::Linearizable) {
            let answer = checker.check(&history, ConsistencyModel::Linearizable, Budget::default());
            assert!(matches!(answer, Answer::Violated(_)), "{}", checker.name());
        }
    }
}

/// Each group of keys alone has an order; the sessions, whose times touch, have none in common.
#[test]
fn sessions_whose_times_touch_bind_keys_that_nobody_joins() {
    let history = read(
        "initial 0\ncommitted s1 ~1..6 r(x,1)\ncommitted s1 ~6..9 r(y,0)\n\
         committed s2 ~1..6 w(y,1)\ncommitted s2 ~6..9 w(x,1)\n",
    );
    for checker in CHECKERS {
        if checker
            .models()
            .contains(&ConsistencyModel::StrictSerializable)
            && !checker.judges_timestamps()
        {
            let answer = checker.check(
                &history,
                ConsistencyModel::StrictSerializable,
                Budget::default(),
            );
            assert!(
                !matches!(answer, Answer::Satisfied(_)),
                "{}",
                checker.name()
            );
        }
    }
}

#[test]
fn anomalies_have_their_names() {
    use ConsistencyModel::{ReadCommitted, Serializable, Snapshot, StrictSerializable};
    let cases = [
        // Serializable, in an order that real time forbids.
        (
            "initial 0\ncommitted s1 ~1..2 w(x,1)\ncommitted s2 ~3..4 w(x,2)\n\
             committed s3 ~5..6 r(x,1)\n",
            StrictSerializable,
            "stale-read",
        ),
        (
            "committed s1 w(x,9)\ncommitted s1 r(x,[9]) w(x,1)\ncommitted s2 r(x,[9]) w(x,2)\n",
            Snapshot,
            "lost-update",
        ),
        (
            "committed s1 w(x,9)\ncommitted s1 r(x,[9]) w(x,1)\ncommitted s2 r(x,[9]) w(x,2)\n\
             committed s3 r(x,[9 2])\n",
            Snapshot,
            "lost-update",
        ),
        // One key is no fork.
        (
            "initial 0\ncommitted s1 w(x,1)\ncommitted s2 w(x,1)\ncommitted s3 r(x,1) w(x,3)\n\
             committed s4 r(x,1) w(x,4)\ncommitted s5 r(x,1) w(x,5)\n",
            Snapshot,
            "no-version-order",
        ),
        // s3 reads what s2 wrote and s1 overwrote; without it they still come behind the read of s4, and before its write.
        (
            "initial 0\norder(x) 3 2 7\ncommitted s4 r(x,0) w(x,7)\ncommitted s2 w(x,3)\n\
             committed s3 r(x,3)\ncommitted s1 w(x,2)\n",
            Serializable,
            "lost-update",
        ),
        // Of two keys it is a fork.
        (
            "initial 0\norder(x) 1\norder(y) 1\ncommitted s1 w(x,1)\ncommitted s2 w(y,1)\n\
             committed s3 r(x,1) r(y,0)\ncommitted s4 r(x,0) r(y,1)\n",
            Serializable,
            "long-fork",
        ),
        (
            "initial 0\ncommitted s1 w(x,1) r(x,2) w(x,2)\n",
            ReadCommitted,
            "future-read",
        ),
        (
            "initial 0\ncommitted s1 w(x,1)\ncommitted s1 r(x,1) w(x,2)\n\
             committed s2 r(x,2) r(x,1)\n",
            ReadCommitted,
            "non-monotonic-read",
        ),
        (
            "initial 0\ncommitted s1 r(x,0) w(y,1)\ncommitted s2 r(y,0) w(x,1)\n",
            Serializable,
            "write-skew",
        ),
    ];
    for (lines, model, anomaly) in cases {
        assert_eq!(judged(&read(lines), model), Some(anomaly), "{lines}");
    }
}

/// The words of the counterexample.
fn words(lines: &str, model: ConsistencyModel) -> String {
    let history = read(lines);
    match check(&history, model, Budget::default()).1 {
        Answer::Violated(found) => in_words(&history, &found),
        answer @ (Answer::Satisfied(_) | Answer::Unknown(_)) => panic!("{answer:?}"),
    }
}

#[test]
fn words_show_the_lists_that_were_read() {
    let two = "committed s1 w(x,1)\ncommitted s2 w(x,2)\n";
    let contradict = format!("{two}committed s3 r(x,[1 2])\ncommitted s4 r(x,[2 1])\n");
    expect_test::expect![[r#"
        incompatible order (Elle: incompatible-order)
          T3 reads [1 2] for x, T4 reads [2 1]: neither begins with the other
          T3 of session s3: r(x,[1 2])
          T4 of session s4: r(x,[2 1])
    "#]]
    .assert_eq(&words(&contradict, ConsistencyModel::ReadCommitted));
    let aborted = "committed s1 w(x,1)\naborted s2 w(x,9)\ncommitted s3 r(x,[9 1])\n";
    expect_test::expect![[r"
        aborted read (G1a)
          T3 reads x behind 9, which T2 wrote and aborted
          T2 of session s2, aborted: w(x,9)
          T3 of session s3: r(x,[9 1])
    "]]
    .assert_eq(&words(aborted, ConsistencyModel::ReadCommitted));
    expect_test::expect![[r"
        thin-air read
          the order of x names 7, which no transaction wrote
    "]]
    .assert_eq(&words(
        "order(x) 7\ncommitted s1 w(x,1)\n",
        ConsistencyModel::ReadCommitted,
    ));
}

#[test]
fn what_stands_between_is_told_and_nothing_else() {
    let hidden = "initial 0\ncommitted s1 w(x,1)\ncommitted s1 w(y,1)\n\
                  committed s2 r(y,1) w(z,1)\ncommitted s3 r(z,1) r(x,0)\n";
    expect_test::expect![[r#"
        causality violation (G-single)
          T0 -SO-> T1: T0 is the beginning
          T1 -CO-> T0: T4 must see T1, and reads the version of x that T0 wrote
          by way of T2, T3: each reads from the one before, or follows it in its session
          T1 of session s1: w(x,1)
          T2 of session s1: w(y,1)
          T3 of session s2: r(y,1) w(z,1)
          T4 of session s3: r(z,1) r(x,0)
    "#]]
    .assert_eq(&words(hidden, ConsistencyModel::Causal));
    let chain = "initial 0\ncommitted s1 w(x,9)\ncommitted s2 r(x,0) w(x,1)\n\
                 committed s1 r(x,1) w(x,2)\n";
    expect_test::expect![[r#"
        circular information flow (G1c; Elle: G0-process)
          T1 -SO-> T3: T1 comes before T3 in their session
          T3 -WW(x)-> T1: T1 writes x after T3
          by way of T2: each reads from the one before, or follows it in its session
          T1 of session s1: w(x,9)
          T2 of session s2: r(x,0) w(x,1)
          T3 of session s1: r(x,1) w(x,2)
    "#]]
    .assert_eq(&words(chain, ConsistencyModel::Snapshot));
    let overwritten = "initial 0\ncommitted s1 r(x,0) w(x,6)\ncommitted s2 w(x,3) w(y,3)\n\
                       committed s3 r(y,3) r(x,6)\n";
    expect_test::expect![[r#"
        non-monotonic read (G-single; Elle: G-single-item)
          T2 -WR(y)-> T3: T3 reads the version of y that T2 wrote
          T3 -RW(x)-> T2: T3 reads a version of x that T2 overwrites
          by way of T1: each reads from the one before, or follows it in its session
          T1 of session s1: r(x,0) w(x,6)
          T2 of session s2: w(x,3) w(y,3)
          T3 of session s3: r(y,3) r(x,6)
    "#]]
    .assert_eq(&words(overwritten, ConsistencyModel::Snapshot));
    let long = "initial 0\ncommitted s1 r(x,1)\ncommitted s1 w(y,3)\ncommitted s1 w(z,3)\n\
                committed s1 w(x,1)\n";
    expect_test::expect![[r#"
        circular information flow (G1c; Elle: G1c-process)
          T1 -SO-> T4: T1 comes before T4 in their session
          T4 -WR(x)-> T1: T1 reads the version of x that T4 wrote
          T1 of session s1: r(x,1)
          T4 of session s1: w(x,1)
    "#]]
    .assert_eq(&words(long, ConsistencyModel::Causal));
}

/// Of what no order explains, only what it takes.
#[test]
fn nothing_can_be_left_out_of_a_set_without_an_order() {
    let searched = "initial 0\nindeterminate s1 w(x,1)\nindeterminate s2 w(x,1)\n\
                    committed s3 r(x,1)\ncommitted s4 w(y,5)\ncommitted s3 r(x,0) r(y,5)\n";
    expect_test::expect![[r#"
        no serial order
          no order of the writes of these explains all reads: T1, T2, T3, T5
          T1 of session s1, indeterminate: w(x,1)
          T2 of session s2, indeterminate: w(x,1)
          T3 of session s3: r(x,1)
          T5 of session s3: r(x,0) r(y,5)
    "#]]
    .assert_eq(&words(searched, ConsistencyModel::Serializable));
    let tried = "initial 0\naborted s9 w(z,7)\nindeterminate s8 w(u,1)\n\
                 indeterminate s1 w(x,1)\nindeterminate s2 w(x,1)\ncommitted s3 r(x,1)\n\
                 committed s3 r(x,0)\ncommitted s4 r(z,0)\n";
    expect_test::expect![[r#"
        no version order
          no order of the writes of these explains all reads: T3, T4, T5, T6
          T3 of session s1, indeterminate: w(x,1)
          T4 of session s2, indeterminate: w(x,1)
          T5 of session s3: r(x,1)
          T6 of session s3: r(x,0)
    "#]]
    .assert_eq(&words(tried, ConsistencyModel::Causal));
}

/// Runs of MySQL and MariaDB at REPEATABLE READ. They are causally consistent, and a version order that is not cannot be theirs.
#[test]
fn a_set_is_named_by_the_version_orders_that_its_causality_leaves() {
    let torn = "initial 0\ncommitted s1 w(x,2) w(y,1) w(x,1)\ncommitted s2 r(y,0) w(x,3)\n\
                committed s2 r(y,1) r(x,3)\n";
    let torn_behind_a_session = "initial 0\ncommitted s1 w(x,1) w(x,2)\n\
                                 committed s1 w(x,5) w(y,1) r(z,0)\n\
                                 committed s2 r(x,2) w(z,1) w(y,3)\n";
    // 2 comes between the 3 that was read and the 4 that was written, and nobody has read it.
    let lost = "initial 0\ncommitted s1 w(x,1) w(x,3)\ncommitted s1 w(x,2)\n\
                committed s2 r(x,3) w(x,4)\ncommitted s1 r(x,4)\n";
    // Five write y and three write z, which nobody reads.
    let unread = "initial 0\ncommitted s1 w(y,1) w(x,4)\ncommitted s1 w(z,1) w(y,10) w(u,1) r(x,1)\n\
                  committed s2 r(x,4) w(z,2) w(y,4) w(x,9)\ncommitted s2 r(u,1) r(x,9) w(y,5) w(z,5)\n\
                  committed s3 w(x,1) w(y,9)\n";
    for (lines, name) in [
        (unread, "lost-update"),
        (torn, "read-skew"),
        (torn_behind_a_session, "read-skew"),
        (lost, "lost-update"),
    ] {
        let history = read(lines);
        assert_eq!(judged(&history, ConsistencyModel::Causal), None, "{lines}");
        let found = judged(&history, ConsistencyModel::Serializable);
        assert_eq!(found, Some(name), "{lines}");
    }
}

/// A set gets the name of a cycle only where every version order has such a cycle.
#[test]
fn a_set_has_the_name_of_what_every_version_order_leads_to() {
    // T3 before T1 wrote x and y in contradicting orders, and T3 after T2 is torn by T4: T3 wrote x between the read and
    // the write of T2.
    let between = "initial 0\ncommitted s1 w(x,1) w(y,1)\ncommitted s1 r(x,1) r(z,0) w(x,6)\n\
                  committed s2 w(x,3) w(y,3)\ncommitted s3 r(y,3) r(x,6)\n";
    expect_test::expect![[r#"
        lost update (G-single; Elle: lost-update)
          no order of the writes of these explains all reads: T1, T2, T3, T4
          x: 1 by T1, read by T2; 6 by T2, read by T4; 3 by T3
          y: 1 by T1; 3 by T3, read by T4
          if T1 writes x first: T3 -WR(y)-> T4 -RW(x)-> T3
          if T3 writes x first and T1 writes y first: T1 -WW(y)-> T3 -WW(x)-> T1
          if T3 writes x first and T3 writes y first: T1 -WR(x)-> T2 -WR(x)-> T4 -RW(y)-> T1
          T1 of session s1: w(x,1) w(y,1)
          T2 of session s1: r(x,1) r(z,0) w(x,6)
          T3 of session s2: w(x,3) w(y,3)
          T4 of session s3: r(y,3) r(x,6)
    "#]]
    .assert_eq(&words(between, ConsistencyModel::Serializable));
    // Whoever wrote x first, two readers see two writers in opposite orders.
    let forked = "initial 0\ncommitted s1 w(x,1) w(d,1)\ncommitted s2 w(x,2) w(b,1)\n\
                  committed s3 w(c,1)\ncommitted s4 w(e,1)\n\
                  committed s5 r(x,1) r(c,1)\ncommitted s6 r(b,1) r(c,0)\n\
                  committed s7 r(x,2) r(e,1)\ncommitted s8 r(d,1) r(e,0)\n";
    expect_test::expect![[r#"
        long fork (G-nonadjacent)
          no order of the writes of these explains all reads: T1, T2, T3, T4, T5, T6, T7, T8
          x: 1 by T1, read by T5; 2 by T2, read by T7
          d: 1 by T1, read by T8
          b: 1 by T2, read by T6
          c: 0 at first, read by T6; 1 by T3, read by T5
          e: 0 at first, read by T8; 1 by T4, read by T7
          if T1 writes x first: T2 -WR(b)-> T6 -RW(c)-> T3 -WR(c)-> T5 -RW(x)-> T2
          if T2 writes x first: T1 -WR(d)-> T8 -RW(e)-> T4 -WR(e)-> T7 -RW(x)-> T1
          T1 of session s1: w(x,1) w(d,1)
          T2 of session s2: w(x,2) w(b,1)
          T3 of session s3: w(c,1)
          T4 of session s4: w(e,1)
          T5 of session s5: r(x,1) r(c,1)
          T6 of session s6: r(b,1) r(c,0)
          T7 of session s7: r(x,2) r(e,1)
          T8 of session s8: r(d,1) r(e,0)
    "#]]
    .assert_eq(&words(forked, ConsistencyModel::Serializable));
}

/// Two of three that read one version and wrote the key; the list says who of them wrote first.
#[test]
fn a_lost_update_is_told_as_a_cycle_with_those_that_are_alike() {
    let three = "initial 0\ncommitted s1 r(x,0) w(x,1)\ncommitted s2 r(x,0) w(x,2)\n\
                 committed s3 r(x,0) w(x,3)\ncommitted s4 r(x,0)\n";
    expect_test::expect![[r"
        lost update (G-single; Elle: lost-update)
          T1 -WW(x)-> T2: T2 writes x after T1
          T2 -RW(x)-> T1: T2 reads a version of x that T1 overwrites
          both wrote what both had read: the later, whichever it is, did not see the write of the earlier; one more transaction read this version and wrote the key
          T1 of session s1: r(x,0) w(x,1)
          T2 of session s2: r(x,0) w(x,2)
    "]]
    .assert_eq(&words(three, ConsistencyModel::Snapshot));
    let list = "committed s1 r(x,[]) w(x,1)\ncommitted s2 r(x,[]) w(x,2)\n\
                committed s3 r(x,[2 1])\n";
    let told = words(list, ConsistencyModel::Snapshot);
    assert!(told.contains("T2 -WW(x)-> T1"), "{told}");
    assert!(told.contains("T1 -RW(x)-> T2"), "{told}");
}

#[test]
fn elle_has_names_of_its_own_for_cycles_and_for_what_needs_none() {
    let name = |lines: &str, model: ConsistencyModel| {
        let history = read(&format!("initial 0\n{lines}"));
        let Answer::Violated(found) = check(&history, model, Budget::default()).1 else {
            panic!("{lines}");
        };
        elle(&history, &found)
    };
    let table: [(&str, ConsistencyModel, Option<&str>); 6] = [
        (
            "aborted s1 w(x,1)\ncommitted s2 r(x,1)\n",
            ConsistencyModel::ReadCommitted,
            Some("G1a"),
        ),
        (
            "committed s1 w(x,1) w(x,2)\ncommitted s2 r(x,1)\n",
            ConsistencyModel::ReadCommitted,
            Some("G1b"),
        ),
        (
            "committed s1 w(x,1) r(x,0)\n",
            ConsistencyModel::ReadCommitted,
            Some("internal"),
        ),
        (
            "committed s1 r(x,0) r(y,0) w(x,1)\ncommitted s2 r(x,0) r(y,0) w(y,1)\n",
            ConsistencyModel::Serializable,
            Some("G2-item"),
        ),
        (
            "committed s1 ~1..2 r(x,0) w(x,1)\ncommitted s2 ~3..4 r(x,0)\n",
            ConsistencyModel::StrictSerializable,
            Some("G-single-item-realtime"),
        ),
        (
            "committed s1 r(x,7)\n",
            ConsistencyModel::ReadCommitted,
            None,
        ),
    ];
    for (lines, model, expected) in table {
        assert_eq!(name(lines, model).as_deref(), expected, "{lines}");
    }
}
