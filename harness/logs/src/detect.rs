//! Which format a log is in.
//!
//! Invariant: decided by the first [`PROBE_BYTES`] alone; what fits nothing is plain text, or is refused.

use crate::format::Format;
use crate::lines::Elements;
use crate::read::{RECOGNISED, alike, events, pi};
use serde_json::Value;

/// How much of a log is looked at.
pub const PROBE_BYTES: usize = 256 << 10;

/// What the whole lines at a log's begin say of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Votes {
    /// Lines of stream-json that only Claude Code writes, and those that it does not write.
    own: u32,
    foreign: u32,
    /// Lines that name another agent's release.
    others_release: u32,
    each: [u32; Format::ALL.len()],
    /// Lines that fit no format although they should.
    others: u32,
}

/// How many lines vote. A choice.
const VOTERS: usize = 400;

impl Votes {
    fn of(head: &[u8]) -> Votes {
        let mut votes = Votes::default();
        // the last line may be cut
        let whole =
            if head.len() >= PROBE_BYTES { memchr::memrchr(b'\n', head).unwrap_or(head.len()) } else { head.len() };
        let lines = head[..whole].split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        for line in lines.take(VOTERS) {
            let value = of_json(line);
            if let Some(value) = &value {
                votes.own += u32::from(alike::is_claudes_own(value));
                votes.foreign += u32::from(alike::is_foreign(value));
                votes.others_release += u32::from(alike::names_another(value));
            }
            match value.map_or_else(|| of_text(line), |value| of_value(&value)) {
                Some(format) => votes.each[format as usize] += 1,
                None if is_logged(line) => {}
                None => votes.others += 1,
            }
        }
        // another agent's stream-json, which is like Claude Code's
        let claude = votes.each[Format::Claude as usize];
        let others = votes.each[Format::Events as usize];
        if claude > 0 && (votes.others_release > 0 || votes.own == 0 && (votes.foreign > 0 || others > 0)) {
            votes.each[Format::Claude as usize] = 0;
            votes.each[Format::Events as usize] += claude;
        }
        votes
    }

    /// The format with the most votes; of two, the one that comes first.
    fn best(&self) -> Option<Format> {
        let best = (0..self.each.len()).rev().max_by_key(|&at| self.each[at]).filter(|&at| self.each[at] > 0);
        best.map(|at| Format::ALL[at])
    }

    fn fit(&self) -> u32 {
        self.each.iter().sum()
    }

    /// Whether at least a third of the lines fit: a program prints other lines between them.
    fn decide(&self) -> bool {
        self.fit() * 3 >= self.fit() + self.others
    }
}

/// A line that a logger wrote between an agent's: it has a time, or a level.
fn is_logged(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&line[..line.len().min(80)]);
    let level = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].iter().any(|level| text.trim_start().starts_with(level));
    level || crate::read::time::stamped(&text).is_some()
}

/// A format that only a part of a log's lines fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearly {
    /// The format.
    pub format: Format,
    /// Lines that fit.
    pub fit: u32,
    /// How many lines were looked at.
    pub of: u32,
}

impl std::fmt::Display for Nearly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Nearly { format, fit, of } = self;
        write!(f, "like {}, but {fit} of {of} lines {}", format.about(), if *fit == 1 { "fits" } else { "fit" })
    }
}

/// The format that some of a log's lines fit, but too few of them.
pub fn nearly(head: &[u8]) -> Option<Nearly> {
    let votes = Votes::of(head);
    let format = votes.best().filter(|format| *format != Format::Plain && !votes.decide())?;
    Some(Nearly { format, fit: votes.fit(), of: votes.fit() + votes.others })
}

/// The format of a log that begins like this; `None` if it is not text.
pub fn detect(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty())?;
    if is_binary(head) {
        return None;
    }
    // a header decides
    if of_json(first).and_then(|value| of_value(&value)) == Some(Format::Asciicast) {
        return Some(Format::Asciicast);
    }
    let votes = Votes::of(head);
    if let Some(best) = votes.best().filter(|_| votes.decide()) {
        return Some(best);
    }
    if let Some(format) = spread(head).then(|| of_values(head)).flatten() {
        return Some(format);
    }
    // one large document, on one line or many
    let has = |needle: &[u8]| memchr::memmem::find(head, needle).is_some();
    if first.starts_with(b"{") && has(b"\"messages\"") || first.starts_with(b"{") && has(b"\"info\"") && has(b"\"ses_")
    {
        return Some(Format::OpencodeExport);
    }
    if is_list(head)
        && let Some(format) = of_elements(head)
    {
        return Some(format);
    }
    if is_copilots(head) {
        return Some(Format::Copilot);
    }
    Some(Format::Plain)
}

/// Whether it begins with a JSON list of objects: a wrapper's lines begin with a bracket too.
pub fn is_list(head: &[u8]) -> bool {
    let mut bytes = head.iter().copied().filter(|b| !b.is_ascii_whitespace());
    bytes.next() == Some(b'[') && matches!(bytes.next(), None | Some(b'{' | b'[' | b']'))
}

/// The format of the first elements of a list.
fn of_elements(head: &[u8]) -> Option<Format> {
    let mut elements = Elements::new(head);
    let mut votes = [0_u32; Format::ALL.len()];
    for _ in 0..VOTERS {
        let Ok(Some(piece)) = elements.next_piece() else { break };
        if piece.broken.is_some() || crate::read::too_deep(piece.bytes) {
            continue;
        }
        let format = serde_json::from_slice::<Value>(piece.bytes).ok().and_then(|value| of_value(&value));
        // a list of messages was written by a host
        if let Some(format) = format {
            let format = if format == Format::Claude { Format::Sdk } else { format };
            votes[format as usize] += 1;
        }
    }
    let best = (0..votes.len()).rev().max_by_key(|&at| votes[at]).filter(|&at| votes[at] > 0);
    best.map(|at| Format::ALL[at])
}

/// Whether it is what `copilot -p` prints: its figures at the end, or lines of its tools.
fn is_copilots(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let figures = ["Total usage est:", "Total duration (wall):", "Total duration (API):", "Total session time:"];
    let figures = text.lines().filter(|line| figures.iter().any(|words| line.trim_start().starts_with(words))).count();
    let tool = |line: &str| {
        let named = line.starts_with("● ") && line.trim_end().ends_with(')');
        named || ["  │ ", "  └ ", "   $ ", "   ↪ "].iter().any(|mark| line.starts_with(mark)) || line.starts_with("✓ ")
    };
    let tools =
        text.lines().filter(|line| tool(line.trim_start_matches(|c| ('\u{2800}'..='\u{28ff}').contains(&c)))).count();
    figures >= 2 || tools >= 2
}

/// How a file that is compressed is unpacked, by its first bytes.
pub fn packed(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], _); 5] = [
        (b"\x1f\x8b", "gzip -dc"),
        (b"\x28\xb5\x2f\xfd", "zstd -dc"),
        (b"\xfd7zXZ\0", "xz -dc"),
        (b"BZh", "bzip2 -dc"),
        (b"PK\x03\x04", "unzip -p"),
    ];
    known.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, unpacks)| unpacks)
}

/// How many bytes a program has written before a document (`Exporting session: …`); 0 if there are none.
pub fn banner(head: &[u8]) -> usize {
    let mut at = 0;
    for (n, line) in head.split_inclusive(|b| *b == b'\n').take(BANNER_LINES).enumerate() {
        if matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
            let document = || matches!(detect(&head[at..]), Some(Format::OpencodeExport | Format::Sdk));
            return if n > 0 && detect(head) == Some(Format::Plain) && document() { at } else { 0 };
        }
        at += line.len();
    }
    0
}

/// The most lines in front of a document. A choice.
const BANNER_LINES: usize = 20;

/// Whether more than a twentieth of the bytes do not occur in text: text in an older encoding and a terminal's output
/// have fewer.
fn is_binary(head: &[u8]) -> bool {
    let controls = head.iter().filter(|b| matches!(b, 0..=6 | 0x10..=0x1a | 0x1c..=0x1f | 0x7f)).count();
    let invalid: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (controls + invalid) * 20 > head.len()
}

/// Whether it is a scenario of rehang's, which a reader of logs would treat as a program's output. A log that contains
/// a scenario somewhere does not begin with a scenario's keys.
pub fn is_scenario(head: &[u8]) -> bool {
    let key = |line: &[u8]| line.iter().position(|b| *b == b'=').map(|at| line[..at].trim_ascii().to_vec());
    let mut lines = head.split(|b| *b == b'\n').filter(|line| !matches!(line.trim_ascii().first(), None | Some(b'#')));
    let known = |key: &[u8]| ["title", "about", "mechanism", "cites", "agent"].iter().any(|is| is.as_bytes() == key);
    let begins = lines.next().and_then(key).is_some_and(|key| known(&key));
    let keys: Vec<Vec<u8>> = lines.filter_map(key).collect();
    begins && ["mechanism", "agent"].iter().any(|key| keys.iter().any(|is| is == key.as_bytes()))
}

/// Whether it begins with a JSON object on many lines.
pub fn spread(head: &[u8]) -> bool {
    head.trim_ascii_start().split(|b| *b == b'\n').next().is_some_and(|line| line.trim_ascii() == b"{")
}

/// The format of the first values of those that follow one another.
fn of_values(head: &[u8]) -> Option<Format> {
    let values = serde_json::Deserializer::from_slice(head).into_iter::<Value>();
    values.take(5).map_while(Result::ok).find_map(|value| of_value(&value))
}

/// The JSON object that a line is.
fn of_json(line: &[u8]) -> Option<Value> {
    let is_object = line.starts_with(b"{") && !crate::read::too_deep(line);
    is_object.then(|| serde_json::from_slice(line).ok()).flatten()
}

/// The format that a line of text is of.
fn of_text(line: &[u8]) -> Option<Format> {
    if line.starts_with(b"{") {
        return None;
    }
    if line.starts_with(b"data:") || line.starts_with(b"event:") {
        return Some(Format::OpencodeEvents);
    }
    {
        let text = std::str::from_utf8(&line[..line.len().min(200)]).ok()?;
        if text.contains('\t') && crate::read::time::parse(text.split('\t').next()?).is_some() {
            return Some(Format::Plain);
        }
        if text.contains("Reading additional input from stdin") || text.contains("Reading prompt from stdin") {
            return Some(Format::Codex);
        }
        let mut words = text.split_ascii_whitespace();
        let first = words.next()?;
        let first = if matches!(first, "O" | "I" | "H" | "S") { words.next()? } else { first };
        let timing = first.contains('.') && first.parse::<f64>().is_ok() && words.next()?.parse::<u64>().is_ok();
        if timing && words.next().is_none() {
            return Some(Format::Script);
        }
        // a message with its time or its direction in front
        let begin = text.find('{')?;
        let value = of_json(line.get(begin..)?)?;
        crate::read::rpc::is_message(&value).then_some(Format::Events)
    }
}

/// The format that a JSON line is of.
pub fn of_value(value: &Value) -> Option<Format> {
    let kind = value["type"].as_str().unwrap_or_default();
    let has = |key: &str| !value[key].is_null();
    if let Some((format, _)) = RECOGNISED.iter().find(|(_, is_one)| is_one(value)) {
        return Some(*format);
    }
    if value["session_id"].as_str().is_some_and(|id| id.starts_with("T-")) && has("type") {
        return Some(Format::Amp);
    }
    if has("messages") && has("info") {
        return Some(Format::OpencodeExport);
    }
    if value["properties"].is_object() || value["payload"]["properties"].is_object() {
        return Some(Format::OpencodeEvents);
    }
    if has("sessionID") && (value["part"].is_object() || has("error")) {
        return Some(Format::OpencodeRun);
    }
    let thread = matches!(kind, "thread.started" | "turn.started" | "turn.completed" | "turn.failed");
    if thread || kind.starts_with("item.") && value["item"].is_object() {
        return Some(Format::Codex);
    }
    if pi::is_event(value) {
        return Some(Format::Pi);
    }
    match kind {
        "user" | "assistant" | "system" | "summary" | "file-history-snapshot" | "queue-operation"
            if has("uuid") && has("sessionId") || has("leafUuid") || has("messageId") =>
        {
            return Some(Format::ClaudeTranscript);
        }
        "system" | "result" if alike::is_foreign(value) => return Some(Format::Events),
        "system"
        | "assistant"
        | "user"
        | "result"
        | "control_request"
        | "control_response"
        | "stream_event"
        | "control_cancel_request"
        | "rate_limit_event" => return Some(Format::Claude),
        _ => {}
    }
    let envelopes = ["message", "msg", "event", "data", "payload", "ev"].iter().map(|key| &value[key]);
    for inner in envelopes.filter(|inner| inner.is_object()) {
        match of_value_of(inner) {
            Some(Format::Claude) => return Some(Format::Sdk),
            Some(format) => return Some(format),
            None => {}
        }
    }
    let class = kind.is_empty() || kind.ends_with("Message");
    let classes = value["content"].is_array() && !has("role") && class || has("num_turns") && has("duration_ms");
    if classes {
        return Some(Format::Sdk);
    }
    events::is_event(value).then_some(Format::Events)
}

fn of_value_of(inner: &Value) -> Option<Format> {
    let kind = inner["type"].as_str()?;
    if inner["properties"].is_object() {
        return Some(Format::OpencodeEvents);
    }
    let message = inner["message"].is_object() || inner["subtype"].is_string();
    (message && matches!(kind, "user" | "assistant" | "system" | "result")).then_some(Format::Claude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_one_from_its_first_key() {
        let scenario = "# mine\ntitle = \"T\"\nmechanism = \"Q1\"\nagent = { opencode = {} }\n";
        assert!(is_scenario(scenario.as_bytes()));
        assert!(!is_scenario(format!("$ cat mine.toml\n{scenario}").as_bytes()));
        assert!(!is_scenario(b"title = a build\nmaking\n"));
    }

    #[test]
    fn a_banner_in_front_of_a_document_is_left_out() {
        let export = "Exporting session: ses_1\n{\n \"info\": {\"id\": \"ses_1\"},\n \"messages\": []\n}\n";
        assert_eq!(banner(export.as_bytes()), 25);
        for whole in
            ["{\n \"info\": {},\n \"messages\": []\n}\n", "making\n{\nmade\n", "npm warn\n{\"type\":\"system\"}\n", ""]
        {
            assert_eq!(banner(whole.as_bytes()), 0, "{whole}");
        }
        assert_eq!(packed(b"\x1f\x8b\x08"), Some("gzip -dc"));
        assert_eq!(packed(b"0.5\tx"), None);
    }

    #[test]
    fn what_is_no_text_is_no_log() {
        // a one-line generator: every byte is equally likely
        let mut seed = 7_u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        };
        let noise: Vec<u8> = (0..3_000).map(|_| next()).collect();
        assert_eq!(detect(&noise), None);
        assert_eq!(detect(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"), None);
        let latin = b"Gr\xfc\xdfe aus dem Bau: alles ist gebaut, und nun wartet es auf die Eingabe\n";
        let screen = "\u{1b}[2J\u{1b}[1;31mWaiting…\u{1b}[0m\r\n\u{7}done\r\n";
        for text in [latin, screen.as_bytes(), "0.5\tmaking\n".as_bytes()] {
            assert_eq!(detect(text), Some(Format::Plain), "{}", String::from_utf8_lossy(text));
        }
    }
}
