//! A terminal's screens over time, from what the agent wrote there.
//!
//! Invariant: a frame is text: the content of a trace can steer the emulator and nothing else.

use rehang_trace::{Trace, What};
use serde::Serialize;

/// Rows and columns of the terminals that agents run on.
pub const SIZE: (u16, u16) = (24, 80);
/// The most frames of one cell.
const FRAMES_MAX: usize = 500;

/// A screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// Since when, in virtual milliseconds.
    pub t: u64,
    /// Its lines, without blanks at their ends and empty lines at the end.
    pub text: String,
}

/// The screens of a trace, each from the instant at which it appeared.
pub fn frames(trace: &Trace) -> Vec<Frame> {
    let mut parser = vt100::Parser::new(SIZE.0, SIZE.1, 0);
    let mut frames: Vec<Frame> = Vec::new();
    for event in &trace.events {
        let What::Out { fd: 0, text } = &event.what else { continue };
        parser.process(text.as_bytes());
        let screen = parser.screen().contents();
        let text = screen.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        let text = crate::cell::plain(text.trim_end(), usize::from(SIZE.0 + 1) * usize::from(SIZE.1 + 1) * 4);
        let full = frames.len() >= FRAMES_MAX;
        match frames.last_mut() {
            Some(last) if last.text == text => {}
            Some(last) if last.t == event.t.0 => last.text = text,
            _ if full => break,
            _ => frames.push(Frame { t: event.t.0, text }),
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_what_stands_there() {
        let frames = frames(&crate::testing::trace());
        assert_eq!(frames, [Frame { t: 10, text: "Allow?".to_owned() }]);
    }
}
