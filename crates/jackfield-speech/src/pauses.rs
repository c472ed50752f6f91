//! Where speech is, and where it pauses, by how loud it is.
//!
//! For engines that have no detector of their own. The one rule it keeps: what is as loud as the room always is, is not
//! speech, however loud the room is.

use crate::RATE;

/// What is looked at at once: 20 ms.
const FRAME: usize = RATE as usize / 50;
/// A pause of so many frames ends a piece.
const PAUSE: usize = 30;
/// So many frames before the first loud one belong to the piece.
const BEFORE: usize = 15;
/// Fewer loud frames than this are a click.
const SHORTEST: usize = 5;
/// A piece is cut at the first pause after so many frames: models understand words by what is around them.
const ENOUGH: usize = 10 * 50;
/// A piece is cut after so many frames, wherever that is: models take no more at once.
const LONGEST: usize = 20 * 50;
/// How much louder than the room speech is.
const LOUDER: f32 = 3.0;
/// Below this nobody speaks.
const SILENCE: f32 = 0.003;
/// How fast the room is taken to have become louder, frame by frame; softer it is at once.
const RISE: f32 = 1.02;

/// Cuts sound into pieces of speech.
#[derive(Debug)]
pub(crate) struct Pauses {
    rest: Vec<f32>,
    /// The open piece, or what may be before one.
    piece: Vec<f32>,
    room: f32,
    loud: usize,
    quiet: usize,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { rest: Vec::new(), piece: Vec::new(), room: SILENCE, loud: 0, quiet: 0 }
    }
}

impl Pauses {
    /// Takes sound; the pieces that it ends.
    pub(crate) fn hear(&mut self, samples: &[f32]) -> Vec<Vec<f32>> {
        let mut sound = std::mem::take(&mut self.rest);
        sound.extend_from_slice(samples);
        let frames = sound.chunks_exact(FRAME);
        self.rest = frames.remainder().to_vec();
        frames.filter_map(|frame| self.frame(frame)).collect()
    }

    /// The piece that is being spoken.
    pub(crate) fn open(&self) -> Option<&[f32]> {
        (self.loud >= SHORTEST).then_some(&*self.piece)
    }

    fn frame(&mut self, frame: &[f32]) -> Option<Vec<f32>> {
        let loudness = loudness(frame);
        let is_speech = loudness > SILENCE.max(self.room * LOUDER);
        self.room = loudness.min(self.room * RISE).max(SILENCE / LOUDER);
        self.piece.extend_from_slice(frame);
        if is_speech {
            self.loud += 1;
            self.quiet = 0;
        } else {
            self.quiet += 1;
        }
        if self.loud == 0 {
            let over = self.piece.len().saturating_sub(BEFORE * FRAME);
            self.piece.drain(..over);
            return None;
        }
        let is_pause = self.quiet >= PAUSE && self.piece.len() >= ENOUGH * FRAME;
        if !is_pause && self.piece.len() < LONGEST * FRAME {
            return None;
        }
        let (piece, loud) = (std::mem::take(&mut self.piece), std::mem::take(&mut self.loud));
        self.quiet = 0;
        (loud >= SHORTEST).then_some(piece)
    }
}

fn loudness(frame: &[f32]) -> f32 {
    let sum: f32 = frame.iter().map(|sample| sample * sample).sum();
    #[allow(clippy::cast_precision_loss)]
    let mean = sum / frame.len().max(1) as f32;
    mean.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A voice has gaps: every fourth frame is soft.
    fn sound(seconds: f32, loudness: f32) -> Vec<f32> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let samples = (0..(seconds * RATE as f32) as usize).map(|at| {
            let gap = if at / FRAME % 4 == 3 { 0.01 } else { 1.0 };
            (at as f32 * 0.3).sin() * loudness * gap
        });
        samples.collect()
    }

    #[test]
    fn speech_is_cut_at_the_first_pause_after_ten_seconds() {
        let mut pauses = Pauses::default();
        let (breath, pause) = (sound(1.0, 0.001), sound(0.8, 0.001));
        let sentence = || sound(5.5, 0.3);
        let parts = [breath, sentence(), pause.clone(), sentence(), pause.clone(), sound(0.8, 0.3), pause];
        let pieces = pauses.hear(&parts.concat());
        assert_eq!(pieces.len(), 1);
        // Two sentences with what is before and between them, and the pause by which the end was found.
        assert_eq!(pieces[0].len(), (BEFORE + 275 + 40 + 275 + PAUSE) * FRAME);
        assert_eq!(pauses.open().map(<[f32]>::len), Some((10 + 40 + 40) * FRAME));
    }

    #[test]
    fn it_does_not_matter_in_which_portions_sound_comes() {
        let whole = [sound(0.5, 0.0), sound(11.0, 0.2), sound(1.0, 0.0), sound(1.0, 0.2)].concat();
        let at_once = Pauses::default().hear(&whole);
        let mut pauses = Pauses::default();
        let bit_by_bit: Vec<_> = whole.chunks(333).flat_map(|portion| pauses.hear(portion)).collect();
        assert_eq!(at_once, bit_by_bit);
        assert_eq!(at_once.len(), 1);
    }

    #[test]
    fn silence_and_clicks_are_no_speech() {
        let mut pauses = Pauses::default();
        let parts = [sound(3.0, 0.0), sound(0.04, 0.5), sound(3.0, 0.0)];
        assert_eq!(pauses.hear(&parts.concat()), Vec::<Vec<f32>>::new());
        assert_eq!(pauses.open(), None);
    }

    #[test]
    fn who_never_pauses_is_cut() {
        let mut pauses = Pauses::default();
        let mut loudness = 0.01;
        let mut pieces = Vec::new();
        for _ in 0..50 {
            // Always louder than the room has become.
            loudness *= 1.01;
            pieces.extend(pauses.hear(&[sound(0.7, loudness * 9.0), sound(0.1, loudness * 0.1)].concat()));
        }
        assert!(!pieces.is_empty());
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST * FRAME));
    }
}
