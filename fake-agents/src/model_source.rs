//! Where one response of the model comes from: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: a persona sees the same items either way; the only difference is a stream that is cut or reset in the
//! middle of HTTP's own framing, and both have items of their own.

use rehang_os::os::{Fd, Os, Read, Wait, Write};
use rehang_scenario::{Canon, Canonical, VTime};
use rehang_wire::{
    http::{Piece, ResponseReader},
    model::{
        Api, Decoder,
        script::{Item, Stream},
    },
};

/// One response of the model.
pub(crate) enum Source {
    /// Played here.
    Script(Stream),
    /// Read from the model's server.
    Server(Box<Connection>),
    /// The model's server could not even be connected to.
    Nowhere,
}

/// A connection with the model's server: one request, one response.
pub(crate) struct Connection {
    fd: Fd,
    unsent: Vec<u8>,
    reader: ResponseReader,
    decoder: Decoder,
    status: u16,
    api: Api,
}

/// Whether an item is the last of its response.
pub(crate) fn is_last(item: &Item) -> bool {
    matches!(item, Item::Ended { .. } | Item::Reset | Item::Status(_))
}

impl Source {
    /// Sends a request to the server at this port; `request`: its bytes.
    pub fn server(os: &mut dyn Os, port: u16, api: Api, request: impl FnOnce() -> Vec<u8>) -> Source {
        let Ok(fd) = os.connect(port) else { return Source::Nowhere };
        let (unsent, reader, decoder) = (request(), ResponseReader::new(), Decoder::new(api));
        Source::Server(Box::new(Connection { fd, unsent, reader, decoder, status: 0, api }))
    }

    /// What has come by now.
    pub fn poll(&mut self, os: &mut dyn Os) -> Vec<Item> {
        match self {
            Source::Script(stream) => stream.poll(os.now()),
            Source::Server(connection) => connection.poll(os),
            Source::Nowhere => vec![Item::Reset],
        }
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        match self {
            Source::Script(stream) => wait.until = earliest(wait.until, stream.deadline()),
            Source::Server(connection) => {
                wait.read.push(connection.fd);
                if !connection.unsent.is_empty() {
                    wait.write.push(connection.fd);
                }
            }
            Source::Nowhere => {}
        }
    }

    /// Gives it up.
    pub fn close(&self, os: &mut dyn Os) {
        if let Source::Server(connection) = self {
            os.close(connection.fd);
        }
    }

    pub fn canon(&self, canon: &mut Canon) {
        match self {
            Source::Script(stream) => stream.canon(canon.num(0)),
            Source::Server(connection) => {
                let Connection {
                    fd: _, // not compared: a name of the connection, whose state the world writes
                    unsent,
                    reader,
                    decoder,
                    status,
                    api: _, // not compared: it never changes
                } = connection.as_ref();
                canon.num(1).bytes(unsent).num((*status).into());
                reader.canon(canon);
                decoder.canon(canon);
            }
            Source::Nowhere => drop(canon.num(2)),
        }
    }
}

impl Connection {
    fn poll(&mut self, os: &mut dyn Os) -> Vec<Item> {
        while !self.unsent.is_empty() {
            match os.write(self.fd, &self.unsent) {
                Write::Took(n) => drop(self.unsent.drain(..n)),
                Write::Later => break,
                Write::Failed(_) => return vec![Item::Reset],
            }
        }
        let mut items = Vec::new();
        loop {
            match os.read(self.fd, 65_536) {
                Read::Data(bytes) => self.reader.feed(&bytes),
                Read::Later => return items,
                Read::Eof => {
                    self.reader.finish();
                    if !self.pieces(&mut items) {
                        items.push(Item::Reset);
                    }
                    return items;
                }
                Read::Failed(_) => {
                    items.push(Item::Reset);
                    return items;
                }
            }
            if self.pieces(&mut items) {
                return items;
            }
        }
    }

    /// Takes what is complete; returns whether the response is over.
    fn pieces(&mut self, items: &mut Vec<Item>) -> bool {
        loop {
            match self.reader.next_piece() {
                Ok(Some(Piece::Head(head))) => self.status = head.status,
                Ok(Some(Piece::Body(bytes))) if self.status == 200 => {
                    self.decoder.feed(&bytes);
                    while let Ok(Some(event)) = self.decoder.next_event() {
                        items.push(Item::Event(event));
                    }
                    if self.decoder.is_ended() {
                        items.push(Item::Ended { clean: true });
                        return true;
                    }
                }
                Ok(Some(Piece::Body(_))) => {}
                Ok(Some(Piece::End)) => {
                    // Gemini's API has no terminator of its own: the body's end is the response's.
                    let clean = self.api == Api::Gemini;
                    items.push(if self.status == 200 { Item::Ended { clean } } else { Item::Status(self.status) });
                    return true;
                }
                Ok(None) => return false,
                Err(_) => {
                    items.push(Item::Reset);
                    return true;
                }
            }
        }
    }
}

/// The earlier of two deadlines.
pub(crate) fn earliest(a: Option<VTime>, b: Option<VTime>) -> Option<VTime> {
    a.into_iter().chain(b).min()
}
