//! Hostile logs: one call for a fuzzer, and seeds to feed it.
//!
//! Invariant: no bytes whatever make [`one`] panic, hang or hold more than [`crate::limits`] allows; what comes out loads.

use crate::export::{LogForm, export};
use crate::read::samples;
use crate::{Format, Options, import};
use rehang_scenario::load;
use rehang_trace::Trace;

/// Imports the bytes as a format. Returns whether a scenario came out.
///
/// # Panics
/// If the drafted scenario does not load as itself again: that is a finding.
pub fn one(format: Format, data: &[u8]) -> bool {
    let half = data.len() / 2;
    let typescript = if format == Format::Script { data[half..].to_vec() } else { Vec::new() };
    let options = Options { format: Some(format), typescript, ..Options::default() };
    // without a given format it may be detected as another format, or as none
    let _ = import(data, &Options::default(), &mut |_| {});
    let Ok(imported) = import(data, &options, &mut |_| {}) else { return false };
    let story = &imported.story;
    assert!(story.sessions.len() <= crate::limits::SESSIONS && story.asks.len() <= crate::limits::ASKS);
    let text = imported.toml();
    let loaded = load("fuzz.toml", text.as_bytes());
    let Some(family) = loaded.family else { panic!("what was drafted does not load:\n{}\n{text}", loaded.problems) };
    assert_eq!(family.variants[0].scenario, imported.draft.scenario, "{text}");
    let value = serde_json::to_value(&imported.draft.scenario).unwrap_or_default();
    masked(&value);
    true
}

/// Each text of a scenario is masked: to mask it again changes nothing.
fn masked(value: &serde_json::Value) {
    match value {
        serde_json::Value::String(text) => {
            assert_eq!(crate::Mask::default().text(text), *text, "a secret is left over");
        }
        serde_json::Value::Array(list) => list.iter().for_each(masked),
        serde_json::Value::Object(map) => map.values().for_each(masked),
        _ => {}
    }
}

/// What the inputs of a format are made of: small logs of it. `recordings` are the repository's own.
pub fn seeds(format: Format, recordings: &[Vec<u8>]) -> Vec<Vec<u8>> {
    match format {
        Format::Recording => recordings.to_vec(),
        Format::Claude | Format::Sdk => recordings.iter().filter_map(|r| inner(r, "msg")).collect(),
        Format::OpencodeEvents => {
            let events: Vec<Vec<u8>> = recordings.iter().filter_map(|r| inner(r, "ev")).collect();
            let sse = events.iter().map(|e| {
                String::from_utf8_lossy(e).lines().map(|l| format!("data: {l}\n\n")).collect::<String>().into_bytes()
            });
            let sse: Vec<Vec<u8>> = sse.collect();
            events.into_iter().chain(sse).collect()
        }
        format => samples(format).iter().map(|text| text.as_bytes().to_vec()).collect(),
    }
}

/// The members of a recording's lines, one a line.
fn inner(recording: &[u8], key: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(recording).ok()?;
    let values = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let lines: Vec<String> = values.filter(|v| v[key].is_object()).map(|v| v[key].to_string()).collect();
    (!lines.is_empty()).then(|| lines.join("\n").into_bytes())
}

/// Writes a trace as each form of log and reads it back: exporters do not panic either.
pub fn exports(trace: &Trace) {
    for (_, form) in LogForm::NAMES {
        let mut out = Vec::new();
        let written = export(trace, form, &mut out);
        assert!(written.is_ok());
        let _ = import(out.as_slice(), &Options::default(), &mut |_| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::fuzz::mutate;

    #[test]
    fn a_thousand_broken_logs_of_each_format() {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fake-agents/tests/golden/opencode-1.2.15/03_bash_perm_once.jsonl"
        );
        let other = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fake-agents/tests/golden/claude-2.0.77/io-bash-ppt-noanswer.jsonl"
        );
        let recordings: Vec<Vec<u8>> = [golden, other].iter().map(|path| std::fs::read(path).unwrap()).collect();
        let try_all = |format: Format| {
            let seeds = seeds(format, &recordings);
            let files: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
            let right = (0..1_000).filter(|seed| one(format, &mutate(*seed, &files))).count();
            assert!(right > 300, "{}: {right} of 1,000 came through", format.name());
        };
        std::thread::scope(|scope| {
            for format in Format::ALL {
                scope.spawn(move || try_all(format));
            }
        });
    }

    #[test]
    fn what_was_found_once() {
        let part = r#"{"type":"tool","tool":"bash","callID":"c1","state":"running","time":{"start":1000,"end":2000}}"#;
        let message = format!(r#"{{"info":{{"id":"m1","role":"assistant","sessionID":"ses_1"}},"parts":[{part}]}}"#);
        let export = format!(r#"{{"info":{{"id":"ses_1"}},"messages":[{message}]}}"#);
        one(Format::OpencodeExport, export.as_bytes());
        let running = r#"{"type":"message.part.updated","properties":{"part":{"id":"p1","sessionID":"ses_1","messageID":"m1","type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"ls"}}}}}"#;
        for name in ["bash\\u0000", "\\u202e"] {
            let asked = format!(
                r#"{{"type":"permission.asked","properties":{{"id":"per_1","sessionID":"ses_1","permission":"{name}","patterns":["ls"],"tool":{{"messageID":"m1","callID":"c1"}}}}}}"#
            );
            assert!(one(Format::OpencodeEvents, format!("{running}\n{asked}\n").as_bytes()), "{name:?}");
        }
    }
}
