//! A server's client, the people at other clients of it, and the wire between: opencode's HTTP and events.
//!
//! Invariant: the client does what a plain one does and no more, and sees the server only through the [`proxy`], where
//! the scenario's faults are. What the report tells of events comes from an observer that the faults do not touch.

mod client;
mod http;
mod proxy;
mod someone;

use crate::people::Sight;
use crate::plan::{CellSpec, PROXY_PORT};
use crate::report::Via;
use crate::sandbox::{SandboxError, step};
use crate::supervisor::Input;
use serde_json::Value;
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

/// What every client knows.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub order: Arc<CellSpec>,
    pub tell: mpsc::Sender<Input>,
    /// The session, once it is made.
    pub session: watch::Sender<String>,
    /// Somebody stopped the session.
    pub stopped: watch::Sender<bool>,
    /// The clock of the cell has begun.
    pub began: watch::Receiver<bool>,
}

impl Clients {
    /// Starts them, in the supervisor's network.
    ///
    /// # Errors
    /// The proxy's port.
    pub async fn start(order: &CellSpec, tell: &mpsc::Sender<Input>) -> Result<Clients, SandboxError> {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", PROXY_PORT)).await;
        let listener = step("the proxy's port", listener)?;
        let (port, listening) = watch::channel(0);
        let (begins, began) = watch::channel(false);
        let wire = Wire {
            order: Arc::new(order.clone()),
            tell: tell.clone(),
            session: watch::Sender::new(String::new()),
            stopped: watch::Sender::new(false),
            began,
        };
        tokio::task::spawn_local(proxy::serve(listener, listening.clone(), order.scenario.faults.clone()));
        let (seen, events) = tokio::sync::broadcast::channel(1_024);
        for person in order.scenario.people.iter().filter(|person| person.via == rehang_scenario::Via::Http) {
            tokio::task::spawn_local(someone::live(wire.clone(), person.clone(), events.resubscribe()));
        }
        drop(events);
        let mut listening = listening;
        tokio::task::spawn_local(async move {
            let port = listening.wait_for(|port| *port != 0).await.map_or(0, |port| *port);
            if port != 0 {
                observe(wire.clone(), port).await;
                let settled = client::drive(wire.clone(), seen).await;
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
        if let Some(port) = port_behind(line, &self.words) {
            self.port.send_replace(port);
        }
    }
}

/// The port of the address that stands behind these words.
fn port_behind(line: &str, words: &str) -> Option<u16> {
    let (_, address) = line.split_once(words)?;
    let (_, port) = address.split_whitespace().next()?.rsplit_once(':')?;
    port.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|port| *port != 0)
}

/// Follows the server's events where no fault touches them, in the background, from before the session is made.
async fn observe(wire: Wire, port: u16) {
    let Ok(mut events) = http::Events::open(port).await else {
        let _ = wire.tell.send(Input::Problem("the server has no /event".to_owned())).await;
        return;
    };
    tokio::task::spawn_local(async move {
        while let Some(event) = events.next().await {
            if is_life_sign(&event) {
                continue;
            }
            for input in told_by(&event) {
                let _ = wire.tell.send(input).await;
            }
            if wire.tell.send(Input::Client(Via::Event, event.to_string())).await.is_err() {
                return;
            }
        }
    });
}

fn is_life_sign(event: &Value) -> bool {
    matches!(event["type"].as_str(), Some("server.heartbeat" | "server.connected" | "plugin.added" | "catalog.updated"))
}

/// What an event says of asks.
fn told_by(event: &Value) -> Vec<Input> {
    let properties = &event["properties"];
    if let Some(sight) = asked(event) {
        let about = properties["permission"].as_str().or_else(|| properties["type"].as_str()).unwrap_or_default();
        return vec![Input::Asked(sight.ask("event", about))];
    }
    match event["type"].as_str() {
        Some("question.replied" | "question.rejected" | "permission.replied") => {
            let id = properties["requestID"].as_str().or_else(|| properties["permissionID"].as_str());
            vec![Input::Closed(id.unwrap_or_default().to_owned())]
        }
        _ => Vec::new(),
    }
}

/// The ask that an event opens.
pub(crate) fn asked(event: &Value) -> Option<Sight> {
    match event["type"].as_str()? {
        "question.asked" => Some(Sight::of_server(&event["properties"], true)),
        "permission.asked" | "permission.updated" => Some(Sight::of_server(&event["properties"], false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::port_behind;

    #[test]
    fn the_port_stands_behind_the_words() {
        let line = "opencode server listening on http://127.0.0.1:4097";
        assert_eq!(port_behind(line, "listening on"), Some(4_097));
        assert_eq!(port_behind("listening on http://[::1]:80/ now", "listening on"), Some(80));
        assert_eq!(port_behind("Warning: no password", "listening on"), None);
        assert_eq!(port_behind("listening on a socket", "listening on"), None);
    }
}
