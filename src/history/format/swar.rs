//! Eight bytes at a time in one register (SWAR): digits, and texts up to their end.
//!
//! Histories are mostly short numbers of changing lengths. Read digit by digit, each costs a branch
//! that the processor guesses wrongly.

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of each byte.
const HIGH: u64 = eight(0x80);

/// The most digits that [`digits`] takes. As many fit into 63 bits, whatever they are.
pub(super) const DIGITS_MAX: usize = 16;

/// The number that the first bytes are, and how many digits it has: [`DIGITS_MAX`] at the most.
#[inline(always)]
pub(super) fn digits(bytes: &[u8]) -> (u64, usize) {
    let (value, count) = eight_digits(bytes);
    match count {
        8 => more_digits(value, bytes),
        _ => (value, count),
    }
}

/// As [`digits`], where the first eight are of this value.
#[inline(never)]
fn more_digits(first: u64, bytes: &[u8]) -> (u64, usize) {
    let (second, count) = eight_digits(&bytes[8..]);
    (first * 10u64.pow(count as u32) + second, 8 + count)
}

/// As [`digits`], of the first eight bytes.
#[inline(always)]
fn eight_digits(bytes: &[u8]) -> (u64, usize) {
    let Some(chunk) = bytes.first_chunk() else {
        return few_digits(bytes);
    };
    // A digit is its value now, and adding 0x76 to anything above 9 reaches the highest bit. What
    // is carried over goes to bytes behind the first that is no digit.
    let values = u64::from_le_bytes(*chunk) ^ eight(b'0');
    let others = (values.wrapping_add(eight(0x76)) | values) & HIGH;
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // The first digit weighs most and lies lowest: zeros come in before it.
    let ones = values << (64 - 8 * count);
    let tens = ones.wrapping_mul(10).wrapping_add(ones >> 8);
    // Of the four pairs the first and the third, and the second and the fourth, each weighed and
    // added up in the upper half.
    let outer = (tens & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let inner = (tens >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    (outer.wrapping_add(inner) >> 32, count)
}

/// Of each half the lowest byte.
const PAIRS: u64 = 0x0000_00ff_0000_00ff;

/// As [`digits`], where fewer than eight bytes are left.
#[inline(never)]
fn few_digits(bytes: &[u8]) -> (u64, usize) {
    let are_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    are_digits.fold((0, 0), |(value, count), byte| {
        (value * 10 + u64::from(byte - b'0'), count + 1)
    })
}

/// How many bytes there are before the first quote, backslash or byte beyond ASCII.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    match bytes.first_chunk().map(plain_of_eight) {
        Some(length) if length < 8 => length,
        _ => plain_of_many(bytes),
    }
}

/// As [`plain_length`], of eight bytes.
#[inline]
fn plain_of_eight(bytes: &[u8; 8]) -> usize {
    let bytes = u64::from_le_bytes(*bytes);
    let ends = zeros(bytes ^ eight(b'"')) | zeros(bytes ^ eight(b'\\')) | bytes & HIGH;
    ends.trailing_zeros() as usize / 8
}

/// As [`plain_length`], of fewer bytes, or of more.
#[inline(never)]
fn plain_of_many(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks();
    for (at, chunk) in chunks.iter().enumerate() {
        let length = plain_of_eight(chunk);
        if length < 8 {
            return at * 8 + length;
        }
    }
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\') || !byte.is_ascii();
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    chunks.len() * 8 + end
}

/// The highest bit of the lowest byte that is zero, and none below it.
#[inline]
fn zeros(bytes: u64) -> u64 {
    bytes.wrapping_sub(eight(1)) & !bytes & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the standard library, with anything behind the digits.
        #[test]
        fn digits_are_the_number_that_they_spell(
            spelled in "[0-9]{0,20}",
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let bytes = [spelled.as_bytes(), &behind].concat();
            let (value, count) = digits(&bytes);
            let all = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(count, all.min(DIGITS_MAX));
            let taken = str::from_utf8(&bytes[..count]).expect("digits");
            prop_assert_eq!(value, taken.parse().unwrap_or(0));
        }

        #[test]
        fn a_text_is_plain_up_to_its_first_special_byte(
            plain in "[ !#-Z^-~]{0,40}",
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let bytes = [plain.as_bytes(), &behind].concat();
            let is_end = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte > 0x7f;
            let end = bytes.iter().position(is_end).unwrap_or(bytes.len());
            prop_assert_eq!(plain_length(&bytes), end);
        }
    }
}
