//! The wire between a server and its clients, with the scenario's faults on it (`rehang_actors`).
//!
//! Invariant: what no fault names passes unchanged. The server never notices a fault: what a client does not get has
//! still been taken from the server. All listeners to events share one stream of the server's, so that an event is
//! counted once.

use super::http::{self, READ_BYTES};
use rehang_actors::faults::RequestFaults;
use rehang_actors::hub::{EventHub, Sent};
use rehang_scenario::{Fault, PostDoes, Span, VTime};
use rehang_wire::http as wire;
use rehang_wire::http::{Piece, Request, RequestReader, ResponseReader};
use rehang_wire::opencode::{EVENTS, Route};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// What all connections share.
struct Proxy {
    requests: RefCell<RequestFaults>,
    hub: RefCell<EventHub>,
    /// Where each listener's events go.
    listeners: RefCell<BTreeMap<u32, mpsc::UnboundedSender<Vec<u8>>>>,
    /// The server's stream is followed.
    follows: RefCell<bool>,
    start: Instant,
}

/// Passes connections on until it is dropped.
///
/// `port` is the server's, 0 until it listens.
pub async fn serve(listener: TcpListener, port: watch::Receiver<u16>, faults: Vec<Fault>) {
    let proxy = Rc::new(Proxy {
        requests: RefCell::new(RequestFaults::new(&faults)),
        hub: RefCell::new(EventHub::new(&faults)),
        listeners: RefCell::default(),
        follows: RefCell::default(),
        start: Instant::now(),
    });
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(proxy.clone().pass(stream, *port.borrow()));
    }
}

impl Proxy {
    /// One connection: one request, one response. `None` if it ended early.
    async fn pass(self: Rc<Proxy>, mut client: TcpStream, port: u16) -> Option<()> {
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
        let target = &request.head.parts;
        let route = Route::parse(&request.head.method, target);
        if route == Some(EVENTS) {
            return self.listen(client, port).await;
        }
        let Some(Route::Prompt { waits, .. }) = route else {
            let status = self.requests.borrow_mut().other(|| format!("/{}", target.path().join("/")));
            return match status {
                None => forward(&mut client, port, &request).await,
                Some(0) => None,
                Some(status) => refuse(&mut client, status).await,
            };
        };
        let fault = self.requests.borrow_mut().prompt();
        match fault {
            None => forward(&mut client, port, &request).await,
            Some(PostDoes::Status(status)) => refuse(&mut client, status).await,
            Some(PostDoes::Ignored) if !waits => {
                client.write_all(&wire::response(204, &[("connection", "close")], b"")).await.ok()?;
                client.shutdown().await.ok()
            }
            Some(PostDoes::Ignored) => std::future::pending().await,
            Some(PostDoes::NeverCloses) => {
                let _ = again(port, &request).await;
                std::future::pending().await
            }
            Some(PostDoes::Cut(span)) => {
                tokio::task::spawn_local(async move { again(port, &request).await });
                tokio::time::sleep(duration(span)).await;
                None
            }
        }
    }

    /// Serves a client that listens to the events.
    async fn listen(self: Rc<Proxy>, mut client: TcpStream, port: u16) -> Option<()> {
        let (to, mut events) = mpsc::unbounded_channel();
        let mut sent = Vec::new();
        let id = self.hub.borrow_mut().listen(&mut sent);
        self.listeners.borrow_mut().insert(id, to);
        self.send(sent);
        if !self.follows.replace(true) {
            tokio::task::spawn_local(self.clone().follow(port));
        }
        let mut buffer = [0; 64];
        let mut begun = false;
        loop {
            tokio::select! {
                event = events.recv() => {
                    // the head waits for the first word: a server that refuses the stream has none
                    let Some(event) = event else { return client.shutdown().await.ok() };
                    let mut out = Vec::new();
                    if !std::mem::replace(&mut begun, true) {
                        let headers = [("content-type", "text/event-stream"), ("connection", "close")];
                        out = wire::streaming_head(200, &headers);
                    }
                    out.extend(wire::chunk(&event));
                    if client.write_all(&out).await.is_err() {
                        break;
                    }
                }
                read = client.read(&mut buffer) => match read {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => break,
                },
            }
        }
        self.hub.borrow_mut().leave(id);
        self.listeners.borrow_mut().remove(&id);
        None
    }

    /// Follows the server's stream for all who listen, until it ends.
    async fn follow(self: Rc<Proxy>, port: u16) {
        let _ = self.read_events(port).await;
        let mut sent = Vec::new();
        self.hub.borrow_mut().end(&mut sent);
        self.send(sent);
        self.follows.replace(false);
    }

    async fn read_events(&self, port: u16) -> Option<()> {
        let headers = [("connection", "close"), ("accept", "text/event-stream")];
        let mut server = http::open(port, "GET", &EVENTS.to_string(), &headers, b"").await.ok()?;
        let mut reader = ResponseReader::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let mut sent = Vec::new();
            while let Some(piece) = reader.next_piece().ok()? {
                match piece {
                    Piece::Head(head) if !head.is_event_stream() => return None,
                    Piece::Head(_) => {}
                    Piece::Body(bytes) => self.hub.borrow_mut().feed(self.now(), &bytes, &mut sent),
                    Piece::End => return None,
                }
            }
            self.hub.borrow_mut().due(self.now(), &mut sent);
            self.send(sent);
            let deadline = self.hub.borrow().deadline();
            let late = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(self.start + Duration::from_millis(at.0)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = server.read(&mut buffer) => match read.ok()? {
                    0 => return None,
                    n => reader.feed(&buffer[..n]),
                },
                () = late => {}
            }
        }
    }

    fn send(&self, sent: Vec<Sent>) {
        let mut listeners = self.listeners.borrow_mut();
        for sent in sent {
            match sent {
                Sent::Bytes(to, bytes) => {
                    // a listener that has gone away is removed by its own connection
                    let _ = listeners.get(&to).map(|listener| listener.send(bytes));
                }
                Sent::End(to) => drop(listeners.remove(&to)),
            }
        }
    }

    fn now(&self) -> VTime {
        VTime(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Sends the request to the server; the client does not wait for the response.
async fn again(port: u16, request: &Request) -> Result<(u16, String), http::CallError> {
    http::call(port, &request.head.method, &request.head.target, &request.body).await
}

async fn refuse(client: &mut TcpStream, status: u16) -> Option<()> {
    let body = br#"{"name":"UnknownError","data":{"message":"scripted error"}}"#;
    let headers = [("content-type", "application/json"), ("connection", "close")];
    client.write_all(&wire::response(status, &headers, body)).await.ok()?;
    client.shutdown().await.ok()
}

/// The request goes to the server, and the response comes back piece by piece, as it comes.
async fn forward(client: &mut TcpStream, port: u16, request: &Request) -> Option<()> {
    let dropped = ["host", "connection", "content-length", "transfer-encoding", "expect"];
    let kept = request.head.headers.0.iter().filter(|(name, _)| !dropped.contains(&name.to_ascii_lowercase().as_str()));
    let mut headers: Vec<(&str, &str)> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("connection", "close"));
    let mut server =
        http::open(port, &request.head.method, &request.head.target, &headers, &request.body).await.ok()?;
    let mut reader = ResponseReader::new();
    let mut buffer = vec![0; READ_BYTES];
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
                }
                Piece::Body(bytes) => client.write_all(&wire::chunk(&bytes)).await.ok()?,
                Piece::End => {
                    if chunked {
                        client.write_all(wire::LAST_CHUNK).await.ok()?;
                    }
                    return client.shutdown().await.ok();
                }
            }
        }
        match server.read(&mut buffer).await.ok()? {
            0 if over => return None,
            0 => {
                over = true;
                reader.finish();
            }
            n => reader.feed(&buffer[..n]),
        }
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_ms())
}
