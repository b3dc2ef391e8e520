//! Files that gzip or zstd has compressed, told by their first bytes and decompressed as they are
//! read.
//!
//! A decoder holds no more than its window: 32 KiB of gzip, at most [`ZSTD_WINDOW_MAX`] of zstd.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::history::error::Damaged;

/// The largest window of zstd that is decompressed, in bytes: what `zstd -d` takes unasked.
const ZSTD_WINDOW_MAX: u64 = 128 << 20;

/// How much of a stream is looked at, in bytes: as much as tells dbcop's bincode, whose first
/// number may have the bytes of a mark.
const HEAD_BYTES: u64 = 40;

/// How many decompressed bytes lie ready.
const BUFFER_BYTES: usize = 1 << 16;

/// A program that compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// The one whose mark stands at the beginning of a file (RFC 1952, section 2.3.1; RFC 8878,
    /// section 3.1).
    pub fn of(head: &[u8]) -> Option<Self> {
        // The third byte is the method, of which there is one.
        if head.starts_with(b"\x1f\x8b\x08") {
            return Some(Self::Gzip);
        }
        let mark = u32::from_le_bytes(*head.first_chunk()?);
        (mark == 0xfd2f_b528 || is_skippable(mark)).then_some(Self::Zstd)
    }

    /// As its program is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Whether a mark is that of a frame of zstd without content: `pzstd` begins with one.
fn is_skippable(mark: u32) -> bool {
    (0x184d_2a50..=0x184d_2a5f).contains(&mark)
}

/// The stream, decompressed where gzip or zstd has compressed it.
///
/// What is wrong with the compressed bytes is an error of reading that
/// [`HistoryError`](crate::history::HistoryError) turns into one with its place.
///
/// # Errors
/// When the stream cannot be read.
pub fn decompressed<'s>(mut stream: impl BufRead + 's) -> io::Result<Box<dyn BufRead + 's>> {
    let mut head = Vec::new();
    // As many reads as it takes: a pipe may give a few bytes at a time.
    stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let compression = match super::dbcop::detect(&head) {
        true => None,
        false => Compression::of(&head),
    };
    let stream = Cursor::new(head).chain(stream);
    let Some(compression) = compression else {
        return Ok(Box::new(stream));
    };
    let source = Source::new(stream);
    let plain: Box<dyn Read + 's> = match compression {
        Compression::Gzip => Box::new(Gzip(MultiGzDecoder::new(source))),
        Compression::Zstd => Box::new(Zstd::new(source)),
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, plain)))
}

/// The compressed bytes, and what a decoder's error does not say of them.
struct Source<R> {
    inner: R,
    /// Bytes that were taken.
    taken: u64,
    /// Whether the stream has come to its end.
    is_over: bool,
    /// Why the stream could not be read: decoders hand on less than this.
    failed: Option<io::Error>,
}

impl<R: BufRead> Source<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            taken: 0,
            is_over: false,
            failed: None,
        }
    }

    /// Why a decoder gave up.
    fn error(&mut self, compression: Compression, cause: &dyn std::fmt::Display) -> io::Error {
        if let Some(error) = self.failed.take() {
            return error;
        }
        let name = compression.name();
        let message = match self.is_over {
            true => format!(
                "the {name} file ends too early: it was cut, or is being written; copy or make it \
                 anew"
            ),
            false => format!("the {name} file is damaged ({cause}): copy or make it anew"),
        };
        self.damaged(message)
    }

    fn damaged(&self, message: String) -> io::Error {
        let byte = self.taken + 1;
        io::Error::other(Damaged { byte, message })
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.inner.fill_buf() {
            Ok(bytes) => {
                self.is_over = bytes.is_empty();
                Ok(bytes)
            }
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount as u64;
        self.inner.consume(amount);
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// A file of gzip: one member after the other.
struct Gzip<R>(MultiGzDecoder<Source<R>>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer);
        read.map_err(|error| self.0.get_mut().error(Compression::Gzip, &error))
    }
}

/// A file of zstd: one frame after the other, those without content passed over.
struct Zstd<R> {
    source: Source<R>,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: Source<R>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW_MAX);
        Self {
            source,
            decoder,
            is_in_frame: false,
        }
    }

    /// Goes to the next frame with content; whether there is one.
    fn next_frame(&mut self) -> io::Result<bool> {
        while self.has_more()? {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                    let message = format!(
                        "the zstd file needs a window of {requested} bytes, and no more than {max} \
                         are kept: decompress it with zstd -dc --long=31 and read it from \
                         standard input"
                    );
                    return Err(self.source.damaged(message));
                }
                Err(FrameDecoderError::DictNotProvided { dict_id }) => {
                    let message = format!(
                        "the zstd file needs the dictionary {dict_id}: decompress it with \
                         zstd -dc -D DICTIONARY and read it from standard input"
                    );
                    return Err(self.source.damaged(message));
                }
                Err(error) => return Err(self.error(&error)),
            }
        }
        Ok(false)
    }

    fn has_more(&mut self) -> io::Result<bool> {
        let more = self.source.fill_buf().map(|bytes| !bytes.is_empty());
        more.map_err(|error| self.error(&error))
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == length => Ok(()),
            Ok(_) => Err(self.error(&"a frame without its end")),
            Err(error) => Err(self.error(&error)),
        }
    }

    /// Refuses a frame whose content has another checksum than the frame says.
    fn check(&mut self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        if told.is_some() && told != self.decoder.get_calculated_checksum() {
            return Err(self.error(&"its checksum is that of another content"));
        }
        Ok(())
    }

    fn error(&mut self, cause: &dyn std::fmt::Display) -> io::Error {
        self.source.error(Compression::Zstd, cause)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.is_in_frame = true;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.is_in_frame = false;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, one) {
                return Err(self.error(&error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::super::{HEADER, detect};
    use super::*;
    use crate::history::{History, HistoryError};

    fn text(transactions: u32) -> Vec<u8> {
        let lines = (1..=transactions).map(|number| format!("committed s w(x,{number})\n"));
        format!("{HEADER}\n{}", lines.collect::<String>()).into_bytes()
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(plain).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        compress_to_vec(plain, CompressionLevel::Fastest)
    }

    /// A frame of zstd without content, of so many bytes.
    fn skippable(length: u32) -> Vec<u8> {
        let mut bytes = 0x184d_2a53u32.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.resize(8 + length as usize, 7);
        bytes
    }

    /// The history in a file, read through a buffer of so many bytes.
    fn read(bytes: &[u8], buffer: usize) -> Result<History, HistoryError> {
        let stream = decompressed(BufReader::with_capacity(buffer, bytes))?;
        let (format, mut stream) = detect(stream)?;
        (format.read)(&mut stream)
    }

    #[test]
    fn a_compressed_history_is_the_one_that_was_compressed() {
        let (first, second) = (text(2000), text(0));
        let rest = &text(500)[second.len()..];
        let files = [
            ("plain", [&first[..], rest].concat()),
            ("gzip", gzip(&[&first[..], rest].concat())),
            ("two members", [gzip(&first), gzip(rest)].concat()),
            ("zstd", zstd(&[&first[..], rest].concat())),
            ("two frames", [zstd(&first), zstd(rest)].concat()),
            (
                "frames without content",
                [skippable(0), zstd(&first), skippable(300), zstd(rest)].concat(),
            ),
        ];
        for (name, bytes) in files {
            for buffer in [1, 7, 1 << 16] {
                let history = read(&bytes, buffer).expect(name);
                assert_eq!(history.len() - 1, 2500, "{name}");
            }
        }
    }

    #[test]
    fn a_compressed_file_that_was_cut_says_so_wherever_it_was() {
        for (name, whole) in [("gzip", gzip(&text(300))), ("zstd", zstd(&text(300)))] {
            let mut refused = 0;
            for length in 5..whole.len() {
                let error = read(&whole[..length], 1 << 16).map(drop).expect_err(name);
                let error = error.to_string();
                let place = format!("byte {}: the {name} file ends too early", length + 1);
                assert!(error.starts_with(&place), "{length}: {error}");
                assert!(error.contains("copy or make it anew"), "{error}");
                refused += 1;
            }
            assert!(refused > 300, "{name}: {refused}");
        }
    }

    #[test]
    fn a_damaged_file_is_no_history_and_no_panic() {
        for (name, whole) in [("gzip", gzip(&text(40))), ("zstd", zstd(&text(40)))] {
            let undamaged = read(&whole, 1 << 16).expect(name).len();
            let mut refused = 0;
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut altered = whole.clone();
                    altered[at] ^= 1 << bit;
                    match read(&altered, 1 << 16) {
                        // A flag or the time in gzip's header.
                        Ok(history) => assert_eq!(history.len(), undamaged, "{name}: {at}"),
                        Err(_) => refused += 1,
                    }
                }
            }
            assert!(refused > whole.len() * 7, "{name}: {refused}");
        }
        let mut altered = gzip(&text(3));
        let checksum = altered.len() - 8;
        altered[checksum] ^= 1;
        let error = read(&altered, 1 << 16).map(drop).expect_err("a checksum");
        let error = error.to_string();
        assert!(error.contains("the gzip file is damaged"), "{error}");
    }

    #[test]
    fn what_takes_too_much_memory_or_a_dictionary_to_decompress_is_refused_with_the_remedy() {
        // A frame whose window is 2^31 bytes: exponent 21 in the upper bits of its sixth byte.
        let window = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0];
        // A window of 1 KiB, and the number of a dictionary in the byte after it.
        let dictionary = [0x28, 0xb5, 0x2f, 0xfd, 1, 0, 9, 1, 0, 0];
        let refusals = [
            (
                &window[..],
                "needs a window of 2147483648 bytes",
                "zstd -dc --long=31",
            ),
            (
                &dictionary,
                "needs the dictionary 9",
                "zstd -dc -D DICTIONARY",
            ),
        ];
        for (frame, reason, remedy) in refusals {
            let error = read(frame, 1 << 16).map(drop).expect_err(reason);
            let error = error.to_string();
            assert!(error.contains(reason) && error.contains(remedy), "{error}");
        }
    }

    #[test]
    fn a_history_of_dbcop_whose_first_number_looks_like_a_mark_is_one_of_dbcop() {
        for mark in [0x08_8b1f, 0xfd2f_b528u64] {
            let mut bytes = mark.to_le_bytes().to_vec();
            // Four more numbers, three empty texts, no session.
            bytes.extend([0; 64]);
            assert_eq!(read(&bytes, 3).expect("a history").len(), 1);
        }
    }

    #[test]
    fn a_stream_that_fails_says_why_and_not_that_it_was_cut() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        for whole in [gzip(&text(300)), zstd(&text(300))] {
            let stream = BufReader::new(whole[..whole.len() / 2].chain(Failing));
            let mut plain = Vec::new();
            let mut stream = decompressed(stream).expect("a head");
            let error = stream.read_to_end(&mut plain).expect_err("it fails");
            assert_eq!(error.to_string(), "the disk is gone");
        }
    }
}
