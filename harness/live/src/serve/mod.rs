//! A server's client, the people at other clients of it, and the wire between: opencode's HTTP and events.
//!
//! Invariant: the client and the people see the server only through the [`proxy`], where the scenario's faults are. The
//! report's events come from an observer that the faults do not affect.

mod http;
mod players;
mod proxy;
mod routes;

use crate::input::Input;
use crate::report::{Ask, Via};
use crate::sandbox::{SandboxError, step};
use crate::spec::{CellSpec, PROXY_PORT};
use rehang_trace::Json;
use rehang_wire::opencode::{closed, kind};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// All that speaks to a server, waiting for it to listen.
#[derive(Debug)]
pub struct Clients {
    /// The server's port; 0 until it listens.
    port: watch::Sender<u16>,
    /// The clock of the cell has begun: the model was asked.
    began: watch::Sender<bool>,
    words: String,
}

/// What all clients share.
#[derive(Debug, Clone)]
struct Wire {
    order: Arc<CellSpec>,
    tell: mpsc::Sender<Input>,
}

impl Clients {
    /// Starts the clients, in the supervisor's network.
    ///
    /// # Errors
    /// The proxy's port.
    pub async fn start(order: &CellSpec, tell: &mpsc::Sender<Input>) -> Result<Clients, SandboxError> {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", PROXY_PORT)).await;
        let listener = step("the proxy's port", listener)?;
        let (port, mut listening) = watch::channel(0);
        let (begins, began) = watch::channel(false);
        let wire = Wire { order: Arc::new(order.clone()), tell: tell.clone() };
        tokio::task::spawn_local(proxy::serve(listener, listening.clone(), order.scenario.faults.clone()));
        tokio::task::spawn_local(async move {
            let port = listening.wait_for(|port| *port != 0).await.map_or(0, |port| *port);
            if port != 0 {
                observe(wire.clone(), port).await;
                let settled = players::play(wire.clone(), began).await;
                if wire.order.asks_routes {
                    let told = match routes::ask(port).await {
                        Ok(answers) => Input::Routes(answers),
                        Err(error) => Input::Problem(format!("its routes: {error}")),
                    };
                    let _ = wire.tell.send(told).await;
                }
                let _ = wire.tell.send(Input::Settled(settled)).await;
            }
        });
        Ok(Clients { port, began: begins, words: order.listening.clone() })
    }

    /// The first main request has come.
    pub fn begin_the_clock(&self) {
        self.began.send_replace(true);
    }

    /// Hears a line of the server's output.
    pub fn hears(&self, line: &str) {
        if let Some(port) = rehang_actors::port_after(&self.words, line) {
            self.port.send_replace(port);
        }
    }
}

/// Follows the server's events without the scenario's faults, in the background, from before the session is made.
async fn observe(wire: Wire, port: u16) {
    let Ok(mut events) = http::Events::open(port, None).await else {
        let _ = wire.tell.send(Input::Problem("the server has no /event".to_owned())).await;
        return;
    };
    tokio::task::spawn_local(async move {
        while let Some(event) = events.next().await {
            let event = Json::of_text(&event.data);
            if is_life_sign(&event) {
                continue;
            }
            if let Some(input) = told_by(&event) {
                let _ = wire.tell.send(input).await;
            }
            if wire.tell.send(Input::Client(Via::Event, event.text().to_owned())).await.is_err() {
                return;
            }
        }
    });
}

fn is_life_sign(event: &Json) -> bool {
    matches!(event.kind(), kind::HEARTBEAT | kind::CONNECTED | "plugin.added" | "catalog.updated")
}

/// The ask that an event opens or closes.
fn told_by(event: &Json) -> Option<Input> {
    if let Some(sight) = rehang_actors::asked_by(event) {
        return Some(Input::Asked(Ask::seen(&sight, "event", &sight.permission)));
    }
    closed(event.kind(), &event["properties"]).map(|id| Input::Closed(id.to_owned()))
}
