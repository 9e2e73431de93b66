//! Paths and queries.
//!
//! Invariant: decoding never fails; an invalid escape is kept as it is, and invalid UTF-8 is replaced.

/// A request's target, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The decoded segments of the path: `/session/a%2Fb/message` has three.
    pub segments: Vec<String>,
    /// The decoded query, in order.
    pub query: Vec<(String, String)>,
}

impl Target {
    /// Takes a target apart, also one in absolute form (`http://host/path`).
    pub fn parse(target: &str) -> Target {
        let target = match target.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find('/').map_or("/", |at| &rest[at..]),
            _ => target,
        };
        let target = target.split('#').next().unwrap_or("");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments = path.split('/').filter(|s| !s.is_empty()).map(percent_decode).collect();
        let field = |text: &str| match text.contains('+') {
            true => percent_decode(&text.replace('+', " ")),
            false => percent_decode(text),
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (field(name), field(value))
        });
        Target { segments, query: query.collect() }
    }

    /// The segments as a slice of texts, to match on: `["session", id, "message"]`.
    pub fn path(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// The first value of this name in the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Decodes percent escapes: `%41` to `A`.
pub fn percent_decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        out.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Encodes a text for one segment of a path or one value of a query.
pub fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|n| u8::try_from(n).ok())
}
