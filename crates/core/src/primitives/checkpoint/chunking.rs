//! Where a text is divided.
//!
//! A border depends on the few dozen bytes before it and on nothing else, so that a change moves
//! the borders next to it and no others: what is not changed is cut as it was. A gear hash finds
//! them; every byte shifts it by one, which lets a byte fall out after sixty-four.
//!
//! ```text
//!   hash = (hash << 1) + GEAR[byte]        a border where the upper bits of it are zero
//! ```
//!
//! Nothing that is stored depends on where the borders are: events carry the chunks themselves. So
//! these numbers may be changed, and what is saved afterwards shares less with what was before.

/// No border before this many bytes: a chunk must be worth keeping apart.
const BYTES_MIN: usize = 64;
/// A border after this many bytes at the latest, at the end of a character.
const BYTES_MAX: usize = 1_024;
/// The bits that are zero at a border: one place in 64 after the first bytes, so that chunks have
/// about 130 bytes. Smaller ones cost more to count than they save, larger ones repeat too much
/// around a change. A thousand states of 100 KB with a change of 1 KB, and with ten of 100 bytes,
/// in MB of log and of memory:
///
/// | least, places | one change | ten changes |
/// |---|---|---|
/// | 48, 128 | 1.64, 2.72 | 4.80, 7.83 |
/// | 96, 64 | 1.60, 2.76 | 4.37, 7.58 |
/// | 64, 64 | 1.54, 2.85 | 3.85, 7.29 |
const BORDER_MASK: u64 = 0x3f << 58;

/// What each byte is worth: numbers without a pattern, made by `splitmix64`.
const GEAR: [u64; 256] = {
    let mut gear = [0; 256];
    let mut seed: u64 = 0;
    let mut byte = 0;
    while byte < 256 {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = seed;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        gear[byte] = number ^ (number >> 31);
        byte += 1;
    }
    gear
};

/// Divides a text. The parts in a row are the text, and none is empty.
pub fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, after) = rest.split_at(border(rest));
        rest = after;
        Some(chunk)
    })
}

/// Where the first part of a text ends.
fn border(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut hash: u64 = 0;
    let last = bytes.len().min(BYTES_MAX);
    for (place, byte) in bytes[..last].iter().enumerate() {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(*byte)]);
        if place + 1 >= BYTES_MIN && hash & BORDER_MASK == 0 && text.is_char_boundary(place + 1) {
            return place + 1;
        }
    }
    (last..=bytes.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn chunks_are_neither_small_nor_large() {
        let numbers: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
        let text = numbers.join(",");
        let chunks: Vec<&str> = cut(&text).collect();
        assert_eq!(chunks.concat(), text);
        let (_, whole) = chunks.split_last().unwrap();
        for chunk in whole {
            assert!((BYTES_MIN..=BYTES_MAX).contains(&chunk.len()), "{} bytes", chunk.len());
        }
        let average = text.len() / chunks.len();
        assert!((80..250).contains(&average), "{average} bytes on average");
    }

    #[test]
    fn nothing_and_sameness_are_divided_too() {
        assert_eq!(cut("").count(), 0);
        assert_eq!(cut("0").collect::<Vec<_>>(), ["0"]);
        let same = "€".repeat(5_000);
        let chunks: Vec<&str> = cut(&same).collect();
        assert_eq!(chunks.concat(), same);
        assert!(chunks.iter().all(|chunk| chunk.len() <= BYTES_MAX + 3));
    }

    proptest! {
        #[test]
        fn the_parts_in_a_row_are_the_text(text in "(\\PC|[a-c]{0,40}){0,200}") {
            let parts: Vec<&str> = cut(&text).collect();
            prop_assert!(parts.iter().all(|part| !part.is_empty()));
            prop_assert_eq!(parts.concat(), text);
        }
    }
}
