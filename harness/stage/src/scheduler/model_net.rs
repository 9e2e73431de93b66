//! The open connections of agents to the model's server, as data.
//!
//! Invariant: what a connection does not take is kept, and is state.

use rehang_os::kernel::Handle;
use rehang_scenario::{Canon, Canonical};
use rehang_wire::{http::RequestReader, model::reply::Asked};

/// Connections of agents to the model's server.
#[derive(Debug, Default)]
pub struct Connections {
    pub(super) open: Vec<Connection>,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) handle: Handle,
    pub(super) reader: RequestReader,
    pub(super) asked: Option<Asked>,
    /// Whether its response has begun.
    pub(super) answered: bool,
    /// Whether the agent's end is closed.
    pub(super) over: bool,
    /// What the connection has not taken yet.
    pub(super) unsent: Vec<u8>,
    /// If it is to be closed once all is sent: whether with a reset.
    pub(super) closes: Option<bool>,
}

impl Connections {
    /// Sends these bytes, as soon as there is room for them.
    pub(super) fn send(&mut self, handle: Handle, bytes: &[u8]) {
        if let Some(connection) = self.open.iter_mut().find(|c| c.handle == handle) {
            connection.unsent.extend_from_slice(bytes);
        }
    }

    /// Closes a connection after its unsent bytes are sent.
    pub(super) fn close(&mut self, handle: Handle, reset: bool) {
        if let Some(connection) = self.open.iter_mut().find(|c| c.handle == handle) {
            connection.closes = Some(reset);
        }
    }

    /// The place of a connection among those that are open, from 1.
    pub(super) fn place(&self, handle: Handle) -> u64 {
        self.open.iter().position(|c| c.handle == handle).map_or(0, |at| at as u64 + 1)
    }

    /// The handles that the connections hold.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        self.open.iter().map(|c| c.handle)
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Connections { open } = self;
        canon.list(open, |canon, connection| {
            let Connection {
                handle: _, // not compared: `Hub::canon` writes its rank
                reader,
                asked,
                answered,
                over,
                unsent,
                closes,
            } = connection;
            reader.canon(canon);
            match asked {
                None => canon.num(0),
                Some(Asked { api, path }) => canon.num(1 + *api as u64).text(path),
            };
            canon.flag(*answered).flag(*over).bytes(unsent).num(closes.map_or(0, |reset| 1 + u64::from(reset)));
        });
    }
}
