//! Bytes that wait to be written, in the rooms that they came in.
//!
//! A piece of a file is put together by the system, from all of its rooms at once; to put it together here would be one
//! more copy of everything that is said. The one rule it keeps: what waits is written in its order, and once.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};

/// How many rooms are kept for bytes to come.
const SPARE: usize = 16;

/// Bytes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Held {
    rooms: Vec<Vec<u8>>,
    /// How much of the first of them is written.
    written: usize,
    /// How much waits.
    length: usize,
    /// Rooms that were written: memory that was used before is cheaper than new.
    spare: Vec<Vec<u8>>,
}

impl Held {
    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Takes bytes with their room, and leaves other room for those to come.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.length += bytes.len();
            self.rooms.push(std::mem::replace(bytes, self.spare.pop().unwrap_or_default()));
        }
    }

    /// Writes as many bytes, or all if there are fewer. After a failure none of them waits any more: some may be there.
    pub(super) fn write(&mut self, file: &mut File, bytes: usize) -> io::Result<()> {
        let mut slices = Vec::with_capacity(self.rooms.len());
        let mut left = bytes.min(self.length);
        self.length -= left;
        let mut written = self.written;
        let mut whole = 0;
        for room in &self.rooms {
            let rest = &room[written..];
            if rest.len() > left {
                slices.push(IoSlice::new(&rest[..left]));
                written += left;
                break;
            }
            slices.push(IoSlice::new(rest));
            left -= rest.len();
            (written, whole) = (0, whole + 1);
        }
        let done = write_all(file, &mut slices);
        self.written = written;
        for mut room in self.rooms.drain(..whole) {
            room.clear();
            if self.spare.len() < SPARE {
                self.spare.push(room);
            }
        }
        done
    }

    /// Lets go of the rooms that nothing waits in.
    pub(super) fn let_go(&mut self) {
        self.spare = Vec::new();
    }
}

/// Writes everything, in as few calls as the system allows.
fn write_all(file: &mut File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Empty ones must not look like a file that takes nothing.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    #[test]
    fn what_waits_is_written_in_its_order_wherever_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let all: Vec<u8> = (0..=255).collect();
        for piece in [1, 2, 3, 7, 64, 255, 256, 1000] {
            let mut file = File::create(&path).unwrap();
            let mut held = Held::default();
            for bytes in all.chunks(5) {
                let mut room = bytes.to_owned();
                held.take(&mut room);
                assert!(room.is_empty());
                while held.len() >= piece {
                    held.write(&mut file, piece).unwrap();
                }
            }
            assert_eq!(fs::metadata(&path).unwrap().len(), (256 / piece * piece) as u64);
            held.write(&mut file, usize::MAX).unwrap();
            assert_eq!((held.len(), held.rooms.len(), fs::read(&path).unwrap()), (0, 0, all.clone()));
        }
    }

    #[test]
    fn rooms_go_round_and_what_failed_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let mut read_only = File::open(&path).unwrap();
        let mut held = Held::default();
        let mut room = Vec::with_capacity(100);
        room.extend_from_slice(b"first");
        held.take(&mut room);
        assert!(held.write(&mut read_only, 3).is_err());
        assert_eq!(held.len(), 2);
        assert!(held.write(&mut read_only, 2).is_err());
        room.extend_from_slice(b"second");
        held.take(&mut room);
        assert!(room.capacity() >= 100, "the room of the first");
        held.write(&mut File::create(&path).unwrap(), usize::MAX).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }
}
