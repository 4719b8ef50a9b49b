//! Texts that are longer than an answer may be: told page by page, all pages of the same moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Names the text, for the pages that follow.
    pub(crate) token: u64,
    /// Bytes of the whole text.
    pub(crate) total: u64,
    /// Bytes of this page; none behind the end.
    pub(crate) bytes: Vec<u8>,
}

/// The texts that somebody is being told.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    next: u64,
    kept: VecDeque<(u64, Arc<str>)>,
}

impl Pages {
    /// A page of `room` bytes from `offset` on. The first page makes the text; the others name it.
    /// Nothing if so many others have asked meanwhile that it is gone.
    pub(crate) fn page(
        &self,
        offset: u64,
        token: u64,
        room: usize,
        make: impl FnOnce() -> String,
    ) -> Option<Page> {
        let (token, text) =
            if offset == 0 { self.keep(make()) } else { (token, self.find(token)?) };
        let rest = text.as_bytes().get(usize::try_from(offset).ok()?..).unwrap_or_default();
        let bytes = rest[..rest.len().min(room)].to_vec();
        Some(Page { token, total: text.len() as u64, bytes })
    }

    fn keep(&self, text: String) -> (u64, Arc<str>) {
        let text: Arc<str> = text.into();
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.next += 1;
        let token = texts.next;
        texts.kept.push_back((token, Arc::clone(&text)));
        if texts.kept.len() > KEPT {
            texts.kept.pop_front();
        }
        (token, text)
    }

    fn find(&self, token: u64) -> Option<Arc<str>> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let found = texts.kept.iter().find(|(kept, _)| *kept == token);
        found.map(|(_, text)| Arc::clone(text))
    }
}

/// Put a text together from its pages. Asks `page` for an offset and a token.
pub(crate) fn gather<E>(mut page: impl FnMut(u64, u64) -> Result<Page, E>) -> Result<Vec<u8>, E> {
    let mut text = Vec::new();
    let mut token = 0;
    loop {
        let next = page(text.len() as u64, token)?;
        text.extend_from_slice(&next.bytes);
        token = next.token;
        if next.bytes.is_empty() || text.len() as u64 >= next.total.min(TEXT_MOST) {
            return Ok(text);
        }
    }
}

/// Texts that are kept for those who have not read them to the end.
const KEPT: usize = 8;
/// No text is longer than this, whatever somebody says.
const TEXT_MOST: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_two_askers_do_not_mix() {
        let pages = Pages::default();
        let first = pages.page(0, 0, 4, || "abcdefgh".into()).unwrap();
        let second = pages.page(0, 0, 4, || "ABCDEFGH".into()).unwrap();
        let rest = |token| pages.page(4, token, 4, || unreachable!()).unwrap().bytes;
        assert_eq!((first.bytes.as_slice(), rest(first.token)), (&b"abcd"[..], b"efgh".to_vec()));
        assert_eq!((second.bytes.as_slice(), rest(second.token)), (&b"ABCD"[..], b"EFGH".to_vec()));
        assert_eq!(second.total, 8);
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_gone_is_gone() {
        let pages = Pages::default();
        let first = pages.page(0, 0, 4, || "abcdefgh".into()).unwrap();
        (0..KEPT).for_each(|_| drop(pages.page(0, 0, 4, String::new)));
        assert_eq!(pages.page(4, first.token, 4, || unreachable!()), None);
        assert_eq!(pages.texts.lock().unwrap().kept.len(), KEPT);
    }

    #[test]
    fn a_text_is_gathered_from_its_pages() {
        let (pages, text) = (Pages::default(), "0123456789".repeat(50));
        let gathered =
            gather(|offset, token| pages.page(offset, token, 64, || text.clone()).ok_or("gone"));
        assert_eq!(gathered, Ok(text.into_bytes()));
    }
}
