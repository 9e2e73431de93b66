//! The listeners of one server's event stream: the server has one stream, and each listener gets its part of it.
//!
//! Invariant: an event that no fault names reaches every listener unchanged. An event is counted once, however many
//! listen, and each listener begins with the server's first event.

use crate::faults::{EventFaults, Passed, Published};
use rehang_scenario::{Fault, VTime};
use rehang_wire::sse::{self, Decoder, Event, Item};
use serde_json::Value;

/// The listeners of one server.
#[derive(Debug)]
pub struct EventHub {
    decoder: Decoder,
    faults: EventFaults<Heard>,
    /// The first event of the server's stream, `server.connected`.
    hello: Option<Vec<u8>>,
    listeners: Vec<Listener>,
    last_id: u32,
}

#[derive(Debug)]
struct Listener {
    id: u32,
    greeted: bool,
    muted: bool,
}

/// What is sent to a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// These bytes, to the listener of this number.
    Bytes(u32, Vec<u8>),
    /// The end of its stream; it is not a listener any more.
    End(u32),
}

/// An event as it came, and what faults need to know of it.
#[derive(Debug, Clone, Hash)]
struct Heard {
    kind: String,
    busy: Option<bool>,
    bytes: Vec<u8>,
}

impl Published for Heard {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn busy(&self) -> Option<bool> {
        self.busy
    }
}

impl Heard {
    fn new(event: &Event) -> Heard {
        let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default().to_owned();
        let status = value["properties"]["status"]["type"].as_str();
        let busy = status.filter(|_| kind == "session.status").map(|word| word == "busy");
        Heard { kind, busy, bytes: sse::event(event) }
    }
}

impl EventHub {
    /// A hub without listeners, with these faults on the wire.
    pub fn new(faults: &[Fault]) -> EventHub {
        let faults = EventFaults::new(faults);
        EventHub { decoder: Decoder::new(), faults, hello: None, listeners: Vec::new(), last_id: 0 }
    }

    /// Adds a listener; returns its number.
    pub fn listen(&mut self, out: &mut Vec<Sent>) -> u32 {
        self.last_id += 1;
        let id = self.last_id;
        out.extend(self.hello.clone().map(|hello| Sent::Bytes(id, hello)));
        self.listeners.push(Listener { id, greeted: self.hello.is_some(), muted: false });
        id
    }

    /// Removes a listener that went away.
    pub fn leave(&mut self, id: u32) {
        self.listeners.retain(|listener| listener.id != id);
    }

    /// Takes bytes of the server's stream.
    pub fn feed(&mut self, now: VTime, bytes: &[u8], out: &mut Vec<Sent>) {
        self.decoder.feed(bytes);
        while let Ok(Some(item)) = self.decoder.next_item() {
            match item {
                Item::Comment(text) => self.send(&sse::comment(&text), out),
                Item::Event(event) => self.take(now, Heard::new(&event), out),
            }
        }
    }

    fn take(&mut self, now: VTime, event: Heard, out: &mut Vec<Sent>) {
        match event.kind.as_str() {
            "server.connected" => {
                for listener in self.listeners.iter_mut().filter(|listener| !listener.greeted) {
                    listener.greeted = true;
                    out.push(Sent::Bytes(listener.id, event.bytes.clone()));
                }
                self.hello = Some(event.bytes);
            }
            "server.heartbeat" => self.send(&event.bytes, out),
            _ => {
                for passed in self.faults.pass(now, event) {
                    match passed {
                        Passed::Event(event) => self.send(&event.bytes, out),
                        Passed::Cut => self.cut(out),
                        Passed::Mute => self.listeners.iter_mut().for_each(|listener| listener.muted = true),
                    }
                }
            }
        }
    }

    /// When a delayed event is due.
    pub fn deadline(&self) -> Option<VTime> {
        self.faults.deadline()
    }

    /// Sends the events that are due at this time.
    pub fn due(&mut self, now: VTime, out: &mut Vec<Sent>) {
        for event in self.faults.due(now) {
            self.send(&event.bytes, out);
        }
    }

    /// The server's stream ended, and so do all of its listeners'.
    pub fn end(&mut self, out: &mut Vec<Sent>) {
        (self.decoder, self.hello) = (Decoder::new(), None);
        self.cut(out);
    }

    fn cut(&mut self, out: &mut Vec<Sent>) {
        out.extend(self.listeners.drain(..).map(|listener| Sent::End(listener.id)));
    }

    fn send(&self, bytes: &[u8], out: &mut Vec<Sent>) {
        let listening = self.listeners.iter().filter(|listener| listener.greeted && !listener.muted);
        out.extend(listening.map(|listener| Sent::Bytes(listener.id, bytes.to_vec())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of the events that two listeners get, `|` at the end of a stream; the second listener comes after the
    /// first event.
    fn through(does: &str, kinds: &[&str]) -> [String; 2] {
        let fault = serde_json::from_str(&format!(r#"{{"event":{{"type":"b","does":{does}}}}}"#)).unwrap();
        let mut hub = EventHub::new(&[fault]);
        let mut sent = Vec::new();
        let first = hub.listen(&mut sent);
        hub.feed(VTime(0), &sse::data(r#"{"type":"server.connected"}"#), &mut sent);
        let second = hub.listen(&mut sent);
        let bytes: Vec<u8> = kinds.iter().flat_map(|kind| sse::data(&format!(r#"{{"type":"{kind}"}}"#))).collect();
        // at whatever places the bytes are cut
        for piece in bytes.chunks(3) {
            hub.feed(VTime(1), piece, &mut sent);
        }
        hub.due(VTime(3_000), &mut sent);
        hub.due(VTime(3_001), &mut sent);
        let of = |id: u32| {
            let word = |sent: &Sent| match sent {
                Sent::Bytes(to, bytes) if *to == id => {
                    let text = String::from_utf8(bytes.clone()).unwrap();
                    let kind = text.split('"').nth(3).unwrap_or_default().to_owned();
                    Some(if kind == "server.connected" { "+".to_owned() } else { kind })
                }
                Sent::End(to) if *to == id => Some("|".to_owned()),
                _ => None,
            };
            sent.iter().filter_map(word).collect::<String>()
        };
        [of(first), of(second)]
    }

    #[test]
    fn a_fault_touches_the_event_that_it_names_for_all_who_listen() {
        for (does, expected) in [
            (r#""drop""#, "+acb"),
            (r#""duplicate""#, "+abbcb"),
            (r#""reorder""#, "+acbb"),
            (r#""mute""#, "+a"),
            (r#"{"cut":"3s"}"#, "+a|"),
            (r#"{"delay":"3s"}"#, "+acbb"),
        ] {
            assert_eq!(through(does, &["a", "b", "c", "b"]), [expected, expected], "{does}");
        }
    }

    #[test]
    fn who_comes_after_a_cut_hears_what_comes_then() {
        let cut = r#"{"event":{"type":"b","does":{"cut":"3s"}}}"#;
        let mut hub = EventHub::new(&[serde_json::from_str(cut).unwrap()]);
        let mut sent = Vec::new();
        hub.listen(&mut sent);
        for kind in ["server.connected", "b"] {
            hub.feed(VTime(0), &sse::data(&format!(r#"{{"type":"{kind}"}}"#)), &mut sent);
        }
        assert_eq!(sent.last(), Some(&Sent::End(1)));
        sent.clear();
        assert_eq!(hub.listen(&mut sent), 2);
        hub.feed(VTime(0), &sse::data(r#"{"type":"c"}"#), &mut sent);
        assert_eq!(sent.len(), 2, "the first word, and the event: {sent:?}");
    }
}
