//! Lines of bytes from a stream, none longer than a bound, and the words in them.

use std::io::BufRead;

use super::swar::{DIGITS_MAX, digits};
use crate::history::{Atom, HistoryError, Kind};

/// The longest line, or form of EDN or JSON, that a reader takes, in bytes.
pub const FORM_BYTES_MAX: usize = 16 << 20;

/// Hands out one line after the other without its end.
pub(super) struct Lines<'s> {
    stream: &'s mut dyn BufRead,
    /// What is still to be given back to the stream: the line handed out last.
    consumed: usize,
    /// A line that crossed the stream's buffer.
    carried: Vec<u8>,
    number: u64,
}

impl<'s> Lines<'s> {
    pub(super) fn new(stream: &'s mut dyn BufRead) -> Self {
        Self {
            stream,
            consumed: 0,
            carried: Vec::new(),
            number: 0,
        }
    }

    /// The next line and its number, counted from 1.
    ///
    /// # Errors
    /// When the stream fails or the line is longer than [`FORM_BYTES_MAX`].
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, HistoryError> {
        self.stream.consume(std::mem::take(&mut self.consumed));
        self.carried.clear();
        self.number += 1;
        loop {
            let buffered = self.stream.fill_buf()?;
            if buffered.is_empty() {
                let last = (!self.carried.is_empty()).then_some(());
                return Ok(last.map(|()| Line::unended(&self.carried, self.number)));
            }
            if let Some(end) = line_feed(buffered) {
                self.consumed = end + 1;
                if self.carried.is_empty() {
                    break;
                }
                self.carried.extend_from_slice(&buffered[..end]);
                return Ok(Some(Line::new(&self.carried, self.number)));
            }
            if self.carried.len() + buffered.len() > FORM_BYTES_MAX {
                let message = format!("a line of more than {FORM_BYTES_MAX} bytes");
                return Err(HistoryError::at(self.number, FORM_BYTES_MAX, message));
            }
            self.carried.extend_from_slice(buffered);
            let taken = buffered.len();
            self.stream.consume(taken);
        }
        // The borrow checker does not let the loop return a slice of the stream's own buffer.
        let end = self.consumed - 1;
        let buffered = self.stream.fill_buf()?;
        Ok(Some(Line::new(&buffered[..end], self.number)))
    }
}

/// The place of the first line feed.
pub(super) fn line_feed(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes)
}

/// A line, read from left to right.
pub(super) struct Line<'l> {
    bytes: &'l [u8],
    at: usize,
    pub(super) number: u64,
    /// Whether the file ended where its line feed should be.
    is_unended: bool,
}

impl<'l> Line<'l> {
    /// A line without its line feed.
    pub(super) fn new(bytes: &'l [u8], number: u64) -> Self {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Self {
            bytes,
            at: 0,
            number,
            is_unended: false,
        }
    }

    /// A last line that has no line feed.
    pub(super) fn unended(bytes: &'l [u8], number: u64) -> Self {
        Self {
            is_unended: true,
            ..Self::new(bytes, number)
        }
    }

    /// Refuses a line that has no line feed: what it says may be the half of it.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn is_whole(&self) -> Result<(), HistoryError> {
        match self.is_unended {
            false => Ok(()),
            true => Err(self.error_at(
                self.bytes.len(),
                "the last line has no line feed: it was cut, or is being written; end it, or take it out",
            )),
        }
    }

    /// What has not been read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'l [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn is_blank(&self) -> bool {
        self.rest().trim_ascii().is_empty()
    }

    #[inline]
    pub(super) fn skip_spaces(&mut self) {
        while matches!(self.rest().first(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Whether this byte comes next; reads it if so.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_there = self.rest().first() == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Reads this byte.
    ///
    /// # Errors
    /// When something else comes next.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), HistoryError> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.error(format!("expected {:?}", char::from(byte))))
    }

    /// Reads the letter of an event, `r` or `w`.
    ///
    /// # Errors
    /// When something else comes next.
    #[inline]
    pub(super) fn kind(&mut self) -> Result<Kind, HistoryError> {
        // Which of the two it is nobody can guess: no branch is taken by it.
        match self.rest().first() {
            Some(letter) if (*letter == b'r') | (*letter == b'w') => {
                self.at += 1;
                let kinds = [Kind::Read, Kind::Write];
                Ok(kinds[usize::from(*letter == b'w')])
            }
            _ => Err(self.error("expected 'r' or 'w'")),
        }
    }

    /// Reads bytes as long as they satisfy `is_part`.
    #[inline]
    pub(super) fn word(&mut self, is_part: impl Fn(u8) -> bool) -> &'l [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|byte| !is_part(*byte));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// When there is none, or one beyond what an [`Atom`] holds.
    #[inline]
    pub(super) fn integer(&mut self) -> Result<i64, HistoryError> {
        let begin = self.at;
        let negative = self.take(b'-');
        let (value, count) = digits(self.rest());
        if count > 0 && count < DIGITS_MAX {
            self.at += count;
            let value = value.cast_signed();
            return Ok(if negative { -value } else { value });
        }
        self.long_integer(begin, negative)
    }

    /// As [`Line::integer`], of one that has more digits or none.
    #[cold]
    fn long_integer(&mut self, begin: usize, negative: bool) -> Result<i64, HistoryError> {
        let mut value: i64 = 0;
        let digits = self.at;
        while let Some(digit) = self.rest().first().filter(|byte| byte.is_ascii_digit()) {
            let digit = i64::from(digit - b'0');
            let digit = if negative { -digit } else { digit };
            let next = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(digit));
            let too = if negative { "small" } else { "large" };
            value = next.ok_or_else(|| self.error_at(begin, format!("an integer too {too}")))?;
            self.at += 1;
        }
        if self.at == digits {
            return Err(self.error_at(begin, "expected an integer"));
        }
        Ok(value)
    }

    /// Reads an integer as an atom.
    ///
    /// # Errors
    /// As [`Line::integer`].
    #[inline]
    pub(super) fn atom(&mut self) -> Result<Atom, HistoryError> {
        let begin = self.at;
        let value = self.integer()?;
        Atom::integer(value).ok_or_else(|| self.error_at(begin, "an integer too small"))
    }

    /// # Errors
    /// When something is left of the line.
    pub(super) fn end(&mut self) -> Result<(), HistoryError> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        Err(self.error("expected the end of the line"))
    }

    /// An error where reading stands.
    #[cold]
    pub(super) fn error(&self, message: impl Into<String>) -> HistoryError {
        self.error_at(self.at, message)
    }

    #[cold]
    fn error_at(&self, at: usize, message: impl Into<String>) -> HistoryError {
        HistoryError::at(self.number, at + 1, message)
    }
}
