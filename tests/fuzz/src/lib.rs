//! What every target does with the bytes it is given.
//!
//! The readers alone are compiled, not the program around them: that takes seconds with coverage
//! instead of minutes, and nothing else is reached from here.

#[path = "../../../src/history/mod.rs"]
pub mod history;

use std::io::{BufReader, Read};

use history::format::{Item, Stream};
use history::{History, HistoryError, Texts, format};

/// How much is read of what was compressed, in bytes.
const PLAIN_BYTES_MAX: u64 = 64 << 20;

/// Reads the bytes as a format, `auto` for whatever they seem to be. An error is as good as a
/// history, but it has its place; a history must survive being written and read again.
pub fn look(name: &str, mut bytes: &[u8]) {
    if name == "rashomon" {
        in_pieces(bytes);
    }
    let (format, read) = match name {
        // A buffer of three bytes, as a slow pipe would fill it.
        "auto" => {
            let stream = format::decompressed(BufReader::with_capacity(3, bytes));
            let stream = stream.map_err(HistoryError::from);
            // A few compressed bytes may be gigabytes.
            match stream.and_then(|stream| format::detect(stream.take(PLAIN_BYTES_MAX))) {
                Ok((format, mut stream)) => (format, (format.read)(&mut stream)),
                Err(_) => return,
            }
        }
        name => {
            let format = format::by_name(name).expect("a format of this name");
            (format, (format.read)(&mut bytes))
        }
    };
    match read {
        Ok(history) => {
            kept("rashomon", &history);
            // Elle's operations of one process must not overlap, which nothing keeps others from.
            if format.name != "elle" {
                kept(format.name, &history);
            }
        }
        Err(error) => drop(error.to_string()),
    }
}

/// What comes in pieces tells what the whole tells, and fails where the whole fails; the whole may
/// fail at more, since it compares transactions with each other.
fn in_pieces(mut bytes: &[u8]) {
    let size = bytes.first().map_or(1, |byte| usize::from(byte % 16) + 1);
    let (mut stream, mut texts) = (Stream::default(), Texts::default());
    let mut told = 0;
    let mut tell = |item: Item<'_>| told += usize::from(matches!(item, Item::Transaction(_)));
    let fed = bytes
        .chunks(size)
        .try_for_each(|piece| stream.feed(piece, &mut texts, &mut tell))
        .and_then(|()| stream.end(&mut texts, &mut tell));
    let format = format::by_name("rashomon").expect("a format of this name");
    match ((format.read)(&mut bytes), fed) {
        (Ok(history), Ok(())) => assert_eq!(history.len() - 1, told),
        (Ok(_), Err(error)) => panic!("in pieces: {error}"),
        (Err(_), _) => {}
    }
}

/// What is written is read again. A format may leave out what it has no place for (reads of
/// aborted transactions in `text`), but what it wrote once it writes the same from then on.
fn kept(name: &str, history: &History) {
    let format = format::by_name(name).expect("a format of this name");
    let Some(write) = format.write else { return };
    let mut first = Vec::new();
    // A format may say that it cannot hold this one.
    if write(history, &mut first).is_err() {
        return;
    }
    let again = |bytes: &[u8]| {
        let failed = |error| -> ! { panic!("{name}: {error}: {}", String::from_utf8_lossy(bytes)) };
        let history = (format.read)(&mut &bytes[..]).unwrap_or_else(|error| failed(error));
        let mut written = Vec::new();
        write(&history, &mut written).unwrap_or_else(|error| failed(error));
        written
    };
    let second = again(&first);
    if name == "rashomon" {
        assert_eq!(
            String::from_utf8_lossy(&first),
            String::from_utf8_lossy(&second)
        );
    }
    let third = again(&second);
    let (second, third) = (
        String::from_utf8_lossy(&second),
        String::from_utf8_lossy(&third),
    );
    assert_eq!(second, third, "{name}");
}
