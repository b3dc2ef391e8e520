//! Our own format, read and written.

use super::*;

fn parse(text: &str) -> Result<History, String> {
    read(&mut text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn what_is_written_is_what_was_read() {
    let text = "#! rashomon history 1\n\
                initial(x) 0\n\
                initial(\"a \\\"b\\\"\") w\n\
                order(x) 1 2\n\
                committed s1 @10..17 ~-5..1900 r(x,0) w(x,1)\n\
                aborted 2 r(\"a \\\"b\\\"\",nil) w(x,-3)\n\
                indeterminate s1 @12.. w(x,2)\n";
    let history = parse(text).expect("a history");
    let mut written = Vec::new();
    write(&history, &mut written).expect("written");
    assert_eq!(String::from_utf8_lossy(&written), text);
    assert_eq!((history.len(), history.session_count()), (4, 2));
}

#[test]
fn what_is_ill_formed_is_an_error_with_its_line_and_column() {
    let cases = [
        ("", "line 1, column 1: the first line must be"),
        (
            "#! rashomon history 2\n",
            "line 1, column 1: the file is of version 2 of the format, which is newer than",
        ),
        (
            "#! rashomon history 0\n",
            "line 1, column 1: the first line must be",
        ),
        (
            "#! rashomon history one\n",
            "line 1, column 1: the first line must be",
        ),
        ("commited 1 r(1,1)", "line 2, column 1: expected committed"),
        ("committed 1 r(1,1", "line 2, column 18: expected ')'"),
        (
            "committed 1 q(1,1)",
            "line 2, column 13: expected 'r' or 'w'",
        ),
        (
            "committed 1 w(1,99999999999999999999)",
            "line 2, column 17: an integer too large",
        ),
        (
            "committed 1 w(1,-9223372036854775807)",
            "line 2, column 17: an integer too small",
        ),
        ("committed 1 @5 w(1,1)", "line 2, column 15: expected '.'"),
        (
            "\ncommitted",
            "line 3, column 10: expected an integer, a word",
        ),
        (
            "committed 1 w(\"x\\q\",1)",
            "line 2, column 18: an unknown escape",
        ),
        (
            "committed 1 w(1,1)\ninitial 3",
            "line 3, column 8: the initial value",
        ),
    ];
    for (body, message) in cases {
        let text = if body.is_empty() || body.starts_with('#') {
            body.to_owned()
        } else {
            format!("{HEADER}\n{body}\n")
        };
        let error = parse(&text).expect_err(body);
        assert!(error.starts_with(message), "{body:?}: {error}");
    }
}

#[test]
fn the_first_line_holds_the_version_that_is_read() {
    assert_eq!(version(HEADER.as_bytes()), Some(VERSION));
}

#[test]
fn a_last_line_that_was_cut_anywhere_says_so() {
    let line = "committed s1 @1..2 ~3..4 r(\"x\",[1 2]) w(y,-1)";
    for end in 1..=line.len() {
        let cut = &line[..end];
        let error = parse(&format!("{HEADER}\n{cut}")).expect_err(cut);
        let place = format!("line 2, column {}: the last line has no line feed", end + 1);
        assert!(error.starts_with(&place), "{cut:?}: {error}");
    }
    let whole = format!("{HEADER}\n{line}\n");
    assert_eq!(parse(&whole).map(|history| history.len()), Ok(2));
}

/// The first writes at the end of the list that the second reads; the third saw other elements.
#[test]
fn lists_are_read_by_their_last_element_and_give_the_version_order() {
    let text = "#! rashomon history 1\n\
                committed 1 w(x,1)\n\
                committed 2 r(x,[1]) w(x,2) r(x,[1 2])\n\
                committed 3 r(x,[]) r(y,[])\n";
    let history = parse(text).expect("a history");
    let events = |t| history.events(Txn::new(t));
    let read = |t| events(t).map(|e| history.show(e.value)).collect();
    let (second, third): (Vec<_>, Vec<_>) = (read(2), read(3));
    assert_eq!(second, ["1", "2", "2"]);
    assert_eq!(third, ["nil", "nil"]);
    assert_eq!(history.orders().len(), 1);
    assert!(history.order_conflicts().is_empty());
    let torn = format!("{text}committed 4 r(x,[2 1])\n");
    let history = parse(&torn).expect("a history");
    assert_eq!(history.order_conflicts().len(), 1);
    // What was taken back stood in a read of its own transaction only.
    let aborted = format!("{text}aborted 4 w(x,3) r(x,[1 2 3])\ncommitted 4 r(x,[1 2 9])\n");
    let history = parse(&aborted).expect("a history");
    assert!(history.order_conflicts().is_empty());
    let error = parse("#! rashomon history 1\ncommitted 1 r(x,[1)\n").expect_err("no end");
    assert!(error.starts_with("line 2, column 19"), "{error}");
}

/// A stream of one line without an end: it is given up after a bounded part of it.
#[test]
fn an_endless_line_is_given_up() {
    let endless = std::io::Read::chain(HEADER.as_bytes(), std::io::repeat(b'x'));
    let error = read(&mut std::io::BufReader::new(endless)).expect_err("endless");
    assert!(error.to_string().contains("a line of more than"), "{error}");
}

#[test]
fn what_was_promised_is_read_and_written() {
    let told = |line: &str| {
        let history = parse(&format!("{HEADER}\n{line}\ncommitted 1 w(1,1)\n"));
        let history = history.expect("a history");
        let mut out = Vec::new();
        write(&history, &mut out).expect("it is writable");
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains(&format!("\n{line}\n")), "{out}");
        history.promised().map(|promise| promise.model)
    };
    let si = Some(ConsistencyModel::Snapshot);
    assert_eq!(told("promised si \"MariaDB at RR\""), Some(si));
    assert_eq!(told("promised nothing"), Some(None));
    for (line, place) in [
        ("promised", "line 2, column 9: unknown model"),
        ("promised snapshot", "line 2, column 18: unknown model"),
        ("promised si a b", "line 2, column 15"),
        (
            "promised si\npromised si",
            "line 3, column 9: what was promised is said once",
        ),
    ] {
        let error = parse(&format!("{HEADER}\n{line}\n")).expect_err("ill-formed");
        assert!(error.contains(place), "{error}");
    }
}
