//! Which stretches of sound are understood together, by where a detector has found speech.
//!
//! It has no sound, only places in it. The one rule it keeps: a piece is cut in a pause where there is one, and only after
//! enough was said, for words are understood by what is around them.

use std::ops::Range;

use crate::RATE;

/// A piece is cut at the first pause after so many samples.
const ENOUGH: usize = 10 * RATE as usize;
/// A piece is cut after so many, wherever the detector has found an end: models take no more at once.
const LONGEST: usize = 20 * RATE as usize;
/// So much before and behind speech belongs to it.
const AROUND: usize = RATE as usize / 4;
/// A detector may find that speech has begun so long ago.
const BACK: usize = RATE as usize;

/// Speech, in samples from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether it goes on.
    pub(crate) is_open: bool,
}

/// The pieces of an utterance.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// What lies before was taken.
    taken: usize,
    heard: usize,
    spans: Vec<Span>,
}

impl Pieces {
    /// So many samples were heard, and speech was found here; all of it, from the beginning.
    pub(crate) fn look(&mut self, spans: &[Span], heard: usize) {
        self.heard = heard;
        self.spans = spans.iter().copied().filter(|span| span.end > self.taken).collect();
    }

    /// The next piece that is over.
    pub(crate) fn take(&mut self) -> Option<Range<usize>> {
        let start = self.start()?;
        let mut forced = None;
        for (at, span) in self.spans.iter().enumerate().filter(|(_, span)| !span.is_open) {
            let next = self.spans.get(at + 1).map_or(self.heard, |next| next.start);
            // What begins before the other ends was torn apart by the detector.
            let is_pause = next >= span.end + AROUND / 4;
            if is_pause && span.end - start >= ENOUGH {
                return Some(self.cut(start, (span.end + AROUND).min(next.max(span.end)), at));
            }
            if next < self.heard && self.spans.get(at + 1).is_some_and(|next| next.end - start > LONGEST) {
                forced = forced.or(Some((span.end, at)));
            }
        }
        forced.map(|(end, at)| self.cut(start, end, at))
    }

    /// The piece that is being spoken, up to what was heard.
    pub(crate) fn open(&self) -> Option<Range<usize>> {
        Some(self.start()?..self.heard)
    }

    /// No sound before this will be asked for.
    pub(crate) fn needed_from(&self) -> usize {
        self.start().unwrap_or_else(|| self.heard.saturating_sub(BACK).max(self.taken))
    }

    fn start(&self) -> Option<usize> {
        Some(self.spans.first()?.start.saturating_sub(AROUND).max(self.taken))
    }

    fn cut(&mut self, start: usize, end: usize, at: usize) -> Range<usize> {
        self.spans.drain(..=at);
        self.taken = end;
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: usize = RATE as usize;

    fn span(start: usize, end: usize) -> Span {
        Span { start: start * SECOND, end: end * SECOND, is_open: false }
    }

    #[test]
    fn short_sentences_are_one_piece() {
        let mut pieces = Pieces::default();
        pieces.look(&[], 5 * SECOND);
        assert_eq!((pieces.take(), pieces.open(), pieces.needed_from()), (None, None, 4 * SECOND));
        pieces.look(&[span(6, 8), Span { is_open: true, ..span(9, 11) }], 11 * SECOND);
        assert_eq!(pieces.take(), None);
        assert_eq!(pieces.open(), Some(6 * SECOND - AROUND..11 * SECOND));
        assert_eq!(pieces.needed_from(), 6 * SECOND - AROUND);
    }

    #[test]
    fn after_ten_seconds_a_pause_ends_a_piece() {
        let mut pieces = Pieces::default();
        let spans = [span(1, 6), span(7, 12), span(13, 14)];
        pieces.look(&spans, 15 * SECOND);
        assert_eq!(pieces.take(), Some(SECOND - AROUND..12 * SECOND + AROUND));
        assert_eq!(pieces.take(), None);
        assert_eq!(pieces.open(), Some(13 * SECOND - AROUND..15 * SECOND));
        // The detector tells everything again, and it is not taken again.
        pieces.look(&spans, 16 * SECOND);
        assert_eq!((pieces.take(), pieces.open()), (None, Some(13 * SECOND - AROUND..16 * SECOND)));
    }

    #[test]
    fn who_never_pauses_is_cut_where_the_detector_has_cut() {
        let mut pieces = Pieces::default();
        let torn = |from: usize, to: usize| Span { start: from * SECOND - SECOND / 2, ..span(from, to) };
        let spans = [span(0, 10), torn(10, 20), Span { is_open: true, ..torn(20, 25) }];
        pieces.look(&spans, 25 * SECOND);
        let piece = pieces.take();
        assert_eq!(piece, Some(0..20 * SECOND));
        assert_eq!(pieces.open(), Some(20 * SECOND..25 * SECOND));
    }

    #[test]
    fn pieces_follow_each_other_and_nothing_is_left_out() {
        let spans: Vec<Span> = (0..100).map(|at| span(at * 4 + 1, at * 4 + 4)).collect();
        let mut pieces = Pieces::default();
        let mut all = Vec::new();
        for (at, span) in spans.iter().enumerate() {
            pieces.look(&spans[..=at], span.end + SECOND / 2);
            while let Some(piece) = pieces.take() {
                all.push(piece);
            }
        }
        all.extend(pieces.open());
        for pair in all.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{pair:?}");
        }
        for span in spans {
            assert!(all.iter().any(|piece| piece.start <= span.start && span.end <= piece.end), "{span:?}");
        }
        assert!(all.iter().all(|piece| piece.len() <= LONGEST), "{all:?}");
    }
}
