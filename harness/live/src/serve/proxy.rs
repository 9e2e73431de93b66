//! The wire between a server and its clients, with the scenario's faults on it.
//!
//! Invariant: what no fault names passes as it came. The server never notices a fault: what a client does not get has
//! been taken from the server all the same.

use super::http;
use rehang_scenario::{EventDoes, Fault, GetFault, PostDoes, Span};
use rehang_wire::http as wire;
use rehang_wire::http::{Piece, Request, RequestReader, ResponseReader};
use rehang_wire::sse::{self, Decoder, Item};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

/// As much as is read at once.
const READ_BYTES: usize = 16 * 1024;

/// The faults, and how often each kind of thing has passed.
#[derive(Debug)]
struct Faults {
    all: Vec<Fault>,
    prompts: u32,
    calls: BTreeMap<usize, u32>,
    events: BTreeMap<String, u32>,
}

/// Passes connections on until it is dropped.
///
/// `port` is the server's, 0 until it listens.
pub async fn serve(listener: TcpListener, port: watch::Receiver<u16>, faults: Vec<Fault>) {
    let all = Faults { all: faults, prompts: 0, calls: BTreeMap::new(), events: BTreeMap::new() };
    let faults = Rc::new(RefCell::new(all));
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(pass(stream, *port.borrow(), faults.clone()));
    }
}

/// One connection: one request, one response.
async fn pass(mut client: TcpStream, port: u16, faults: Rc<RefCell<Faults>>) -> Option<()> {
    let mut reader = RequestReader::new();
    let mut buffer = vec![0; READ_BYTES];
    let request = loop {
        if let Some(request) = reader.next_message().ok()? {
            break request;
        }
        match client.read(&mut buffer).await.ok()? {
            0 => return None,
            n => reader.feed(&buffer[..n]),
        }
    };
    let fate = faults.borrow_mut().of(&request);
    match fate {
        Fate::Passes => {}
        Fate::Closed => return None,
        Fate::Status(status) => {
            let body = br#"{"name":"UnknownError","data":{"message":"scripted error"}}"#;
            let headers = [("content-type", "application/json"), ("connection", "close")];
            client.write_all(&wire::response(status, &headers, body)).await.ok()?;
            return client.shutdown().await.ok();
        }
        Fate::Ignored => {
            let target = wire::Target::parse(&request.head.target);
            if target.path().last() == Some(&"prompt_async") {
                client.write_all(&wire::response(204, &[("connection", "close")], b"")).await.ok()?;
                return client.shutdown().await.ok();
            }
            return std::future::pending().await;
        }
        Fate::NeverCloses => {
            let (method, target) = (request.head.method.clone(), request.head.target.clone());
            let _ = http::call(port, &method, &target, Some(&request.body)).await;
            return std::future::pending().await;
        }
        Fate::Cut(span) => {
            let (method, target) = (request.head.method.clone(), request.head.target.clone());
            tokio::task::spawn_local(async move {
                let _ = http::call(port, &method, &target, Some(&request.body)).await;
            });
            tokio::time::sleep(duration(span)).await;
            return None;
        }
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    server.write_all(&again(&request, port)).await.ok()?;
    respond(&mut client, &mut server, &faults).await
}

/// The request once more, for the server.
fn again(request: &Request, port: u16) -> Vec<u8> {
    let host = format!("127.0.0.1:{port}");
    let dropped = ["host", "connection", "content-length", "transfer-encoding", "expect"];
    let kept = request.head.headers.0.iter().filter(|(name, _)| !dropped.contains(&name.to_ascii_lowercase().as_str()));
    let mut headers: Vec<(&str, &str)> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("connection", "close"));
    wire::request(&request.head.method, &request.head.target, &host, &headers, &request.body)
}

/// The response: piece by piece as it comes, events one by one.
async fn respond(client: &mut TcpStream, server: &mut TcpStream, faults: &Rc<RefCell<Faults>>) -> Option<()> {
    let mut reader = ResponseReader::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut events: Option<Stream> = None;
    let mut chunked = false;
    let mut over = false;
    loop {
        while let Some(piece) = reader.next_piece().ok()? {
            match piece {
                Piece::Head(head) => {
                    let dropped = ["connection", "content-length", "transfer-encoding", "keep-alive"];
                    let kept = head.headers.0.iter();
                    let kept = kept.filter(|(name, _)| !dropped.contains(&name.to_ascii_lowercase().as_str()));
                    let mut headers: Vec<(&str, &str)> = kept.map(|(n, v)| (n.as_str(), v.as_str())).collect();
                    headers.push(("connection", "close"));
                    chunked = !matches!(head.status, 100..=199 | 204 | 304);
                    let out = match chunked {
                        true => wire::streaming_head(head.status, &headers),
                        false => wire::response(head.status, &headers, b""),
                    };
                    client.write_all(&out).await.ok()?;
                    if head.is_event_stream() {
                        events = Some(Stream::default());
                    }
                }
                Piece::Body(bytes) => match &mut events {
                    None => client.write_all(&wire::chunk(&bytes)).await.ok()?,
                    Some(stream) => {
                        for out in stream.take(&bytes, &mut faults.borrow_mut()) {
                            stream.out.push_back(out);
                        }
                    }
                },
                Piece::End => {
                    if chunked {
                        client.write_all(wire::LAST_CHUNK).await.ok()?;
                    }
                    return client.shutdown().await.ok();
                }
            }
        }
        let due = match &mut events {
            Some(stream) => {
                while let Some(out) = stream.due() {
                    client.write_all(&wire::chunk(&out)).await.ok()?;
                }
                if stream.cut {
                    return client.shutdown().await.ok();
                }
                stream.late.front().map(|(at, _)| *at)
            }
            None => None,
        };
        let later = async {
            match due {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = server.read(&mut buffer) => match read.ok()? {
                0 if over => return None,
                0 => {
                    over = true;
                    reader.finish();
                }
                n => reader.feed(&buffer[..n]),
            },
            () = later => {}
        }
    }
}

/// A stream of events on its way.
#[derive(Debug, Default)]
struct Stream {
    decoder: Decoder,
    out: VecDeque<Vec<u8>>,
    /// Those that come late, by their time.
    late: VecDeque<(Instant, Vec<u8>)>,
    /// One that waits for the next to go first.
    behind: Option<Vec<u8>>,
    muted: bool,
    cut: bool,
}

impl Stream {
    fn take(&mut self, bytes: &[u8], faults: &mut Faults) -> Vec<Vec<u8>> {
        self.decoder.feed(bytes);
        let mut out = Vec::new();
        while let Ok(Some(item)) = self.decoder.next_item() {
            if self.cut || self.muted {
                continue;
            }
            let event = match item {
                Item::Comment(text) => {
                    out.push(sse::comment(&text));
                    continue;
                }
                Item::Event(event) => event,
            };
            let bytes = sse::event(&event);
            match faults.of_event(&event.data) {
                None => {
                    out.push(bytes);
                    out.extend(self.behind.take());
                }
                Some(EventDoes::Drop) => {}
                Some(EventDoes::Duplicate) => out.extend([bytes.clone(), bytes]),
                Some(EventDoes::Reorder) => self.behind = Some(bytes),
                Some(EventDoes::Delay(span)) => {
                    self.late.push_back((Instant::now() + duration(span), bytes));
                    self.late.make_contiguous().sort_by_key(|(at, _)| *at);
                }
                Some(EventDoes::Cut(_)) => self.cut = true,
                Some(EventDoes::Mute) => self.muted = true,
            }
        }
        out
    }

    /// What is to be sent now.
    fn due(&mut self) -> Option<Vec<u8>> {
        if let Some(out) = self.out.pop_front() {
            return Some(out);
        }
        let now = Instant::now();
        self.late.front().filter(|(at, _)| *at <= now)?;
        self.late.pop_front().map(|(_, out)| out)
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Closed,
    Status(u16),
    NeverCloses,
    Cut(Span),
    Ignored,
}

impl Faults {
    fn of(&mut self, request: &Request) -> Fate {
        let target = wire::Target::parse(&request.head.target);
        let path = format!("/{}", target.path().join("/"));
        let last = target.path().last().copied().unwrap_or_default().to_owned();
        if request.head.method == "POST" && matches!(last.as_str(), "message" | "prompt_async") {
            self.prompts += 1;
            let prompts = self.prompts;
            let fault = self.all.iter().find_map(|fault| match fault {
                Fault::Post(fault) if fault.nth == prompts => Some(fault.does),
                _ => None,
            });
            return match fault {
                None => Fate::Passes,
                Some(PostDoes::Status(status)) => Fate::Status(status),
                Some(PostDoes::NeverCloses) => Fate::NeverCloses,
                Some(PostDoes::Cut(span)) => Fate::Cut(span),
                Some(PostDoes::Ignored) => Fate::Ignored,
            };
        }
        for (at, fault) in self.all.iter().enumerate() {
            let Fault::Get(GetFault { path: pattern, times, status }) = fault else { continue };
            let fits = pattern.strip_suffix('*').map_or(path == *pattern, |begin| path.starts_with(begin));
            if !fits {
                continue;
            }
            let so_often = self.calls.entry(at).or_insert(0);
            *so_often += 1;
            if *times == 0 || *so_often <= *times {
                return if *status == 0 { Fate::Closed } else { Fate::Status(*status) };
            }
        }
        Fate::Passes
    }

    fn of_event(&mut self, data: &str) -> Option<EventDoes> {
        let value: Value = serde_json::from_str(data).ok()?;
        let kind = value["type"].as_str().or_else(|| value["payload"]["type"].as_str())?.to_owned();
        let nth = self.events.entry(kind.clone()).or_insert(0);
        *nth += 1;
        let nth = *nth;
        self.all.iter().find_map(|fault| match fault {
            Fault::Event(fault) if fault.kind == kind && (fault.nth == 0 || fault.nth == nth) => Some(fault.does),
            _ => None,
        })
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_ms())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(does: &str, events: &[&str]) -> (Vec<String>, Stream) {
        let fault = serde_json::from_str(&format!(r#"{{"event":{{"type":"b","does":{does}}}}}"#)).unwrap();
        let mut faults = Faults { all: vec![fault], prompts: 0, calls: BTreeMap::new(), events: BTreeMap::new() };
        let mut stream = Stream::default();
        let bytes: Vec<u8> = events.iter().flat_map(|kind| sse::data(&format!(r#"{{"type":"{kind}"}}"#))).collect();
        // however the bytes are cut
        let mut out: Vec<u8> = Vec::new();
        for piece in bytes.chunks(3) {
            out.extend(stream.take(piece, &mut faults).concat());
        }
        let text = String::from_utf8(out).unwrap();
        (text.lines().filter_map(|line| line.strip_prefix("data: ")).map(|d| d[9..10].to_owned()).collect(), stream)
    }

    #[test]
    fn a_fault_touches_the_event_that_it_names() {
        let kinds = |does| through(does, &["a", "b", "c", "b"]).0.join("");
        assert_eq!(kinds(r#""drop""#), "acb");
        assert_eq!(kinds(r#""duplicate""#), "abbcb");
        assert_eq!(kinds(r#""reorder""#), "acbb");
        assert_eq!(kinds(r#""mute""#), "a");
        assert_eq!(kinds(r#"{"cut":"3s"}"#), "a");
        let (now, stream) = through(r#"{"delay":"3s"}"#, &["a", "b", "c"]);
        assert_eq!((now.join("").as_str(), stream.late.len()), ("ac", 1));
    }
}
