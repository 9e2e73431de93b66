//! Lines of JSON out of a stream's bytes, for those strategies that read every line as it comes.
//!
//! Invariant: at most [`LINE_MAX`] bytes are held; a longer line is skipped as a whole, as is one that is no JSON.

use rehang_scenario::Canon;
use serde_json::Value;

/// The longest line that is read, in bytes.
pub const LINE_MAX: usize = 1 << 20;

/// The part of a line that has come.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    part: Vec<u8>,
    skips: bool,
}

impl Lines {
    /// Takes bytes, gives the objects of the lines that they complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut whole = Vec::new();
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let ends = piece.last() == Some(&b'\n');
            self.skips |= self.part.len() + piece.len() > LINE_MAX;
            if !self.skips {
                self.part.extend_from_slice(piece);
            }
            if ends {
                if !self.skips {
                    whole.extend(serde_json::from_slice(&self.part).ok().filter(Value::is_object));
                }
                self.part.clear();
                self.skips = false;
            }
        }
        whole
    }

    /// Writes what a later byte can make a difference to.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { part, skips } = self;
        canon.flag(*skips).bytes(part);
    }
}

/// The blocks of a message's content: `[]` where there is none, or where it is a text.
pub fn blocks(message: &Value) -> &[Value] {
    message["message"]["content"].as_array().map_or(&[], Vec::as_slice)
}

/// The text at a key; empty where there is none.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
