//! Logs in UTF-16, as a redirection in Windows PowerShell writes them, read as UTF-8.
//!
//! Invariant: memory is a few kilobytes; invalid text becomes U+FFFD, as everywhere in logs. The standard library
//! decodes it; of encoding_rs, with tables for forty encodings, only this would be used.

use std::io::{self, Read};

/// Reads UTF-16 after its byte order mark.
pub struct Utf16<R> {
    from: R,
    big: bool,
    /// The first half of a pair.
    high: Option<u16>,
    /// The first byte of a two-byte unit whose second byte comes next.
    odd: Option<u8>,
    text: Vec<u8>,
    given: usize,
}

/// Whether it begins with UTF-16's byte order mark, and the first byte of a character is the high one.
pub fn mark(head: &[u8]) -> Option<bool> {
    match head {
        [0xff, 0xfe, ..] => Some(false),
        [0xfe, 0xff, ..] => Some(true),
        _ => None,
    }
}

impl<R: Read> Utf16<R> {
    /// Reads what comes after the mark.
    pub fn new(from: R, big: bool) -> Utf16<R> {
        Utf16 { from, big, high: None, odd: None, text: Vec::new(), given: 0 }
    }

    fn unit(&mut self, unit: u16) {
        let mut put = |c: char| self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        let pair: Vec<u16> = self.high.take().into_iter().chain([unit]).collect();
        if pair.len() == 1 && (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        char::decode_utf16(pair).for_each(|c| put(c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            self.text.clear();
            self.given = 0;
            let mut bytes = [0; 4096];
            let n = self.from.read(&mut bytes)?;
            if n == 0 {
                return Ok(0);
            }
            for &byte in &bytes[..n] {
                match self.odd.take() {
                    None => self.odd = Some(byte),
                    Some(first) if self.big => self.unit(u16::from_be_bytes([first, byte])),
                    Some(first) => self.unit(u16::from_le_bytes([first, byte])),
                }
            }
        }
        let n = into.len().min(self.text.len() - self.given);
        into[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_read_in_whatever_pieces() {
        let text = "0.5\tPa\u{df}wort \u{1f511}:\r\n".repeat(700);
        for big in [false, true] {
            let bytes: Vec<u8> =
                text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect();
            for split in [0, 1, 27, 4097] {
                let mut read = String::new();
                let (one, two) = bytes.split_at(split);
                Utf16::new(one.chain(two), big).read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
            }
        }
        let mut broken = Vec::new();
        Utf16::new(&[0x00, 0xd8, b'x', 0, 0x00][..], false).read_to_end(&mut broken).unwrap();
        assert_eq!(broken, "\u{fffd}x".as_bytes());
    }
}
