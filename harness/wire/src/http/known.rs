//! Heads that this thread has read: whoever polls sends the same one again and again, and gets the same one.
//!
//! Invariant: it decides nothing. A head that is not here is parsed, and what is here is what parsing gave for the same
//! bytes.

use super::read::{Head, HttpError, Parsed};
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The longest head that is remembered, in bytes.
const KNOWN_HEAD_MAX: usize = 1 << 10;
/// How much of heads a thread remembers, in bytes, before it begins anew.
const KNOWN_MAX: usize = 64 << 10;

/// Finds the usual end of a head.
static END: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

/// The heads of requests, or of responses, that a thread has read.
#[doc(hidden)]
pub struct Known<H> {
    heads: HashMap<Box<[u8]>, Parsed<H>, foldhash::fast::RandomState>,
    /// Their length in sum.
    bytes: usize,
}

impl<H> Default for Known<H> {
    fn default() -> Known<H> {
        Known { heads: HashMap::default(), bytes: 0 }
    }
}

impl<H: Head> Known<H> {
    /// The head that these bytes begin with; `None` if it is not whole yet.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Result<Option<Parsed<H>>, HttpError> {
        // a head that ends with another line end, which the standard allows, ends before this one, or is not remembered
        let near = &bytes[..bytes.len().min(KNOWN_HEAD_MAX)];
        let Some(end) = END.find(near) else { return H::parse(bytes) };
        let key = &bytes[..end + 4];
        if let Some(known) = self.heads.get(key) {
            return Ok(Some(known.clone()));
        }
        let parsed = H::parse(bytes)?;
        if let Some(parsed) = parsed.as_ref().filter(|parsed| parsed.length <= key.len()) {
            self.bytes += key.len();
            if self.bytes > KNOWN_MAX {
                *self = Known { bytes: key.len(), ..Known::default() };
            }
            self.heads.insert(key.into(), parsed.clone());
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RequestHead, request};
    use super::*;
    use std::sync::Arc;

    fn parse(known: &mut Known<RequestHead>, bytes: &[u8]) -> Option<(usize, Arc<RequestHead>)> {
        known.parse(bytes).unwrap().map(|parsed| (parsed.length, parsed.head))
    }

    #[test]
    fn a_head_that_came_before_is_the_same_one_whatever_follows() {
        let mut known = Known::default();
        let bytes = request("GET", "/a", "h", &[], b"");
        let first = parse(&mut known, &bytes).unwrap();
        assert_eq!((first.0, first.1.target.as_str()), (bytes.len(), "/a"));
        let again = parse(&mut known, &[&bytes[..], b"GET /b HTTP/1.1\r\n\r\n"].concat()).unwrap();
        assert!(first.0 == again.0 && Arc::ptr_eq(&first.1, &again.1));
        let other = parse(&mut known, &request("GET", "/b", "h", &[], b"")).unwrap();
        assert_eq!(other.1.target, "/b");
        assert_eq!(parse(&mut known, &bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn where_lines_end_otherwise_the_parser_says_where_the_head_ends() {
        let mut known = Known::default();
        // it ends before the four bytes that are looked for
        let short = b"GET /a HTTP/1.1\nhost: h\n\nGET /b HTTP/1.1\r\n\r\n";
        for _ in 0..2 {
            let (length, head) = parse(&mut known, short).unwrap();
            assert_eq!((length, head.target.as_str()), (25, "/a"));
        }
        // and after them: empty lines may come first
        for rest in ["GET /c HTTP/1.1\r\n\r\n", "GET /d HTTP/1.1\r\n\r\n"] {
            let bytes = ["\r\n\r\n", rest].concat();
            assert_eq!(parse(&mut known, bytes.as_bytes()).map(|(length, _)| length), Some(bytes.len()));
        }
        assert_eq!(parse(&mut known, b"\r\n\r\n"), None);
    }

    #[test]
    fn what_is_wrong_is_wrong_again_and_memory_has_an_end() {
        let mut known = Known::<RequestHead>::default();
        for _ in 0..2 {
            assert!(matches!(known.parse(b"GET\r\n\r\n"), Err(HttpError::Head)));
        }
        for at in 0..2 * KNOWN_MAX / 100 {
            let bytes = request("GET", &format!("/{at:0100}"), "h", &[], b"");
            assert_eq!(parse(&mut known, &bytes).map(|(length, _)| length), Some(bytes.len()));
        }
        let held: usize = known.heads.keys().map(|key| key.len()).sum();
        assert!(held == known.bytes && held <= KNOWN_MAX, "{held} of {}", known.bytes);
        let long = request("GET", &"x".repeat(KNOWN_HEAD_MAX), "h", &[], b"");
        let heads = known.heads.len();
        assert!(parse(&mut known, &long).is_some() && known.heads.len() == heads);
    }
}
