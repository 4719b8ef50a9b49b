//! What is shown and how, and the keys that change it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::history::History;

/// What a key asks for beyond a change of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Stay,
    Leave,
}

/// The list below the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Servers,
    Jobs,
    Files,
}

/// What is shown, and how.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) place: String,
    pub(super) list: List,
    /// The column that lists are sorted by, if not the first.
    pub(super) sort: usize,
    pub(super) reversed: bool,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    pub(super) paused: bool,
    pub(super) export: usize,
    /// Lines scrolled away.
    pub(super) scroll: usize,
    /// What the list was sorted by when it was last drawn.
    pub(super) sorted_by: &'static str,
}

impl View {
    pub(super) fn new(place: String) -> View {
        View {
            place,
            list: List::Servers,
            sort: 0,
            reversed: false,
            filter: String::new(),
            typing: false,
            paused: false,
            export: 0,
            scroll: 0,
            sorted_by: "",
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    pub(super) fn press(&mut self, key: KeyEvent, history: &History) -> Command {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Command::Leave;
        }
        if self.typing {
            self.typed(key.code);
            return Command::Stay;
        }
        match key.code {
            KeyCode::Char('q') => return Command::Leave,
            KeyCode::Char('s') => self.sort = (self.sort + 1) % COLUMNS,
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('e') => {
                self.export = (self.export + 1) % history.now().exports.len().max(1);
            }
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Tab => self.turn_to(self.list.next()),
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll += PAGE,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            _ => {}
        }
        Command::Stay
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
        self.scroll = 0;
    }

    fn turn_to(&mut self, list: List) {
        self.list = list;
        self.sort = 0;
        self.scroll = 0;
    }
}

impl List {
    fn next(self) -> List {
        match self {
            List::Servers => List::Jobs,
            List::Jobs => List::Files,
            List::Files => List::Servers,
        }
    }
}

/// Columns that lists can be sorted by, at most.
const COLUMNS: usize = 6;
const PAGE: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Snapshot;

    fn press(view: &mut View, code: KeyCode) -> Command {
        view.press(KeyEvent::new(code, KeyModifiers::NONE), &History::new(Snapshot::default()))
    }

    #[test]
    fn a_filter_is_typed_and_taken_away_and_q_is_a_letter_in_it() {
        let mut view = View::new(String::new());
        press(&mut view, KeyCode::Char('/'));
        for letter in "seqx".chars() {
            assert_eq!(press(&mut view, KeyCode::Char(letter)), Command::Stay);
        }
        press(&mut view, KeyCode::Backspace);
        press(&mut view, KeyCode::Enter);
        assert_eq!((view.filter.as_str(), view.typing), ("seq", false));
        press(&mut view, KeyCode::Esc);
        assert_eq!(view.filter, "");
        assert_eq!(press(&mut view, KeyCode::Char('q')), Command::Leave);
    }

    #[test]
    fn tab_goes_round_the_lists_and_s_round_the_columns() {
        let mut view = View::new(String::new());
        press(&mut view, KeyCode::Char('s'));
        assert_eq!(view.sort, 1);
        press(&mut view, KeyCode::Tab);
        assert_eq!((view.list, view.sort), (List::Jobs, 0));
        press(&mut view, KeyCode::Tab);
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.list, List::Servers);
    }
}
