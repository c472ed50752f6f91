//! WAV files: what is in them, as one channel of samples from -1 to 1.
//!
//! Only what is not compressed. The one rule it keeps: no bytes make it panic, and what cannot be used is told by its
//! name.

use std::time::Duration;

use crate::meter::LONGEST;

/// Sound of a file, of one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Sound {
    /// Samples in a second.
    pub rate: u32,
    /// The samples.
    pub samples: Vec<f32>,
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WavError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is something else.
    #[error("this is no WAV file{}", .0.map(|looks| format!(", it looks like {looks}")).unwrap_or_default())]
    NoWav(Option<&'static str>),
    /// It ends too early.
    #[error("the WAV file ends in the middle of its head")]
    Cut,
    /// Its samples are written in a way that is not known.
    #[error("the WAV file is compressed (format {0:#x}); only plain samples can be read")]
    Compressed(u16),
    /// Its samples have a size that is not known.
    #[error(
        "the WAV file has samples of {bits} bits; 8, 16, 24 and 32 can be read, and 32 and 64 with a point"
    )]
    Bits {
        /// How many.
        bits: u16,
    },
    /// Its head makes no sense.
    #[error("the WAV file says that it has {channels} channels and {rate} samples in a second")]
    Senseless {
        /// Channels.
        channels: u16,
        /// Samples in a second.
        rate: u32,
    },
    /// There is no sound in it.
    #[error("the WAV file has no samples")]
    Silent,
    /// It is too long.
    #[error("the sound is {} minutes long, and ten minutes is the most; cut it into pieces", .0.as_secs().div_ceil(60))]
    TooLong(Duration),
}

/// How samples are written.
#[derive(Debug, Clone, Copy)]
struct Format {
    tag: u16,
    channels: u16,
    rate: u32,
    bits: u16,
}

const PLAIN: u16 = 1;
const WITH_POINT: u16 = 3;
const EXTENSIBLE: u16 = 0xfffe;

/// Reads a whole file.
pub fn read(bytes: &[u8]) -> Result<Sound, WavError> {
    if bytes.is_empty() {
        return Err(WavError::Empty);
    }
    if !(bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE")) {
        return Err(WavError::NoWav(looks_like(bytes)));
    }
    let (format, body) = chunks(bytes.get(12..).unwrap_or_default())?;
    let Format { tag, channels, rate, bits } = format;
    if !matches!(tag, PLAIN | WITH_POINT) {
        return Err(WavError::Compressed(tag));
    }
    if channels == 0 || channels > 64 || !(4_000..=192_000).contains(&rate) {
        return Err(WavError::Senseless { channels, rate });
    }
    let decode: fn(&[u8]) -> f32 = match (tag, bits) {
        (PLAIN, 8) => |sample| (f32::from(sample[0]) - 128.0) / 128.0,
        (PLAIN, 16) => |sample| f32::from(i16::from_le_bytes([sample[0], sample[1]])) / 32_768.0,
        (PLAIN, 24) => |sample| whole([0, sample[0], sample[1], sample[2]]),
        (PLAIN, 32) => |sample| whole([sample[0], sample[1], sample[2], sample[3]]),
        (WITH_POINT, 32) => |sample| tame(f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]])),
        #[allow(clippy::cast_possible_truncation)]
        (WITH_POINT, 64) => |sample| {
            let mut eight = [0; 8];
            eight.copy_from_slice(sample);
            tame(f64::from_le_bytes(eight) as f32)
        },
        _ => return Err(WavError::Bits { bits }),
    };
    let (width, channels) = (usize::from(bits / 8), usize::from(channels));
    let together = body.chunks_exact(width * channels);
    let length = Duration::from_secs(together.len() as u64 / u64::from(rate));
    if length > LONGEST {
        return Err(WavError::TooLong(length));
    }
    #[allow(clippy::cast_precision_loss)]
    let mean = |frame: &[u8]| frame.chunks_exact(width).map(decode).sum::<f32>() / channels as f32;
    let samples: Vec<f32> = together.map(mean).collect();
    if samples.is_empty() { Err(WavError::Silent) } else { Ok(Sound { rate, samples }) }
}

/// The format and the samples.
fn chunks(mut rest: &[u8]) -> Result<(Format, &[u8]), WavError> {
    let mut format = None;
    while let Some((head, after)) = rest.split_at_checked(8) {
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        // Whoever writes into a pipe does not know the size, and writes any.
        let body = &after[..size.min(after.len())];
        match &head[..4] {
            b"fmt " => format = Some(read_format(body)?),
            b"data" => return Ok((format.ok_or(WavError::Cut)?, body)),
            _ => {}
        }
        // Chunks begin at even places.
        rest = after.get(size.saturating_add(size % 2)..).unwrap_or_default();
    }
    Err(if format.is_some() { WavError::Silent } else { WavError::Cut })
}

fn read_format(body: &[u8]) -> Result<Format, WavError> {
    let two = |at: usize| body.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let rate = body.get(4..8).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let (Some(tag), Some(channels), Some(rate), Some(bits)) = (two(0), two(2), rate, two(14)) else {
        return Err(WavError::Cut);
    };
    // The long form has the tag further behind.
    let tag = if tag == EXTENSIBLE { two(24).ok_or(WavError::Cut)? } else { tag };
    Ok(Format { tag, channels, rate, bits })
}

fn whole(bytes: [u8; 4]) -> f32 {
    #[allow(clippy::cast_precision_loss)]
    let value = i32::from_le_bytes(bytes) as f32;
    value / 2_147_483_648.0
}

/// Sound that is no number would spoil all that is computed with it.
fn tame(sample: f32) -> f32 {
    if sample.is_finite() { sample.clamp(-1.0, 1.0) } else { 0.0 }
}

fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    let known: &[(&[u8], &str)] = &[
        (b"OggS", "Ogg"),
        (b"fLaC", "FLAC"),
        (b"ID3", "MP3"),
        (&[0xff, 0xfb], "MP3"),
        (&[0x1a, 0x45, 0xdf, 0xa3], "WebM"),
        (b"caff", "CAF"),
        (b"FORM", "AIFF"),
        (b"RF64", "a WAV file of more than 4 GiB"),
    ];
    let found = known.iter().find(|(start, _)| bytes.starts_with(start)).map(|&(_, name)| name);
    found.or_else(|| (bytes.get(4..8) == Some(b"ftyp")).then_some("MPEG-4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(tag: u16, channels: u16, rate: u32, bits: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0".to_vec();
        bytes.extend(tag.to_le_bytes());
        bytes.extend(channels.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend([0; 6]);
        bytes.extend(bits.to_le_bytes());
        bytes.extend(b"LIST\x03\0\0\0abc\0data");
        bytes.extend(u32::try_from(body.len()).unwrap_or_default().to_le_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn samples_of_every_size_are_the_same_sound() {
        let half: [(u16, u16, Vec<u8>); 6] = [
            (1, 8, vec![192]),
            (1, 16, 0x4000_i16.to_le_bytes().to_vec()),
            (1, 24, vec![0, 0, 0x40]),
            (1, 32, 0x4000_0000_i32.to_le_bytes().to_vec()),
            (3, 32, 0.5_f32.to_le_bytes().to_vec()),
            (3, 64, 0.5_f64.to_le_bytes().to_vec()),
        ];
        for (tag, bits, sample) in half {
            let silence = if bits == 8 { vec![128] } else { vec![0; sample.len()] };
            let sound =
                read(&wav(tag, 2, 44_100, bits, &[sample.clone(), sample.clone(), sample, silence].concat()));
            assert_eq!(sound, Ok(Sound { rate: 44_100, samples: vec![0.5, 0.25] }), "{tag} {bits}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_what_it_is() {
        assert_eq!(read(b""), Err(WavError::Empty));
        assert_eq!(read(b"OggS and so on"), Err(WavError::NoWav(Some("Ogg"))));
        assert_eq!(read(b"hello"), Err(WavError::NoWav(None)));
        assert_eq!(read(b"RIFF\0\0\0\0WAVEfmt "), Err(WavError::Cut));
        assert_eq!(read(&wav(0x11, 1, 16_000, 4, &[0; 8])), Err(WavError::Compressed(0x11)));
        assert_eq!(read(&wav(1, 1, 16_000, 12, &[0; 8])), Err(WavError::Bits { bits: 12 }));
        let senseless = Err(WavError::Senseless { channels: 0, rate: 16_000 });
        assert_eq!(read(&wav(1, 0, 16_000, 16, &[0; 8])), senseless);
        assert_eq!(read(&wav(1, 1, 16_000, 16, &[])), Err(WavError::Silent));
        let long = vec![128; 8_000 * 601];
        let too_long = read(&wav(1, 1, 8_000, 8, &long));
        assert_eq!(too_long, Err(WavError::TooLong(Duration::from_secs(601))));
        assert!(too_long.is_err_and(|error| error.to_string().contains("11 minutes")));
    }

    #[test]
    fn a_size_that_a_pipe_has_made_up_is_no_size() {
        let mut bytes = wav(1, 1, 16_000, 16, &[0, 0x40, 0, 0x40]);
        let at = bytes.len() - 8;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(read(&bytes).map(|sound| sound.samples), Ok(vec![0.5, 0.5]));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let good = wav(3, 2, 48_000, 32, &[0x7f; 64]);
        for length in 0..good.len() {
            let _ = read(&good[..length]);
        }
        let mut dice: u32 = 1;
        for _ in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..3 {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (dice >> 8) as usize % bytes.len();
                bytes[at] = dice.to_le_bytes()[3];
            }
            if let Ok(sound) = read(&bytes) {
                assert!(sound.samples.iter().all(|sample| sample.is_finite()));
            }
        }
    }
}
