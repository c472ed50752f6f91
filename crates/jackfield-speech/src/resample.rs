//! Sound of any rate to 16 kHz.
//!
//! By a windowed sinc, one row of weights for each place between two samples: engines understand a fifth less of what was
//! merely interpolated. The one rule it keeps: what 16 kHz cannot hold is taken out, not folded back in.

use std::f64::consts::PI;

use crate::RATE;

/// How many zeros of the sinc there are on each side.
const REACH: f64 = 24.0;
/// How much of the band is used; the rest is where the filter falls.
const BAND: f64 = 0.94;

/// Samples of so many a second as samples of 16,000 a second.
pub fn to_16k(samples: &[f32], rate: u32) -> Vec<f32> {
    if rate == RATE || rate == 0 {
        return samples.to_vec();
    }
    let shared = gcd(rate, RATE);
    // For `up` samples that go out, `down` come in.
    let (up, down) = ((RATE / shared) as usize, (rate / shared) as usize);
    let rows = rows(up, rate);
    let reach = rows.reach;
    let length = samples.len() * up / down;
    let weighed = |out: usize| {
        let (at, row) = (out * down / up, &rows.weights[out * down % up]);
        let first = at.saturating_sub(reach - 1);
        let skipped = (reach - 1).saturating_sub(at);
        let window = &samples[first..(at + reach + 1).min(samples.len())];
        window.iter().zip(row.iter().skip(skipped)).map(|(sample, weight)| sample * weight).sum()
    };
    (0..length).map(weighed).collect()
}

/// 16-bit samples, as a recogniser takes them.
pub fn to_bytes(samples: &[f32]) -> Vec<u8> {
    #[allow(clippy::cast_possible_truncation)]
    let sixteen = |sample: &f32| (sample.clamp(-1.0, 1.0) * 32_767.0) as i16;
    samples.iter().flat_map(|sample| sixteen(sample).to_le_bytes()).collect()
}

struct Rows {
    reach: usize,
    weights: Vec<Vec<f32>>,
}

fn rows(up: usize, rate: u32) -> Rows {
    // Where fewer go out than come in, the filter is as much wider.
    let cut = f64::from(RATE.min(rate)) / f64::from(rate) * BAND;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let reach = (REACH / cut).ceil() as usize;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    let row = |phase: usize| {
        let between = phase as f64 / up as f64;
        let weights = (0..2 * reach).map(|at| {
            let distance = at as f64 - (reach as f64 - 1.0) - between;
            cut * sinc(cut * distance) * window(distance / reach as f64)
        });
        let weights: Vec<f64> = weights.collect();
        // A constant stays what it is.
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| (weight / sum) as f32).collect()
    };
    Rows { reach, weights: (0..up).map(row).collect() }
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Blackman's.
fn window(x: f64) -> f64 {
    if x.abs() >= 1.0 { 0.0 } else { 0.42 + 0.5 * (PI * x).cos() + 0.08 * (2.0 * PI * x).cos() }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use super::*;

    fn tone(hertz: f32, rate: u32, seconds: u32) -> Vec<f32> {
        let step = 2.0 * std::f32::consts::PI * hertz / rate as f32;
        (0..rate * seconds).map(|at| (at as f32 * step).sin()).collect()
    }

    #[test]
    fn a_tone_is_the_same_tone_at_another_rate() {
        for rate in [8_000, 11_025, 22_050, 44_100, 48_000, 96_000] {
            let (made, wanted) = (to_16k(&tone(440.0, rate, 1), rate), tone(440.0, RATE, 1));
            assert!(made.len().abs_diff(wanted.len()) <= 1, "{rate}: {}", made.len());
            // At both ends the filter looks where there is nothing.
            let worst = made.iter().zip(&wanted).skip(400).take(15_000).map(|(a, b)| (a - b).abs());
            let worst = worst.fold(0.0, f32::max);
            assert!(worst < 0.01, "{rate}: off by {worst}");
        }
    }

    #[test]
    fn what_16_khz_cannot_hold_is_gone() {
        let made = to_16k(&tone(11_000.0, 48_000, 1), 48_000);
        let loudest = made.iter().skip(400).take(15_000).fold(0.0_f32, |most, sample| most.max(sample.abs()));
        assert!(loudest < 0.01, "{loudest}");
    }

    #[test]
    fn a_little_sound_is_a_little_sound() {
        assert_eq!(to_16k(&[], 44_100), Vec::<f32>::new());
        assert_eq!(to_16k(&[0.5; 3], 48_000).len(), 1);
        assert_eq!(to_16k(&[0.5, 0.25], RATE), vec![0.5, 0.25]);
        assert_eq!(to_16k(&[0.5; 441], 44_100).len(), 160);
    }

    #[test]
    fn bytes_are_16_bit_samples() {
        assert_eq!(to_bytes(&[0.0, 1.0, -1.0, 9.0]), [0, 0, 0xff, 0x7f, 0x01, 0x80, 0xff, 0x7f]);
    }
}
