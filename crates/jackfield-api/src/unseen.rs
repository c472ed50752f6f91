//! Letters that nobody sees.
//!
//! Text of models, tools and clients is shown to people who decide by it. The one rule it keeps: what turns the order
//! of text, has no width or says nothing to the eye is named here, once, for whoever shows text. Control characters are
//! not among them: `char::is_control` knows those.

/// Whether a letter is a mark of direction, has no width, or is a tag. The two joiners are among them, though some
/// scripts and emoji need them: who shows text at length may let them pass ([`is_joiner`]).
pub fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Whether a letter joins its neighbours, or keeps them from joining.
pub fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_text_around_or_hides_in_it_is_unseen_and_words_are_not() {
        for unseen in
            ['\u{200b}', '\u{200d}', '\u{200f}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{feff}', '\u{e0041}']
        {
            assert!(is_unseen(unseen), "{unseen:?}");
        }
        for seen in ['a', ' ', 'é', 'ש', '寿', '…', '\u{301}', '\u{fe0f}', '🦀', '\u{fffd}'] {
            assert!(!is_unseen(seen), "{seen:?}");
        }
    }
}
