//! What is typed.
//!
//! Read in a thread of its own, because reading waits. The one rule it keeps: only plain keys are told, each with when
//! it was read; what was pasted, or pressed together with Control or Alt, is none of them.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// How long a key is waited for before it is looked whether the view is still there.
const KEY: Duration = Duration::from_millis(200);

/// What came from the terminal.
pub(super) enum Key {
    Typed(KeyCode, Instant),
    /// The window changed, or something else that only needs a new picture.
    Other,
}

/// What is typed from now on.
pub(super) fn keys() -> mpsc::Receiver<Key> {
    let (to, from) = mpsc::channel(16);
    tokio::task::spawn_blocking(move || {
        while !to.is_closed() {
            match event::poll(KEY) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => return,
            }
            let key = match event::read() {
                Ok(Event::Key(key)) => match meant(key) {
                    Some(code) => Key::Typed(code, Instant::now()),
                    None => continue,
                },
                Ok(Event::Resize(..)) => Key::Other,
                Ok(_) => continue,
                Err(_) => return,
            };
            if to.blocking_send(key).is_err() {
                return;
            }
        }
    });
    from
}

/// The plain key that was meant, if one was. Control-C ends the view, as everywhere.
fn meant(key: KeyEvent) -> Option<KeyCode> {
    let with = key.modifiers - KeyModifiers::SHIFT;
    match key.code {
        _ if key.kind != KeyEventKind::Press => None,
        KeyCode::Char('c') if with == KeyModifiers::CONTROL => Some(KeyCode::Char('q')),
        code => with.is_empty().then_some(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_control_or_alt_is_none_but_for_control_c() {
        let with = |letter: char, modifiers| meant(KeyEvent::new(KeyCode::Char(letter), modifiers));
        for modifiers in [
            KeyModifiers::CONTROL,
            KeyModifiers::ALT,
            KeyModifiers::SUPER,
            KeyModifiers::HYPER,
            KeyModifiers::META,
            KeyModifiers::CONTROL | KeyModifiers::SHIFT,
        ] {
            for letter in ['a', 'd', 'i', 'q', '1', 'j'] {
                assert_eq!(with(letter, modifiers), None, "{modifiers:?} {letter}");
            }
            assert_eq!(meant(KeyEvent::new(KeyCode::Enter, modifiers)), None);
        }
        assert_eq!(with('c', KeyModifiers::CONTROL), Some(KeyCode::Char('q')));
        assert_eq!(with('c', KeyModifiers::ALT), None);
        assert_eq!(with('a', KeyModifiers::NONE), Some(KeyCode::Char('a')));
        assert_eq!(with('1', KeyModifiers::SHIFT), Some(KeyCode::Char('1')));
        let held = KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, KeyEventKind::Repeat);
        assert_eq!(meant(held), None);
    }
}
