//! Our own format as it comes, piece by piece: from a pipe, a socket, or a file that grows.

use super::FORM_BYTES_MAX;
use super::line::{LineContent, LineParser};
use super::lines::{Line, line_feed};
use crate::history::{HistoryError, Texts};

/// Takes bytes in pieces of any size and tells what each whole line says.
///
/// Keeps no more than the last line that has not come to its end.
#[derive(Debug, Default)]
pub struct Stream {
    parser: LineParser,
    carried: Vec<u8>,
    /// How many lines have been read.
    lines: u64,
}

impl Stream {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// When a line is ill-formed or endless. What stood before it has been told.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        texts: &mut Texts,
        tell: &mut dyn FnMut(LineContent<'_>),
    ) -> Result<(), HistoryError> {
        while let Some(end) = line_feed(bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.carried.is_empty() {
                self.line(line, true, texts, tell)?;
            } else {
                let mut carried = std::mem::take(&mut self.carried);
                carried.extend_from_slice(line);
                self.line(&carried, true, texts, tell)?;
                carried.clear();
                self.carried = carried;
            }
            bytes = rest;
        }
        self.carried.extend_from_slice(bytes);
        if self.carried.len() > FORM_BYTES_MAX {
            let message = format!("a line of more than {FORM_BYTES_MAX} bytes");
            return Err(HistoryError::at(self.lines + 1, FORM_BYTES_MAX, message));
        }
        Ok(())
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// When the last line has no line feed, or there was no line at all.
    pub fn end(
        &mut self,
        texts: &mut Texts,
        tell: &mut dyn FnMut(LineContent<'_>),
    ) -> Result<(), HistoryError> {
        let carried = std::mem::take(&mut self.carried);
        if self.lines == 0 || !carried.is_empty() {
            self.line(&carried, false, texts, tell)?;
        }
        Ok(())
    }

    fn line(
        &mut self,
        bytes: &[u8],
        is_ended: bool,
        texts: &mut Texts,
        tell: &mut dyn FnMut(LineContent<'_>),
    ) -> Result<(), HistoryError> {
        self.lines += 1;
        let mut line = match is_ended {
            true => Line::new(bytes, self.lines),
            false => Line::unended(bytes, self.lines),
        };
        if self.lines == 1 {
            return self.parser.header(&mut line);
        }
        if let Some(item) = self.parser.item(&mut line, texts)? {
            tell(item);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#! rashomon history 1\ninitial 0\n# a comment\n\
                        committed s1 @1..2 r(x,0) w(x,1) r(y,[1 2])\naborted s2 w(y,1)\norder(x) 0 1\n";

    /// What is told when the bytes come in pieces of this size.
    fn told(text: &str, size: usize) -> Result<Vec<String>, String> {
        let (mut stream, mut texts) = (Stream::default(), Texts::default());
        let mut told = Vec::new();
        let mut tell = |item: LineContent<'_>| {
            told.push(match item {
                LineContent::Initial(value) => format!("{value:?}"),
                LineContent::InitialOf { key, value } => format!("{key:?} {value:?}"),
                LineContent::Order { key, values } => format!("{key:?} {values:?}"),
                LineContent::Promised { model, .. } => format!("{model:?}"),
                LineContent::Transaction(told) => {
                    format!("{:?} {:?} {:?}", told.head, told.events, told.lists)
                }
            });
        };
        for piece in text.as_bytes().chunks(size) {
            let fed = stream.feed(piece, &mut texts, &mut tell);
            fed.map_err(|error| error.to_string())?;
        }
        let ended = stream.end(&mut texts, &mut tell);
        ended.map_err(|error| error.to_string())?;
        Ok(told)
    }

    #[test]
    fn pieces_of_any_size_tell_the_same() {
        let whole = told(TEXT, usize::MAX).expect("well-formed");
        assert_eq!(whole.len(), 4);
        for size in 1..TEXT.len() {
            assert_eq!(told(TEXT, size).as_ref(), Ok(&whole), "{size}");
        }
    }

    #[test]
    fn what_is_ill_formed_is_an_error_with_its_line_wherever_it_is_cut() {
        let text = TEXT.replace("w(y,1)", "w(y;1)");
        for size in 1..text.len() {
            let error = told(&text, size).expect_err("ill-formed");
            assert_eq!(error, "line 5, column 15: expected ','", "{size}");
        }
        let error = told("", 1).expect_err("no header");
        assert!(
            error.starts_with("line 1, column 1: the first line"),
            "{error}"
        );
    }

    #[test]
    fn an_endless_line_is_given_up() {
        let (mut stream, mut texts) = (Stream::default(), Texts::default());
        let piece = vec![b'x'; 1 << 20];
        let mut fed = (0..20).map(|_| stream.feed(&piece, &mut texts, &mut |_| {}));
        assert!(fed.any(|fed| fed.is_err()));
    }
}
