//! A response's body as it comes over the wire, chunk by chunk and fault by fault.
//!
//! Invariant: a chunk is reported when it is handed on; what the stream's script has at an instant is sent at that
//! instant, and nothing else wakes the body.

use crate::event::{Ended, State};
use crate::io::Reset;
use crate::router::Play;
use crate::server::Teller;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use rehang_scenario::VTime;
use rehang_wire::model::script::{Item, Stream};
use rehang_wire::model::{Encoder, ModelEvent, whole};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of a response.
pub(crate) enum Payload {
    /// All of it.
    Whole(Option<Bytes>),
    /// Chunk by chunk.
    Played(Box<Player>),
}

/// Plays a stream.
pub(crate) struct Player {
    stream: Stream,
    encoder: Encoder,
    ready: VecDeque<Item>,
    teller: Teller,
    reset: Reset,
    /// The instant of virtual time 0.
    began: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
    chunks: u32,
    flushed: bool,
    over: bool,
}

impl Player {
    /// Plays the stream of `play`; `first` are the items that have come already.
    pub fn new(play: Play, first: Vec<Item>, teller: Teller, reset: Reset, began: Instant) -> Player {
        let encoder = Encoder::new(play.api, &play.id, &play.model);
        Player {
            stream: play.stream,
            encoder,
            ready: first.into(),
            teller,
            reset,
            began,
            sleep: None,
            chunks: 0,
            flushed: false,
            over: false,
        }
    }

    fn item(&mut self, item: Item, cx: &mut Context<'_>) -> Option<Poll<Option<io::Result<Frame<Bytes>>>>> {
        let bytes = match item {
            Item::Event(event) => {
                match event {
                    ModelEvent::Start => self.teller.tell(State::Began),
                    _ => {
                        self.chunks += 1;
                        self.teller.tell(State::Chunk(self.chunks));
                    }
                }
                self.encoder.event(&event)
            }
            Item::KeepAlive => {
                self.teller.tell(State::KeepAlive);
                self.encoder.event(&ModelEvent::KeepAlive)
            }
            Item::Compacting(_) => Vec::new(),
            Item::Ended { clean } => {
                self.over = true;
                self.teller.tell(State::Ended(if clean { Ended::Whole } else { Ended::Cut }));
                if clean { self.encoder.end() } else { Vec::new() }
            }
            // A status comes first or not at all: the head has sent it.
            Item::Status(_) => Vec::new(),
            Item::Reset if !self.flushed => {
                // hyper drops what it has not written when a body fails; it writes when a body has nothing yet.
                self.flushed = true;
                self.ready.push_front(Item::Reset);
                cx.waker().wake_by_ref();
                return Some(Poll::Pending);
            }
            Item::Reset => {
                self.over = true;
                self.reset.store(true, Ordering::Relaxed);
                self.teller.tell(State::Ended(Ended::Reset));
                return Some(Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))));
            }
        };
        (!bytes.is_empty()).then(|| Poll::Ready(Some(Ok(Frame::data(bytes.into())))))
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let player = match self.get_mut() {
            Payload::Whole(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Payload::Played(player) => player,
        };
        loop {
            while let Some(item) = player.ready.pop_front() {
                if let Some(poll) = player.item(item, cx) {
                    return poll;
                }
            }
            if player.over {
                return Poll::Ready(None);
            }
            player.ready.extend(player.stream.poll(now(player.began)));
            if !player.ready.is_empty() {
                continue;
            }
            let Some(at) = player.stream.deadline() else {
                player.teller.tell(State::Stalled);
                return Poll::Pending;
            };
            let at = player.began + Duration::from_millis(at.0);
            let mut sleep = Box::pin(sleep_until(at));
            let woke = sleep.as_mut().poll(cx);
            player.sleep = Some(sleep);
            if woke.is_pending() {
                return Poll::Pending;
            }
        }
    }
}

/// The whole response, for a request that wants no stream; an error if the connection must be reset.
pub(crate) async fn all(mut play: Play, first: Vec<Item>, mut teller: Teller, began: Instant) -> io::Result<Bytes> {
    let mut events = Vec::new();
    let mut items = first;
    loop {
        for item in items {
            match item {
                Item::Event(event) => events.push(event),
                Item::KeepAlive | Item::Compacting(_) | Item::Status(_) => {}
                Item::Ended { clean } => {
                    teller.tell(State::Ended(if clean { Ended::Whole } else { Ended::Cut }));
                    return Ok(whole(play.api, &play.id, &play.model, &events).to_string().into());
                }
                Item::Reset => {
                    teller.tell(State::Ended(Ended::Reset));
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
            }
        }
        match play.stream.deadline() {
            Some(at) => sleep_until(began + Duration::from_millis(at.0)).await,
            None => {
                teller.tell(State::Stalled);
                std::future::pending::<()>().await;
            }
        }
        items = play.stream.poll(now(began));
    }
}

/// The current instant in the script's time.
pub(crate) fn now(began: Instant) -> VTime {
    VTime(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
}
