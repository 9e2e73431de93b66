//! Sockets and their peers: Unix sockets from the kernel's `sock_diag`, those of the internet from `/proc/net`.

use super::namespace;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

/// All sockets of a network namespace.
pub struct Sockets {
    unix: HashMap<u64, Unix>,
    internet: Vec<Internet>,
}

struct Unix {
    peer: Option<u64>,
    state: u8,
    address: Address,
}

struct Internet {
    inode: u64,
    is_tcp: bool,
    local: String,
    remote: String,
    state: u8,
    unsent: u64,
    /// 0 none, 1 retransmission, 2 keep-alive or delayed acknowledgement, 3 TIME_WAIT, 4 probe of a closed window.
    timer: u8,
}

/// What a socket can receive from.
pub enum Found {
    Listens(Address),
    Connected(Peer),
    Datagrams(Address),
    /// The kernel is about to do something with it: what.
    Busy(&'static str),
    Nothing,
}

/// Where a socket can be reached.
#[derive(Clone, Default)]
pub struct Address {
    pub text: String,
    /// It is a file: who has the file reaches it, from any network.
    is_file: bool,
}

impl Address {
    /// Whether it is reached from its own network only.
    pub fn is_local(&self) -> bool {
        !self.is_file
    }
}

/// The other end of a connection.
pub enum Peer {
    Inode(u64),
    Address(String),
}

/// States of TCP, also used for Unix sockets (<net/tcp_states.h>).
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
/// The timer of a connection that is kept alive: the peer's kernel answers by itself.
const KEEP_ALIVE: u8 = 2;

impl Sockets {
    /// Reads those of a process's network namespace. Unix sockets of the tracer's own are added: the tree has been there
    /// before it made others.
    pub fn read(pid: i32) -> Sockets {
        let mut internet = Vec::new();
        for (table, is_tcp) in [("tcp", true), ("tcp6", true), ("udp", false), ("udp6", false)] {
            let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            internet.extend(text.lines().skip(1).filter_map(|line| parse(line, is_tcp)));
        }
        let in_own = namespace::diagnostic_socket().and_then(|socket| unix_sockets(&socket));
        let in_its = namespace::diagnostic_socket_of(pid).and_then(|socket| unix_sockets(&socket));
        let mut unix = in_own.unwrap_or_default();
        unix.extend(in_its.unwrap_or_default());
        Sockets { unix, internet }
    }

    /// What a socket can receive from.
    pub fn find(&self, inode: u64) -> Found {
        if let Some(unix) = self.unix.get(&inode) {
            return match (unix.state, unix.peer) {
                (LISTEN, _) => Found::Listens(unix.address.clone()),
                (_, Some(peer)) => Found::Connected(Peer::Inode(peer)),
                _ => Found::Datagrams(unix.address.clone()),
            };
        }
        let Some(socket) = self.internet.iter().find(|socket| socket.inode == inode) else { return Found::Nothing };
        if !socket.is_tcp {
            return Found::Datagrams(socket.address());
        }
        match socket.state {
            LISTEN => return Found::Listens(socket.address()),
            ESTABLISHED => {}
            _ => return Found::Busy("the connection is being made or closed"),
        }
        let is_peer = |other: &&Internet| other.is_tcp && other.local == socket.remote && other.remote == socket.local;
        let Some(peer) = self.internet.iter().find(is_peer) else {
            return Found::Connected(Peer::Address(socket.remote.clone()));
        };
        let is_busy = |socket: &Internet| socket.unsent > 0 || !matches!(socket.timer, 0 | KEEP_ALIVE);
        if peer.inode == 0 || peer.state != ESTABLISHED {
            return Found::Busy("the other end of the connection is being closed by the kernel");
        }
        if is_busy(socket) || is_busy(peer) {
            return Found::Busy("data is on its way, or the kernel will send it again by a timer of its own");
        }
        Found::Connected(Peer::Inode(peer.inode))
    }
}

impl Internet {
    fn address(&self) -> Address {
        Address { text: self.local.clone(), is_file: false }
    }
}

/// A line of `/proc/net/tcp` or `udp`.
fn parse(line: &str, is_tcp: bool) -> Option<Internet> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let unsent = u64::from_str_radix(words.next()?.split(':').next()?, 16).ok()?;
    let timer = u8::from_str_radix(words.next()?.split(':').next()?, 16).ok()?;
    let inode = words.nth(3)?.parse().ok()?;
    Some(Internet { inode, is_tcp, local, remote, state, unsent, timer })
}

/// An address as `/proc/net/tcp` has it: words in the machine's byte order. An IPv4 address within IPv6 is one of IPv4.
fn address(text: &str) -> Option<String> {
    let (host, port) = text.split_once(':')?;
    let words = (0..host.len() / 8).map(|i| u32::from_str_radix(host.get(i * 8..i * 8 + 8)?, 16).ok());
    let words: Vec<u32> = words.collect::<Option<_>>()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let four = |word: u32| std::net::Ipv4Addr::from(word.to_ne_bytes());
    let ip: std::net::IpAddr = match words[..] {
        [word] => four(word).into(),
        [first, second, third, fourth] => {
            let bytes: Vec<u8> = [first, second, third, fourth].iter().flat_map(|word| word.to_ne_bytes()).collect();
            let six = std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
            six.to_ipv4_mapped().map_or_else(|| six.into(), Into::into)
        }
        _ => return None,
    };
    Some(std::net::SocketAddr::new(ip, port).to_string())
}

/// All Unix sockets with their peers, by `sock_diag` (`man 7 sock_diag`).
fn unix_sockets(socket: &OwnedFd) -> std::io::Result<HashMap<u64, Unix>> {
    /// `UDIAG_SHOW_NAME` and `UDIAG_SHOW_PEER`, and the attributes that answer them, of <linux/unix_diag.h>.
    const SHOW: u32 = 1 | 4;
    const NAME: u16 = 0;
    const PEER: u16 = 2;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    // nlmsghdr: length, type, flags, sequence, port; unix_diag_req: family, protocol, states, inode, show, cookie
    let mut request = Vec::new();
    request.extend(40_u32.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    for word in [u32::MAX, 0, SHOW, 0, 0] {
        request.extend(word.to_ne_bytes());
    }
    // SAFETY: the buffer is read only, and as long as is said.
    if unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut found = HashMap::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        // SAFETY: the kernel writes at most the buffer's length.
        let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let length = usize::try_from(length).map_err(|_| std::io::Error::last_os_error())?;
        let mut rest = &buffer[..length];
        while rest.len() >= 16 {
            let size = (word(rest, 0) as usize).clamp(16, rest.len());
            if matches!(i32::from(half(rest, 4)), libc::NLMSG_DONE | libc::NLMSG_ERROR) {
                return Ok(found);
            }
            // unix_diag_msg: family, type, state, padding, inode, cookie; then attributes
            let message = &rest[16..size];
            if message.len() >= 16 {
                let unnamed = Address { text: "an unnamed socket".to_owned(), is_file: false };
                let mut unix = Unix { peer: None, state: message[2], address: unnamed };
                let mut attributes = &message[16..];
                while attributes.len() >= 4 {
                    let size = usize::from(half(attributes, 0)).clamp(4, attributes.len());
                    let value = &attributes[4..size];
                    match half(attributes, 2) {
                        PEER if value.len() >= 4 => {
                            unix.peer = Some(u64::from(word(value, 0))).filter(|peer| *peer != 0);
                        }
                        NAME => {
                            let text = String::from_utf8_lossy(value).trim_matches('\0').to_owned();
                            // an abstract name begins with a zero byte
                            unix.address = Address { text, is_file: value.first() != Some(&0) };
                        }
                        _ => {}
                    }
                    attributes = &attributes[size.next_multiple_of(4).min(attributes.len())..];
                }
                found.insert(u64::from(word(message, 4)), unix);
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn inode(socket: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).expect("a link");
        crate::linux::procfs::inode(&link.to_string_lossy(), "socket").expect("a socket")
    }

    #[test]
    fn the_two_ends_of_a_pair_find_each_other() {
        let (one, other) = UnixStream::pair().expect("a pair");
        match Sockets::read(std::process::id() as i32).find(inode(&one)) {
            Found::Connected(Peer::Inode(peer)) => assert_eq!(peer, inode(&other)),
            _ => panic!("no peer"),
        }
    }

    #[test]
    fn the_two_ends_of_a_connection_find_each_other_and_data_on_its_way_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let one = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (other, _) = listener.accept().expect("a connection");
        let sockets = || Sockets::read(std::process::id() as i32);
        assert!(matches!(sockets().find(inode(&listener)), Found::Listens(_)));
        match sockets().find(inode(&one)) {
            Found::Connected(Peer::Inode(peer)) => assert_eq!(peer, inode(&other)),
            _ => panic!("no peer"),
        }
        // more than the receiver's buffer holds: the rest waits for the kernel's probes
        one.set_nonblocking(true).expect("a socket");
        while std::io::Write::write(&mut &one, &[0; 1 << 16]).is_ok() {}
        assert!(matches!(sockets().find(inode(&one)), Found::Busy(_)));
    }
}
