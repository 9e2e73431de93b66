//! What a participant and the scheduler say to each other, and the socket that carries it.
//!
//! Invariant: one side speaks at a time. A parcel holds whole messages and is cut into packets that fit a
//! `SOCK_SEQPACKET` socket. After the last message of its parcel a participant waits for the scheduler; that message is
//! one of `Waiting`, `Exiting`, `Kill`, `Did`, `MayStop`, `Ready`, a `State` that was asked for, with its encoding, or a
//! `Spawned` that carries a socket.

use crate::os::{Exit, Sig};
use rehang_scenario::{VTime, plan::Plan};
use rehang_trace::Fact;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The variable that tells a fake that it takes part, and which descriptor leads to its scheduler.
pub const CONTROL_ENV: &str = rehang_evidence::CONTROL_ENV;
/// The descriptor of the control socket.
pub const CONTROL_FD: i32 = 3;
/// The descriptor of the lifeline: a pipe whose other end the scheduler holds as long as it lives.
pub const LIFELINE_FD: i32 = 4;
/// A test hook: a fake that is started with this announces one byte more than it wrote or, if its value is
/// [`SAYS_NOTHING`], nothing of it.
pub const LIES_ENV: &str = "REHANG_FAKE_LIES";
/// A value of [`LIES_ENV`].
pub const SAYS_NOTHING: &str = "nothing";

/// The leader of a session whose terminal's foreground is not the agent's: a shell that started it with `&`.
pub const SHELL: &str = "fake-shell";

/// The process from which participants are forked. It takes part in nothing itself.
pub const STARTER: &str = "fake-starter";

/// The payload of one packet, in bytes: well below the smallest socket buffer that Linux allows to set.
const PACKET: usize = 8_192;
/// The most descriptors that come along with a parcel: three streams, a control socket and a lifeline.
const FDS_MAX: usize = 5;
/// The largest parcel, in bytes: a fact of 256 KiB of text, escaped at worst, fits several times.
const PARCEL_MAX: usize = 16 << 20;

/// The identity of what a descriptor refers to, the same in every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Key {
    /// `/dev/null`, a file, or a pipe that was not made by a participant or the scheduler.
    Other,
    /// The read end of a pipe, by inode.
    PipeRead(u64),
    /// The write end of a pipe, by inode.
    PipeWrite(u64),
    /// A terminal, by device number.
    Tty(u64),
    /// A listening socket, by port.
    Listener(u16),
    /// The end of a connection that connected: its port, and the listener's.
    Client(u16, u16),
    /// The end of a connection that was accepted: the client's port, and its own.
    Server(u16, u16),
    /// A FIFO that is being opened, by inode.
    Fifo(u64),
    /// A file that is locked, by inode; whether it is a database.
    Locked(u64, bool),
    /// The file whose lock the processes of the cell take in turn.
    Lock,
}

/// What was moved through an object since the last announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub wrote: u64,
    /// A hash of the bytes written.
    pub hash: u64,
}

/// All that can be read of an object during a turn, because only the scheduler can write to it, and it does not meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The object: an end of a pipe or of a connection, accepted or not, or a listener.
    pub key: Key,
    /// How many bytes; of a listener, how many connections.
    pub left: u64,
}

/// Reads of a terminal since the last announcement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TtyReads {
    /// How many bytes were asked for, how many came (0: the end of file), and how often that happened in succession.
    pub reads: Vec<(u64, u64, u64)>,
    /// A hash of the bytes read.
    pub hash: u64,
}

impl TtyReads {
    /// Adds a read that gave these bytes.
    pub fn add(&mut self, asked: usize, bytes: &[u8]) {
        let (asked, got) = (asked as u64, bytes.len() as u64);
        self.hash = hash(self.hash, bytes);
        match self.reads.last_mut() {
            Some((a, g, times)) if (*a, *g) == (asked, got) => *times += 1,
            _ => self.reads.push((asked, got, 1)),
        }
    }
}

/// What a process waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waiting {
    /// Descriptors to read from, by what they refer to.
    pub read: Vec<(u32, Key)>,
    /// Descriptors to write to, by what they refer to.
    pub write: Vec<(u32, Key)>,
    /// The deadline, in virtual time.
    pub until: Option<VTime>,
    /// Whether it waits for a child's end.
    pub child: bool,
    /// What it waits for, in one word.
    pub on: String,
    /// It is about to do what stops it: a terminal access from the background, or a stop signal to itself.
    pub stops: bool,
    /// All its descriptors, if they differ from those when it last waited (or was started).
    pub fds: Option<Vec<(u32, Key)>>,
}

/// Whom a signal goes to, as announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum To {
    /// The child of this ordinal, from 1.
    Child(u32),
    /// The group that the child of this ordinal leads.
    ChildGroup(u32),
    /// The process itself.
    Itself,
    /// The process's own group.
    OwnGroup,
}

/// A group and session, as announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The parent's.
    Inherit,
    /// A new group.
    Group,
    /// A new session.
    Session,
}

/// A message of a participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Said {
    /// It was forked and is set up, or why not: the error's number, or 0.
    Joined(i32),
    /// It cannot play its plan.
    Refused(String),
    /// It panicked, with this text.
    Panicked(String),
    /// It states a fact for the trace.
    Fact(#[serde(with = "as_json")] Fact),
    /// It started a process; the scheduler's end of its control socket comes along.
    Spawned {
        /// The child's pid.
        pid: i32,
        /// The child's program name and arguments.
        argv: Vec<String>,
        /// The child's group and session.
        place: Place,
        /// Those of its first three descriptors that are closed.
        closed: Vec<u32>,
        /// What it holds from its start: its descriptors.
        holds: Vec<(u32, Key)>,
    },
    /// What it does with a signal: the signal's number; 0 default, 1 ignored, 2 caught.
    Disposition(i32, u8),
    /// It took a caught signal.
    Took(i32),
    /// It is now the leader of a session.
    Setsid,
    /// It holds this for the first time.
    Opened(Key),
    /// It holds this no longer.
    Closed(Key),
    /// It reaped the child of this ordinal.
    Reaped(u32, Ended),
    /// These bytes went through this object.
    Moved(Key, Moved),
    /// These bytes came to this end of a connection from a server outside the cell.
    Came(Key, Moved),
    /// Whether it has the lock of the cell from now on.
    Locks(bool),
    /// It read from a terminal.
    TtyRead(Key, TtyReads),
    /// It is about to send a signal: the scheduler answers `Now` or `AtEnd`.
    Kill(To, i32),
    /// It has sent it: the error's number, or 0. The scheduler answers `Now`.
    Did(i32),
    /// It is about to touch this terminal, which may stop it by this signal: `Now` or `AtEnd`.
    MayStop(Key, i32),
    /// It waits; its turn is over.
    Waiting(Waiting),
    /// It exits with this code.
    Exiting(u8),
    /// Whether anything that it waits for is there.
    Ready(bool),
    /// Its state: the next message is the encoding itself.
    State,
}

/// An end of a process, as announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It ended by itself, with this code.
    Code(u8),
    /// It was ended by the signal of this number.
    Signal(i32),
}

impl From<Exit> for Ended {
    fn from(exit: Exit) -> Ended {
        match exit {
            Exit::Code(code) => Ended::Code(code),
            Exit::Signal(sig) => Ended::Signal(i32::from(sig.number())),
        }
    }
}

impl Ended {
    /// The end, as the stage represents it.
    pub fn exit(self) -> Exit {
        match self {
            Ended::Code(code) => Exit::Code(code),
            Ended::Signal(number) => Exit::Signal(Sig::from_number(number).unwrap_or(Sig::Kill)),
        }
    }
}

/// A message of the scheduler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// Who the participant is: the first message of all.
    Start {
        /// The participant's role.
        role: String,
        /// Those of its first three descriptors that were closed, even if its runtime opened something there.
        closed: Vec<u32>,
        /// The plan that it plays.
        #[serde(with = "as_json")]
        plan: Option<Box<Plan>>,
        /// The address of loopback that only this cell uses.
        address: Ipv4Addr,
    },
    /// Lets the participant run.
    Go {
        /// The virtual time of the turn.
        now: VTime,
        /// Whether it says its state before it waits.
        tells: bool,
        /// Whether a signal that it catches has come.
        signals: bool,
        /// Descriptors that will be readable at once: the kernel may still be delivering.
        soon: Vec<u32>,
        /// What there is to read before the next turn, where the scheduler knows it for sure.
        input: Vec<Input>,
        /// How many bytes each connection that it holds takes before the next turn, unless that is a whole
        /// [`SOCKET_WINDOW`](crate::os::SOCKET_WINDOW); and each terminal that takes less than
        /// [`TTY_QUOTA`](crate::os::TTY_QUOTA) line ends.
        room: Vec<(Key, usize)>,
    },
    /// To a `Kill` or `MayStop`: do it now. To a `Did`: go on.
    Now,
    /// To a `Kill` or `MayStop`: it will stop you, so do it when you wait.
    AtEnd,
    /// Asks whether anything that it waits for is there.
    Check,
    /// Asks for its state at this time.
    State(VTime),
}

/// One end of a control socket.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    unsent: Vec<u8>,
    packet: Vec<u8>,
}

/// A received parcel: its messages in order, and the descriptors that came along.
#[derive(Debug, Default)]
pub struct Parcel {
    bytes: Vec<u8>,
    at: usize,
    /// The descriptors that came along.
    pub fds: Vec<OwnedFd>,
}

impl Channel {
    /// Makes a pair of connected ends.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn pair() -> Result<(Channel, OwnedFd), Errno> {
        let (ours, theirs) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Channel::new(ours), theirs))
    }

    /// An end on this socket.
    pub fn new(socket: OwnedFd) -> Channel {
        Channel { socket, unsent: Vec::new(), packet: Vec::new() }
    }

    /// The socket itself, borrowed.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes the socket out, without the rest.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Puts a message into the parcel.
    pub fn put<M: Serialize>(&mut self, message: &M) {
        let at = self.unsent.len();
        self.unsent.extend_from_slice(&[0; 4]);
        if postcard::to_io(message, &mut self.unsent).is_err() {
            self.unsent.truncate(at + 4);
        }
        self.seal(at);
    }

    /// Puts bytes into the parcel.
    pub fn put_raw(&mut self, bytes: &[u8]) {
        let at = self.unsent.len();
        self.unsent.extend_from_slice(&[0; 4]);
        self.unsent.extend_from_slice(bytes);
        self.seal(at);
    }

    fn seal(&mut self, at: usize) {
        let length = u32::try_from(self.unsent.len() - at - 4).unwrap_or(u32::MAX);
        self.unsent[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Sends the parcel, with descriptors in its first packet.
    ///
    /// # Errors
    /// The kernel's error; `EPIPE` if there is no process at the other end.
    pub fn send(&mut self, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let bytes = std::mem::take(&mut self.unsent);
        let count = bytes.len().div_ceil(PACKET).max(1);
        for (nth, part) in bytes.chunks(PACKET).enumerate() {
            let more = [u8::from(nth + 1 < count)];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if nth == 0 && !fds.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(fds));
            }
            let parts = [IoSlice::new(&more), IoSlice::new(part)];
            rustix::io::retry_on_intr(|| {
                rustix::net::sendmsg(&self.socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)
            })?;
        }
        self.unsent = bytes;
        self.unsent.clear();
        Ok(())
    }

    /// Receives a parcel; `None` at the end: the other side is gone.
    ///
    /// # Errors
    /// The kernel's error; `EAGAIN` when the socket's time limit has passed; `EMSGSIZE` for a parcel beyond the size
    /// limit.
    pub fn receive(&mut self) -> Result<Option<Parcel>, Errno> {
        self.packet.resize(PACKET + 1, 0);
        let mut parcel = Parcel::default();
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let packet = &mut self.packet;
            let got = rustix::io::retry_on_intr(|| {
                let mut into = [IoSliceMut::new(packet)];
                rustix::net::recvmsg(&self.socket, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
            });
            let got = match got {
                Err(Errno::CONNRESET) => return Ok(None),
                got => got?.bytes,
            };
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(fds) = message {
                    parcel.fds.extend(fds);
                }
            }
            let Some((more, part)) = self.packet[..got].split_first() else { return Ok(None) };
            if parcel.bytes.len() + part.len() > PARCEL_MAX {
                return Err(Errno::MSGSIZE);
            }
            parcel.bytes.extend_from_slice(part);
            if *more == 0 {
                return Ok(Some(parcel));
            }
        }
    }
}

/// Why a parcel cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ParcelError {
    /// It ends within the length of a message.
    #[error("a parcel without its end")]
    Cut,
    /// It ends within a message.
    #[error("a message without its end")]
    CutMessage,
    /// A message that this side does not know.
    #[error(transparent)]
    Message(#[from] postcard::Error),
}

impl Parcel {
    /// The next message; `None` after the last one.
    ///
    /// # Errors
    /// The bytes are not a message.
    pub fn message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, ParcelError> {
        match self.next_raw()? {
            None => Ok(None),
            Some(bytes) => Ok(Some(postcard::from_bytes(bytes)?)),
        }
    }

    /// The next message's bytes.
    ///
    /// # Errors
    /// The parcel was cut.
    pub fn next_raw(&mut self) -> Result<Option<&[u8]>, ParcelError> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return if rest.is_empty() { Ok(None) } else { Err(ParcelError::Cut) };
        };
        let length = u32::from_le_bytes(*length) as usize;
        let bytes = rest.get(..length).ok_or(ParcelError::CutMessage)?;
        self.at += 4 + length;
        Ok(Some(bytes))
    }
}

/// What is read by the names of its fields, which a compact message does not hold: its JSON text.
mod as_json {
    use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
    use serde::ser::{Error as _, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A hash of these bytes, continued from `hash` (0 at first): what tells writes from each other. Firefox's (`mfbt`), which takes
/// eight bytes at a time.
pub fn hash(hash: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(hash, |hash, word| step(hash, u64::from_le_bytes(*word)));
    step(step(hash, u64::from_le_bytes(last)), bytes.len() as u64)
}

/// Why the shell could not do what it was told to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct JobError(pub String);

/// What the scheduler has the starter do: begin a participant, as the leader of a session. The descriptors of its streams
/// that are [`Given::Sent`] come along, then its control socket and the lifeline. The answer is a pid or an error's number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Begin {
    /// Its program name and arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Its first three descriptors.
    pub streams: [Given; 3],
    /// The terminal that becomes the controlling one.
    pub terminal: Option<CString>,
}

/// One of the first three descriptors of a process that is begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Given {
    /// It comes along.
    Sent,
    /// `/dev/null`.
    Null,
    /// It is closed.
    Closed,
    /// This path, as [`Stream::Open`](crate::linux::spawn::Stream::Open).
    Open(CString),
}

/// What the scheduler has the shell do; the answer is a pid or a wait status, or a [`JobError`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Job {
    /// Start the agent in a background group. Its control socket comes along.
    Start {
        /// Its program name and arguments.
        argv: Vec<String>,
        /// Its whole environment.
        env: Vec<(String, String)>,
    },
    /// Reap the child of this pid.
    Reap(i32),
    /// Send its group the signal of this number.
    Signal(i32, i32),
    /// Die of the hang-up.
    HangUp,
}
