//! A cell's terminal as an asciicast v3 recording: <https://docs.asciinema.org/manual/asciicast/v3/>.
//!
//! Invariant: intervals are virtual time, so that a recording is the same on every machine.

use crate::screen::SIZE;
use rehang_judge::Trace;
use rehang_judge::trace::What;
use serde_json::json;

/// The recording: what the agent wrote to its terminal or its streams, and what was typed. One line an event.
pub fn cast(trace: &Trace, title: &str) -> String {
    let header = json!({ "version": 3, "term": { "cols": SIZE.1, "rows": SIZE.0 }, "title": title });
    let mut out = format!("{header}\n");
    let mut last = 0;
    for event in &trace.events {
        let line = match &event.what {
            What::Out { fd: 0, text } => ("o", text.clone()),
            // what has no terminal wrote plain newlines
            What::Out { text, .. } => ("o", text.replace('\n', "\r\n")),
            What::In { text } => ("i", text.clone()),
            _ => continue,
        };
        let interval = (event.t.0.saturating_sub(last)) as f64 / 1_000.0;
        last = event.t.0;
        out.push_str(&json!([interval, line.0, line.1]).to_string());
        out.push('\n');
    }
    out
}
