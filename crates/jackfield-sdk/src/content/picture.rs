//! A look at the bytes of a picture: what it is, how large, and whether it is whole.
//!
//! Not a decoder: the pixels are not looked at. The one rule it keeps: any bytes get an answer, without a
//! panic and without more memory.

use super::PICTURE_LIMIT;

/// The most pixels; a small file can claim any number of them.
const PIXEL_LIMIT: u64 = 100_000_000;

/// A kind of picture that the API takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
}

impl Format {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// How large a picture is, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Why bytes are no picture that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// It is none of the four formats.
    #[error("it is not a PNG, JPEG, GIF or WebP")]
    UnknownFormat,
    /// It is cut, or not what it begins like.
    #[error("the {0:?} is cut or broken")]
    Broken(Format),
    /// It has no pixels.
    #[error("it is {} by {} pixels", .0.width, .0.height)]
    NoPixels(Size),
    /// It has too many pixels.
    #[error("it is {} by {} pixels, which is more than {PIXEL_LIMIT}", .0.width, .0.height)]
    ManyPixels(Size),
    /// It has too many bytes.
    #[error("it has {bytes} bytes, and at most {PICTURE_LIMIT} are taken")]
    Large {
        /// Its size.
        bytes: usize,
    },
}

/// What a picture is, and how large.
pub fn look(bytes: &[u8]) -> Result<(Format, Size), PictureError> {
    if bytes.is_empty() {
        return Err(PictureError::Empty);
    }
    if bytes.len() > PICTURE_LIMIT {
        return Err(PictureError::Large { bytes: bytes.len() });
    }
    let (format, size) = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => (Format::Png, png(bytes)),
        [0xff, 0xd8, 0xff, ..] => (Format::Jpeg, jpeg(bytes)),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => (Format::Gif, gif(bytes)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => (Format::WebP, webp(bytes)),
        _ => return Err(PictureError::UnknownFormat),
    };
    let size = size.ok_or(PictureError::Broken(format))?;
    match u64::from(size.width) * u64::from(size.height) {
        0 => Err(PictureError::NoPixels(size)),
        1..=PIXEL_LIMIT => Ok((format, size)),
        _ => Err(PictureError::ManyPixels(size)),
    }
}

/// Chunk by chunk, from `IHDR` to `IEND`.
fn png(bytes: &[u8]) -> Option<Size> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let size =
        Size { width: u32::from_be_bytes(array(bytes, 16)?), height: u32::from_be_bytes(array(bytes, 20)?) };
    let mut at = 8;
    loop {
        let length = usize::try_from(u32::from_be_bytes(array(bytes, at)?)).ok()?;
        let name: [u8; 4] = array(bytes, at + 4)?;
        // Length, name and checksum stand around the content.
        at = at.checked_add(length)?.checked_add(12)?;
        match bytes.len() {
            all if at > all => return None,
            _ if name == *b"IEND" => return Some(size),
            _ => {}
        }
    }
}

/// Segment by segment up to the frame's header, which is not the first one, and on to the scan, behind which
/// the end must stand.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let (mut at, mut size) = (2, None);
    loop {
        let [0xff, marker] = array(bytes, at)? else { return None };
        // A marker may be preceded by any number of these.
        if marker == 0xff {
            at += 1;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(array(bytes, at + 2)?));
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let height = u32::from(u16::from_be_bytes(array(bytes, at + 5)?));
                size = Some(Size { width: u32::from(u16::from_be_bytes(array(bytes, at + 7)?)), height });
            }
            0xda => {
                let end = bytes.get(at..)?.windows(2).any(|pair| pair == [0xff, 0xd9]);
                return size.filter(|_| end);
            }
            _ => {}
        }
        at += 2 + length.max(2);
    }
}

fn gif(bytes: &[u8]) -> Option<Size> {
    let width = u32::from(u16::from_le_bytes(array(bytes, 6)?));
    let height = u32::from(u16::from_le_bytes(array(bytes, 8)?));
    // Some programs add zeros behind the end.
    let last = bytes.iter().rev().find(|byte| **byte != 0)?;
    (*last == b';').then_some(Size { width, height })
}

fn webp(bytes: &[u8]) -> Option<Size> {
    let length = usize::try_from(u32::from_le_bytes(array(bytes, 4)?)).ok()?;
    if length.checked_add(8)? > bytes.len() {
        return None;
    }
    match &array(bytes, 12)? {
        // Lossy: a key frame with its start code, then 14 bits each.
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => Some(Size {
            width: u32::from(u16::from_le_bytes(array(bytes, 26)?) & 0x3fff),
            height: u32::from(u16::from_le_bytes(array(bytes, 28)?) & 0x3fff),
        }),
        // Lossless: 14 bits each, less one.
        b"VP8L" if bytes.get(20)? == &0x2f => {
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            Some(Size { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        // Extended: 24 bits each, less one.
        b"VP8X" => {
            let bits = |at: usize| {
                let [low, middle, high] = array(bytes, at)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some(Size { width: bits(24)?, height: bits(27)? })
        }
        _ => None,
    }
}

fn array<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    bytes.get(at..at.checked_add(LENGTH)?)?.try_into().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    const WEBP: &str = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA";
    const JPEG: &str = "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z";

    fn all() -> [(Format, Vec<u8>); 4] {
        [(Format::Png, PNG), (Format::Gif, GIF), (Format::WebP, WEBP), (Format::Jpeg, JPEG)]
            .map(|(format, text)| (format, STANDARD.decode(text).unwrap()))
    }

    #[test]
    fn each_format_is_known_by_its_bytes() {
        for (format, bytes) in all() {
            assert_eq!(look(&bytes), Ok((format, Size { width: 1, height: 1 })), "{format:?}");
        }
        assert_eq!(look(b""), Err(PictureError::Empty));
        assert_eq!(look(b"<svg/>"), Err(PictureError::UnknownFormat));
        assert_eq!(look(&vec![0; PICTURE_LIMIT + 1]), Err(PictureError::Large { bytes: PICTURE_LIMIT + 1 }));
    }

    #[test]
    fn a_picture_that_is_cut_anywhere_is_refused() {
        for (format, bytes) in all() {
            for length in 0..bytes.len() {
                assert!(look(&bytes[..length]).is_err(), "{format:?} cut at {length}");
            }
        }
    }

    #[test]
    fn a_picture_without_pixels_or_with_too_many_is_refused() {
        let mut png = STANDARD.decode(PNG).unwrap();
        png[16..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(look(&png), Err(PictureError::NoPixels(Size { width: 0, height: 5 })));
        png[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(look(&png), Err(PictureError::ManyPixels(Size { width: 65536, height: 65536 })));
    }

    #[test]
    fn the_other_kinds_of_webp_are_read() {
        let webp = |chunk: &[u8]| {
            let length = u32::try_from(chunk.len() + 4).unwrap().to_le_bytes();
            [b"RIFF", &length[..], b"WEBP", chunk].concat()
        };
        let lossless = webp(b"VP8L\x05\0\0\0\x2f\x01\x80\0\0\0");
        assert_eq!(look(&lossless), Ok((Format::WebP, Size { width: 2, height: 3 })));
        let extended = webp(b"VP8X\x0a\0\0\0\0\0\0\0\x03\0\0\x04\0\0");
        assert_eq!(look(&extended), Ok((Format::WebP, Size { width: 4, height: 5 })));
    }
}
