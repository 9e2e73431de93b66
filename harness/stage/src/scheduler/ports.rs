//! The ports of a cell, which differ from run to run, and their names in its trace.
//!
//! Invariant: a port that a server of the cell has named in a text is in no text of the trace, whichever way the text
//! comes: out of a stream, over the wire, or as a fact.

use memchr::memmem::Finder;
use rehang_trace::{Fact, Json, What};
use std::sync::LazyLock;

/// What comes before a port in a text.
const HOST: &str = "127.0.0.1:";
/// Finds it: all that enters a trace is searched for it.
static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(HOST));
/// The name of the agent's own port in a trace.
pub const AGENT: &str = "{agent}";
/// The name of the port of a server that the agent has started.
const NESTED: &str = "{nested}";

/// The port in the first text of a server.
pub fn port_in(text: &str) -> Option<u16> {
    const BEFORE: &str = "listening on http://";
    let at = FINDER.find_iter(text.as_bytes()).find(|at| text[..*at].ends_with(BEFORE))?;
    let rest = &text[at + HOST.len()..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn names_port(text: &str) -> bool {
    FINDER.find(text.as_bytes()).is_some()
}

/// The ports that servers have named so far.
#[derive(Debug, Default)]
pub struct Ports {
    names: Vec<(u16, &'static str)>,
}

impl Ports {
    /// Gives a port a name.
    pub fn name(&mut self, port: u16, name: &'static str) {
        if self.names.iter().all(|(known, _)| *known != port) {
            self.names.push((port, name));
        }
    }

    /// Puts names in place of ports. A process that says that it listens on another port is a nested server.
    pub fn hide(&mut self, what: &mut What) {
        match what {
            What::Out { text, .. } | What::In { text } | What::Says(text) => self.hide_in(text),
            What::Settled { cause, text, .. } | What::RunOver { cause, text, .. } => {
                self.hide_in(cause);
                self.hide_in(text);
            }
            What::Request { body, .. } | What::Response { body, .. } | What::Sse(body) => {
                if names_port(body.text()) {
                    let mut text = body.text().to_owned();
                    self.hide_in(&mut text);
                    *body = Json::of_text(&text);
                }
            }
            What::Report(policy) => policy.text.iter_mut().for_each(|text| self.hide_in(text)),
            What::Fact(fact) => match fact {
                Fact::ModelSaid { text, .. }
                | Fact::ToolEnded { text, .. }
                | Fact::Preempted { text, .. }
                | Fact::Result { text, .. } => self.hide_in(text),
                Fact::Policy { policy, .. } => policy.text.iter_mut().for_each(|text| self.hide_in(text)),
                Fact::Session { .. }
                | Fact::Busy { .. }
                | Fact::ModelAsked { .. }
                | Fact::ModelDone { .. }
                | Fact::ToolBegan { .. }
                | Fact::Asked { .. }
                | Fact::AskEnded { .. }
                | Fact::Acted { .. } => {}
            },
            What::Spawn { .. }
            | What::Exit(_)
            | What::Killed(_)
            | What::Stopped(_)
            | What::Continued
            | What::Adopted
            | What::Signal { .. }
            | What::OutEnd { .. }
            | What::InEnd
            | What::RequestFailed { .. }
            | What::SseEnd
            | What::Looked { .. }
            | What::Acts(_)
            | What::Fault(_)
            | What::Ended(_)
            | What::Left { .. } => {}
        }
    }

    fn hide_in(&mut self, text: &mut String) {
        if !names_port(text) {
            return;
        }
        if let Some(port) = port_in(text) {
            self.name(port, NESTED);
        }
        let mut parts = text.split(HOST);
        let mut shown = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let port = part[..digits].parse::<u16>().ok();
            let name = self.names.iter().find(|(known, _)| Some(*known) == port).map(|(_, name)| *name);
            shown.push_str(HOST);
            shown.push_str(name.unwrap_or(&part[..digits]));
            shown.push_str(&part[digits..]);
        }
        *text = shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn ports_that_were_named_are_hidden_wherever_they_come() {
        let mut ports = Ports::default();
        ports.name(4096, AGENT);
        let mut shown = |mut what| {
            ports.hide(&mut what);
            serde_json::to_string(&what).unwrap()
        };
        let out = "see http://127.0.0.1:4096/x, http://127.0.0.1:40961 and 127.0.0.1:80";
        expect![[
            r#"{"out":{"fd":1,"text":"see http://127.0.0.1:{agent}/x, http://127.0.0.1:40961 and 127.0.0.1:80"}}"#
        ]]
        .assert_eq(&shown(What::Out { fd: 1, text: out.to_owned() }));
        let event = json!({"output": "opencode server listening on http://127.0.0.1:37981\n"});
        expect![[r#"{"sse":{"output":"opencode server listening on http://127.0.0.1:{nested}\n"}}"#]]
            .assert_eq(&shown(What::Sse(event.into())));
        let ended = Fact::ToolEnded { call: "call_1".to_owned(), error: false, text: "on 127.0.0.1:37981".to_owned() };
        expect![[r#"{"fact":{"tool-ended":{"call":"call_1","error":false,"text":"on 127.0.0.1:{nested}"}}}"#]]
            .assert_eq(&shown(What::Fact(ended)));
    }
}
