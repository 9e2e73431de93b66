//! The sockets: connections come in, the router says what is answered, hyper speaks HTTP.
//!
//! Invariant: all that belongs to a server ends with the future of [`serve`].

use crate::body::{Payload, Player, all, now};
use crate::event::{Ended, Event, Happened, State};
use crate::io::{Connection, Reset};
use crate::router::{Answer, Play, Router, Taken};
use crate::script::Script;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rehang_wire::model::error_body;
use rehang_wire::model::script::Item;
use serde_json::Value;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Serves a script until it is dropped. `events` gets each thing that happens; it may be closed.
///
/// # Errors
/// The listener fails.
pub async fn serve(listener: TcpListener, script: Script, events: UnboundedSender<Event>) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(script.limits.connections));
    let body_bytes = script.limits.body_bytes;
    let router = Mutex::new(Router::new(script));
    let server = Arc::new(Server { router, body_bytes, log: Log { events, began: Instant::now() } });
    let mut connections = JoinSet::new();
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        let reset = Reset::default();
        let server = server.clone();
        connections.spawn(async move {
            let _place = place;
            let io = TokioIo::new(Connection { stream, reset: reset.clone() });
            let service = service_fn(|request| server.clone().answer(request, reset.clone()));
            // A connection that breaks is up to the agent; what was exchanged on it has been reported.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

struct Server {
    router: Mutex<Router>,
    body_bytes: usize,
    log: Log,
}

#[derive(Clone)]
struct Log {
    events: UnboundedSender<Event>,
    began: Instant,
}

/// Reports what a response does; a response that did not end was left by its client.
pub(crate) struct Teller {
    log: Log,
    n: u32,
    last: Option<State>,
}

impl Teller {
    /// Reports a state; the same state is not reported twice, except signs of life.
    pub fn tell(&mut self, state: State) {
        if self.last != Some(state) || state == State::KeepAlive {
            self.last = Some(state);
            self.log.tell(Happened::Stream { n: self.n, state });
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        if !matches!(self.last, Some(State::Ended(_))) {
            self.tell(State::Ended(Ended::ClientGone));
        }
    }
}

impl Log {
    fn tell(&self, happened: Happened) {
        // The receiver is gone: the cell is over.
        let _ = self.events.send(Event { at_ms: now(self.began).0, happened });
    }
}

impl Server {
    async fn answer(self: Arc<Server>, request: Request<Incoming>, reset: Reset) -> io::Result<Response<Payload>> {
        let (head, body) = request.into_parts();
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let body = Limited::new(body, self.body_bytes).collect().await;
        let Taken { n, answer, .. } = {
            let mut router = self.router.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = match body {
                Ok(body) => router.take(head.method.as_str(), target, &body.to_bytes(), now(self.log.began)),
                Err(error) if error.is::<http_body_util::LengthLimitError>() => router.too_long(),
                Err(error) => return Err(io::Error::other(error)),
            };
            taken.happened.iter().for_each(|happened| self.log.tell(happened.clone()));
            taken
        };
        match answer {
            Answer::Json(status, body) => Ok(json(status, &body)),
            Answer::Play(play) => self.play(n, play, reset).await,
        }
    }

    async fn play(&self, n: u32, mut play: Play, reset: Reset) -> io::Result<Response<Payload>> {
        let mut teller = Teller { log: self.log.clone(), n, last: None };
        let began = self.log.began;
        let first = play.stream.poll(now(began));
        if let Some(Item::Status(status)) = first.first() {
            teller.tell(State::Ended(Ended::Status(*status)));
            let mut response = json(*status, &error_body(play.api, *status, "scripted error"));
            if let Some(after) = play.stream.retry_after() {
                let seconds = HeaderValue::from(after.as_ms().div_ceil(1000));
                response.headers_mut().insert(RETRY_AFTER, seconds);
            }
            return Ok(response);
        }
        if play.streamed {
            let body = Payload::Played(Box::new(Player::new(play, first, teller, reset, began)));
            return Ok(response(200, "text/event-stream", body));
        }
        match all(play, first, teller, began).await {
            Ok(body) => Ok(response(200, "application/json", Payload::Whole(Some(body)))),
            Err(error) => {
                reset.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

fn json(status: u16, body: &Value) -> Response<Payload> {
    response(status, "application/json", Payload::Whole(Some(Bytes::from(body.to_string()))))
}

fn response(status: u16, kind: &'static str, body: Payload) -> Response<Payload> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
