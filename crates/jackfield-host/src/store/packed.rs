//! Events as they lie on the disk: packed, because nearly all of a line is said in the line before.
//!
//! What is written is what costs, twice over: into the WAL, and from there into the database. So a batch of small
//! events, which packs to a tenth, is packed before it gets to the writer. The one rule it keeps: what was stored
//! before there was any packing reads as it always did.

use std::borrow::Cow;

use bytes::Bytes;

/// What stands before packed lines. Lines themselves begin with a brace.
const PACKED: u8 = 1;
/// Below this there is nothing to gain.
const SMALL: usize = 1024;
/// No text packs to less than one byte for so many: that is the format's own limit.
const DENSEST: usize = 255;

/// Lines as they are stored.
pub(super) fn pack(lines: &[u8]) -> Cow<'_, [u8]> {
    if lines.len() < SMALL || u32::try_from(lines.len()).is_err() {
        return Cow::Borrowed(lines);
    }
    let packed = lz4_flex::block::compress_prepend_size(lines);
    if packed.len() >= lines.len() {
        Cow::Borrowed(lines)
    } else {
        Cow::Owned([&[PACKED], &*packed].concat())
    }
}

/// The lines again, or why not.
pub(super) fn unpack(stored: &[u8]) -> Result<Bytes, String> {
    let Some((head, packed)) = stored.split_first_chunk::<HEAD>().filter(|(head, _)| head[0] == PACKED)
    else {
        return Ok(Bytes::copy_from_slice(stored));
    };
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    // A length that cannot be is not believed: it would be made room for.
    if length / DENSEST > packed.len() {
        return Err(format!("{} bytes cannot be {length} bytes of events", packed.len()));
    }
    lz4_flex::block::decompress(packed, length).map(Bytes::from).map_err(|error| error.to_string())
}

/// The mark, and how long it is unpacked.
const HEAD: usize = 1 + size_of::<u32>();

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_are_alike_take_little_room_and_few_lines_are_left_as_they_are() {
        let line =
            |seq: u64| format!("{{\"type\":\"message_chunk\",\"seq\":{seq},\"text\":\"some words\"}}\n");
        let lines: String = (1..500).map(line).collect();
        let packed = pack(lines.as_bytes());
        assert!(packed.len() * 5 < lines.len(), "{} of {}", packed.len(), lines.len());
        assert_eq!(unpack(&packed).unwrap(), lines);
        assert_eq!(&*pack(line(1).as_bytes()), line(1).as_bytes());
        assert_eq!(unpack(line(1).as_bytes()).unwrap(), line(1));
    }

    proptest! {
        #[test]
        fn whatever_was_packed_comes_back(text in "\\{[a-c\n]{0,4000}") {
            let packed = pack(text.as_bytes());
            prop_assert_eq!(unpack(&packed).unwrap(), text.as_bytes());
        }

        #[test]
        fn what_is_damaged_is_an_error_and_no_more(mut damaged in prop::collection::vec(any::<u8>(), 5..200)) {
            damaged[0] = PACKED;
            let room = damaged.len() * (DENSEST + 1);
            if let Ok(lines) = unpack(&damaged) {
                prop_assert!(lines.len() <= room);
            }
        }
    }
}
