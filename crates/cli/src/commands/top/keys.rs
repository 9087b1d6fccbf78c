//! Key bindings, which depend on the mode.
//!
//! | key | action |
//! |---|---|
//! | `tab` `→` · `shift-tab` `←` | next panel, previous panel |
//! | `↓` `j` · `↑` `k` · page keys | move between rows |
//! | `enter` | details of the row |
//! | `/` | filter; `esc` clears it |
//! | `r` `c` `u` | retry, cancel, release |
//! | `w` | next workspace |
//! | `?` `q` | help, quit |

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::{Mode, Panel};

/// A key with a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    /// With ctrl.
    Control(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
}

impl Key {
    /// The key of an event; none if it has no binding.
    pub(super) fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        Some(match event.code {
            KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Self::Control(letter)
            }
            KeyCode::Char(letter) => Self::Letter(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            _ => return None,
        })
    }
}

/// The action bound to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Quit,
    Close,
    Help,
    Filter,
    ClearFilter,
    Type(char),
    Erase,
    /// Move by this many panels.
    Panel(usize),
    Row(isize),
    Scroll(i16),
    Look,
    Retry,
    Cancel,
    Release,
    Yes,
    NextWorkspace,
}

const PAGE: isize = 10;
const BACK: usize = Panel::ALL.len() - 1;

impl Intent {
    /// The action of a key in a mode, if any.
    pub(super) fn of(mode: &Mode, key: Key) -> Option<Self> {
        if key == Key::Control('c') {
            return Some(Self::Quit);
        }
        match mode {
            Mode::Browsing => Self::while_browsing(key),
            Mode::Filtering => Self::while_filtering(key),
            Mode::Confirming(_) => Some(match key {
                Key::Letter('y' | 'Y') => Self::Yes,
                _ => Self::Close,
            }),
            Mode::Details { .. } => match key {
                Key::Down | Key::Letter('j') => Some(Self::Scroll(1)),
                Key::Up | Key::Letter('k') => Some(Self::Scroll(-1)),
                Key::PageDown => Some(Self::Scroll(10)),
                Key::PageUp => Some(Self::Scroll(-10)),
                Key::Escape | Key::Enter | Key::Letter('q') => Some(Self::Close),
                _ => None,
            },
            Mode::Help => Some(Self::Close),
        }
    }

    fn while_browsing(key: Key) -> Option<Self> {
        Some(match key {
            Key::Letter('q') => Self::Quit,
            Key::Letter('?') => Self::Help,
            Key::Letter('/') => Self::Filter,
            Key::Letter('r') => Self::Retry,
            Key::Letter('c') => Self::Cancel,
            Key::Letter('u') => Self::Release,
            Key::Letter('w') => Self::NextWorkspace,
            Key::Escape => Self::ClearFilter,
            Key::Tab | Key::Right => Self::Panel(1),
            Key::BackTab | Key::Left => Self::Panel(BACK),
            Key::Down | Key::Letter('j') => Self::Row(1),
            Key::Up | Key::Letter('k') => Self::Row(-1),
            Key::PageDown => Self::Row(PAGE),
            Key::PageUp => Self::Row(-PAGE),
            Key::Enter => Self::Look,
            Key::Letter(_) | Key::Control(_) | Key::Backspace => return None,
        })
    }

    fn while_filtering(key: Key) -> Option<Self> {
        Some(match key {
            Key::Letter(letter) => Self::Type(letter),
            Key::Backspace => Self::Erase,
            Key::Enter => Self::Close,
            Key::Escape => Self::ClearFilter,
            Key::Down => Self::Row(1),
            Key::Up => Self::Row(-1),
            _ => return None,
        })
    }
}
