//! A cell's terminal as an asciicast v3 recording: <https://docs.asciinema.org/manual/asciicast/v3/>.
//!
//! Invariant: intervals are virtual time, so that a recording is the same on every machine.

use crate::screen::SIZE;
use rehang_trace::{Trace, What};
use serde_json::json;

/// The recording: what the agent wrote to its terminal or its streams, and what was typed. One line an event.
pub fn cast(trace: &Trace, title: &str) -> String {
    let header = json!({ "version": 3, "term": { "cols": SIZE.1, "rows": SIZE.0 }, "title": title });
    let mut out = format!("{header}\n");
    let mut last = 0;
    for event in &trace.events {
        let line = match &event.what {
            What::Out { fd: 0, text } => ("o", text.clone()),
            // output that does not go to a terminal has plain newlines
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn a_recording_in_asciicast_v3() {
        expect![[r#"
            {"version":3,"term":{"cols":80,"rows":24},"title":"made/up"}
            [0.01,"o","{\"type\":\"x\"}\r\n"]
            [0.0,"o","\u001b[1mAllow?\u001b[0m "]
            [5.01,"i","y\r"]
        "#]]
        .assert_eq(&cast(&testing::trace(), "made/up"));
    }

    #[test]
    fn each_line_is_what_the_format_says() {
        let text = cast(&testing::trace(), "t");
        let mut lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let header = lines.next().expect("a header");
        assert!(header["version"] == 3 && header["term"]["cols"] == 80 && header["term"]["rows"] == 24, "{header}");
        for event in lines {
            let [interval, code, data] = event.as_array().expect("an array").as_slice() else { panic!("{event}") };
            assert!(interval.as_f64().is_some_and(|interval| interval >= 0.0), "{event}");
            assert!(["o", "i"].contains(&code.as_str().expect("a code")) && data.is_string(), "{event}");
        }
    }
}
