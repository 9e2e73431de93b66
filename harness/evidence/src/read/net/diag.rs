//! sock_diag: the kernel's socket tables by netlink (linux/sock_diag.h, inet_diag.h, unix_diag.h).
//!
//! Invariant: every length that the kernel gives is checked against what arrived; bounded in bytes.
//!
//! Why not the crate netlink-packet-sock-diag (0.5 was measured): it takes 0.5 to 0.8 times as long for 800 sockets, but its
//! `tcp_info` is that of Linux 5.4, and one that is shorter (RHEL 8 has Linux 4.18) is an error for the whole table. With
//! its raw attributes instead, only `dump` and `attributes` below would go, for four more crates.

use crate::data::{Family, Socket, SocketState, Traffic};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// All states but TIME_WAIT (6, include/net/tcp_states.h): what is in it belongs to no process any more, and a machine that
/// opens many connections has tens of thousands of those.
const STATES: u32 = !(1 << 6);
/// The most bytes that one table may have: some hundred thousand sockets.
const MAX_BYTES: usize = 128 << 20;

/// All TCP, UDP and Unix sockets of the network namespace that the calling thread is in, by inode.
pub fn all() -> io::Result<BTreeMap<u64, Socket>> {
    let mut sockets = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for (protocol, kind) in [(libc::IPPROTO_TCP, Family::Tcp), (libc::IPPROTO_UDP, Family::Udp)] {
            dump(&inet_request(family as u8, protocol as u8), &mut |body| {
                if let Some(socket) = inet(body, kind) {
                    sockets.insert(socket.inode, socket);
                }
            })?;
        }
    }
    dump(&unix_request(u32::MAX, 1 + 2 + 4 + 16), &mut |body| {
        if let Some(socket) = unix(body) {
            sockets.insert(socket.inode, socket);
        }
    })?;
    Ok(sockets)
}

/// `struct inet_diag_req_v2`: family, protocol, extensions (bit 1: INET_DIAG_INFO), pad, states, 48 bytes of id.
pub(super) fn inet_request(family: u8, protocol: u8) -> Vec<u8> {
    let mut body = vec![family, protocol, 1 << 1, 0];
    body.extend(STATES.to_ne_bytes());
    body.extend([0; 48]);
    body
}

/// `struct unix_diag_req`: family, protocol, pad, states, inode, what to show (name 1, file 2, peer 4, connections in the
/// queue 8, lengths of queues 16), cookie.
pub(super) fn unix_request(states: u32, show: u32) -> Vec<u8> {
    let mut body = vec![libc::AF_UNIX as u8, 0, 0, 0];
    body.extend(states.to_ne_bytes());
    body.extend(0_u32.to_ne_bytes());
    body.extend(show.to_ne_bytes());
    body.extend([0xff; 8]);
    body
}

pub(super) fn dump(body: &[u8], take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend((16 + body.len() as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(DUMP.to_ne_bytes());
    message.extend([1_u32, 0].iter().flat_map(|word| word.to_ne_bytes()));
    message.extend(body);
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    receive(&mut |buffer| Ok(rustix::net::recv(&socket, buffer, RecvFlags::empty())?.0), take)
}

/// Takes the messages of an answer, which comes in parts, up to its end.
fn receive(part: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 65_536];
    let mut total = 0;
    while total < MAX_BYTES {
        let read = part(&mut buffer)?;
        total += read;
        let mut rest = buffer.get(..read).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while let Some(header) = rest.get(..16) {
            let length = word(header, 0) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let Some(body) = rest.get(16..length) else { return Ok(()) };
            match kind {
                DONE => return Ok(()),
                ERROR => {
                    let errno = word(body, 0) as i32;
                    return if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-errno)) };
                }
                _ => take(body),
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Ok(())
}

/// `struct inet_diag_msg`: family, state, timer, retransmits; ports and addresses; expiry, queues, user, inode.
pub(super) fn inet(body: &[u8], kind: Family) -> Option<Socket> {
    let family = *body.first()?;
    let state = *body.get(1)?;
    let port = |at: usize| body.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let address = |at: usize| -> Option<std::net::IpAddr> {
        if i32::from(family) == libc::AF_INET {
            let four: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(four).into())
        } else {
            let sixteen: [u8; 16] = body.get(at..at + 16)?.try_into().ok()?;
            // an IPv4 connection of an IPv6 socket is the same connection at its other end
            Some(Ipv6Addr::from(sixteen).to_canonical())
        }
    };
    let local = SocketAddr::new(address(8)?, port(4)?).to_string();
    let remote = SocketAddr::new(address(24)?, port(6)?);
    let remote = if remote.port() == 0 { String::new() } else { remote.to_string() };
    body.get(..72)?;
    let traffic = attributes(body, 72).find(|(kind, _)| *kind == 2).and_then(|(_, info)| traffic(info));
    Some(Socket {
        inode: u64::from(word(body, 68)),
        family: kind,
        state: if kind == Family::Tcp { tcp_state(state) } else { SocketState::Unconnected },
        local,
        remote,
        peer: None,
        unread: u64::from(word(body, 56)),
        unsent: u64::from(word(body, 60)),
        traffic,
    })
}

/// States of include/net/tcp_states.h.
pub fn tcp_state(state: u8) -> SocketState {
    match state {
        1 => SocketState::Established,
        2 | 3 | 12 => SocketState::Connecting,
        8 => SocketState::CloseWait,
        10 => SocketState::Listening,
        7 => SocketState::Unconnected,
        _ => SocketState::Closing,
    }
}

/// `struct tcp_info`: offsets of linux/tcp.h. Older kernels give a shorter one.
fn traffic(info: &[u8]) -> Option<Traffic> {
    let long = |at: usize| info.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
    info.get(..56)?;
    Some(Traffic {
        since_sent_ms: u64::from(word(info, 44)),
        since_received_ms: u64::from(word(info, 52)),
        retransmits: u32::from(info[2]),
        sent_bytes: long(120).unwrap_or(0),
        received_bytes: long(128).unwrap_or(0),
        received_pieces: word(info, 152),
    })
}

/// `struct unix_diag_msg`: family, type, state, pad, inode, cookie.
pub(super) fn unix(body: &[u8]) -> Option<Socket> {
    let state = *body.get(2)?;
    body.get(..16)?;
    let mut socket = Socket {
        inode: u64::from(word(body, 4)),
        family: Family::Unix,
        state: match state {
            1 => SocketState::Established,
            10 => SocketState::Listening,
            _ => SocketState::Unconnected,
        },
        ..Socket::default()
    };
    for (kind, value) in attributes(body, 16) {
        match kind {
            0 => {
                let text = String::from_utf8_lossy(value);
                let name = text.trim_end_matches('\0');
                let name = name.strip_prefix('\0').map_or(name.to_owned(), |name| format!("@{name}"));
                // whoever bound it has chosen it
                socket.local = rehang_words::text::visible(&name);
            }
            2 if value.len() >= 4 => socket.peer = Some(u64::from(word(value, 0))).filter(|inode| *inode != 0),
            4 if value.len() >= 8 => {
                socket.unread = u64::from(word(value, 0));
                socket.unsent = if state == 10 { 0 } else { u64::from(word(value, 4)) };
            }
            _ => {}
        }
    }
    Some(socket)
}

/// `struct rtattr`: length, kind, value, aligned to 4 bytes.
pub(super) fn attributes(body: &[u8], from: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = body.get(from..).unwrap_or_default();
    std::iter::from_fn(move || {
        let header = rest.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The 32-bit word at an offset; 0 if the bytes end before it.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn put(body: &mut [u8], at: usize, bytes: &[u8]) {
        body[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn a_tcp_connection_with_its_clocks() {
        let mut body = vec![0_u8; 72];
        (body[0], body[1]) = (libc::AF_INET as u8, 1);
        put(&mut body, 4, &8080_u16.to_be_bytes());
        put(&mut body, 6, &443_u16.to_be_bytes());
        put(&mut body, 8, &[127, 0, 0, 1]);
        put(&mut body, 24, &[93, 184, 216, 34]);
        put(&mut body, 56, &7_u32.to_ne_bytes());
        put(&mut body, 60, &5_u32.to_ne_bytes());
        put(&mut body, 68, &4711_u32.to_ne_bytes());
        let mut info = vec![0_u8; 160];
        info[2] = 3;
        put(&mut info, 44, &60_u32.to_ne_bytes());
        put(&mut info, 52, &61_u32.to_ne_bytes());
        put(&mut info, 120, &900_u64.to_ne_bytes());
        put(&mut info, 128, &901_u64.to_ne_bytes());
        put(&mut info, 152, &12_u32.to_ne_bytes());
        let whole = [body.clone(), attribute(9, b"x"), attribute(2, &info)].concat();
        let socket = inet(&whole, Family::Tcp).unwrap();
        let traffic = Traffic {
            since_sent_ms: 60,
            since_received_ms: 61,
            retransmits: 3,
            sent_bytes: 900,
            received_bytes: 901,
            received_pieces: 12,
        };
        let wanted = Socket {
            inode: 4711,
            family: Family::Tcp,
            state: SocketState::Established,
            local: "127.0.0.1:8080".into(),
            remote: "93.184.216.34:443".into(),
            peer: None,
            unread: 7,
            unsent: 5,
            traffic: Some(traffic),
        };
        assert_eq!(socket, wanted);
        // one that listens, over IPv6, on a kernel that tells no more
        (body[0], body[1]) = (libc::AF_INET6 as u8, 10);
        put(&mut body, 6, &[0, 0]);
        put(&mut body, 8, &[0; 40]);
        put(&mut body, 23, &[1]);
        let socket = inet(&body, Family::Tcp).unwrap();
        assert_eq!((socket.local.as_str(), socket.remote.as_str(), socket.traffic), ("[::1]:8080", "", None));
        assert_eq!(socket.state, SocketState::Listening);
        assert_eq!(inet(&body, Family::Udp).unwrap().state, SocketState::Unconnected);
        assert_eq!(inet(&body[..71], Family::Tcp), None);
        let short = [body, attribute(2, &info[..56])].concat();
        assert_eq!(inet(&short, Family::Tcp).unwrap().traffic.map(|traffic| traffic.since_received_ms), Some(61));
    }

    #[test]
    fn a_unix_socket_with_its_peer() {
        let socket = |state: u8, attributes: &[Vec<u8>]| {
            let mut body = vec![0_u8; 16];
            body[2] = state;
            put(&mut body, 4, &99_u32.to_ne_bytes());
            unix(&[body, attributes.concat()].concat()).unwrap()
        };
        let queues = attribute(4, &[7_u32.to_ne_bytes(), 5_u32.to_ne_bytes()].concat());
        let connected = socket(1, &[attribute(0, b"/run/x\0"), attribute(2, &98_u32.to_ne_bytes()), queues.clone()]);
        assert_eq!((connected.inode, connected.local.as_str(), connected.peer), (99, "/run/x", Some(98)));
        assert_eq!((connected.state, connected.unread, connected.unsent), (SocketState::Established, 7, 5));
        // of a listening socket this is the length of its queue
        let listens = socket(10, &[attribute(0, b"\0name"), attribute(2, &[0; 4]), queues]);
        assert_eq!((listens.state, listens.local.as_str()), (SocketState::Listening, "@name"));
        assert_eq!((listens.peer, listens.unread, listens.unsent), (None, 7, 0));
        assert_eq!(socket(7, &[attribute(2, &[1, 0]), attribute(4, &[1; 7])]).peer, None, "cut short");
        assert_eq!(unix(&[0; 15]), None);
    }

    #[test]
    fn states_have_their_numbers() {
        use SocketState::{CloseWait, Closing, Connecting, Established, Listening, Unconnected};
        let states: Vec<SocketState> = (1..=12).map(tcp_state).collect();
        let wanted = [
            Established,
            Connecting,
            Connecting,
            Closing,
            Closing,
            Closing,
            Unconnected,
            CloseWait,
            Closing,
            Listening,
            Closing,
            Connecting,
        ];
        assert_eq!(states, wanted);
    }

    #[test]
    fn requests_are_laid_out_as_the_kernel_wants_them() {
        let (all, id) = ([0xff; 4], [0; 48]);
        let but_time_wait = 0xffff_ffbf_u32.to_ne_bytes();
        assert_eq!(inet_request(10, 17), [&[10, 17, 2, 0], but_time_wait.as_slice(), &id].concat());
        let (show, cookie) = (23_u32.to_ne_bytes(), [0xff; 8]);
        assert_eq!(
            unix_request(u32::MAX, 1 + 2 + 4 + 16),
            [&[1, 0, 0, 0], all.as_slice(), &[0; 4], &show, &cookie].concat()
        );
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(16 + body.len()).unwrap().to_ne_bytes();
        let mut bytes = [&length, kind.to_ne_bytes().as_slice(), &[0; 10], body].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// What is taken of an answer in these parts, how many of them were asked for, and the error.
    fn received(parts: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize, Option<i32>) {
        let (mut taken, mut count) = (Vec::new(), 0);
        let mut part = |buffer: &mut [u8]| {
            let part = parts.get(count).expect("the answer is over");
            count += 1;
            buffer[..part.len()].copy_from_slice(part);
            Ok(part.len())
        };
        let error = receive(&mut part, &mut |body| taken.push(body.to_vec())).err();
        (taken, count, error.and_then(|error| error.raw_os_error()))
    }

    #[test]
    fn an_answer_has_messages_up_to_its_end() {
        let (one, two) = (message(BY_FAMILY, b"one"), message(BY_FAMILY, b"seven b"));
        let done = message(DONE, &[0; 4]);
        let bodies = vec![b"one".to_vec(), b"seven b".to_vec()];
        assert_eq!(received(&[[one.clone(), two.clone()].concat(), done.clone()]), (bodies.clone(), 2, None));
        assert_eq!(
            received(&[[one.clone(), two.clone(), done.clone(), one.clone()].concat()]),
            (bodies.clone(), 1, None)
        );
        assert_eq!(received(&[one.clone(), two, vec![]]), (bodies, 3, None));
        // cut short, or of a length that cannot be
        assert_eq!(received(&[one[..18].to_vec()]), (vec![], 1, None));
        assert_eq!(received(&[vec![0; 16]]), (vec![], 1, None));
        assert_eq!(received(&[vec![0; 15], done.clone()]), (vec![], 2, None));
        let error = |errno: i32| received(&[[message(ERROR, &errno.to_ne_bytes()), one.clone()].concat()]);
        assert_eq!((error(-libc::EPERM), error(0)), ((vec![], 1, Some(libc::EPERM)), (vec![], 1, None)));
    }

    #[test]
    fn an_answer_without_an_end_is_cut() {
        let whole = message(BY_FAMILY, &vec![0; 65_520]);
        let (mut parts, mut taken) = (0_usize, 0);
        let mut part = |buffer: &mut [u8]| {
            parts += 1;
            assert!(parts <= 2_048, "128 MiB are enough");
            buffer.copy_from_slice(&whole);
            Ok(whole.len())
        };
        receive(&mut part, &mut |_| taken += 1).unwrap();
        assert_eq!((parts, taken), (2_048, 2_048));
    }

    #[test]
    fn the_tables_have_the_sockets_of_this_process() {
        use std::os::unix::fs::MetadataExt;
        let inode = |fd: std::os::fd::OwnedFd| std::fs::File::from(fd).metadata().unwrap().ino();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
        let inodes =
            [tcp.try_clone().unwrap().into(), client.try_clone().unwrap().into(), udp.try_clone().unwrap().into()]
                .map(inode);
        let pair = [one.try_clone().unwrap().into(), two.try_clone().unwrap().into()].map(inode);
        let all = all().unwrap();
        let told = inodes.map(|inode| {
            let socket = &all[&inode];
            (socket.inode == inode, socket.family, socket.state, socket.local.clone(), socket.traffic.is_some())
        });
        let local =
            [tcp.local_addr(), client.local_addr(), udp.local_addr()].map(|address| address.unwrap().to_string());
        use SocketState::{Established, Listening, Unconnected};
        let [first, second, third] = local;
        assert_eq!(told[0], (true, Family::Tcp, Listening, first, true));
        assert_eq!(told[1], (true, Family::Tcp, Established, second, true));
        assert_eq!(told[2], (true, Family::Udp, Unconnected, third, false));
        let told = pair.map(|inode| (all[&inode].family, all[&inode].state, all[&inode].peer));
        assert_eq!(told, [(Family::Unix, Established, Some(pair[1])), (Family::Unix, Established, Some(pair[0]))]);
    }

    #[test]
    fn attributes_are_aligned_and_a_word_is_whole() {
        let list = [attribute(1, b"a"), attribute(2, b""), attribute(3, b"four"), attribute(4, b"fiver")].concat();
        let found = |list: &[u8]| attributes(list, 0).map(|(kind, value)| (kind, value.to_vec())).collect::<Vec<_>>();
        let wanted = [(1, b"a".to_vec()), (2, vec![]), (3, b"four".to_vec()), (4, b"fiver".to_vec())];
        assert_eq!(found(&list), wanted);
        assert_eq!(
            (found(&list[..list.len() - 4]), found(&list[..7]), found(&[])),
            (wanted[..3].to_vec(), wanted[..1].to_vec(), vec![])
        );
        assert_eq!(attributes(&list, 8).count(), 3);
        assert_eq!(
            [word(&[1, 0, 0, 0, 0], 0), word(&[0, 1, 1, 1, 1], 1), word(&[1, 1, 1], 0)],
            [1_u32.to_le(), 0x0101_0101, 0]
        );
        let (short, whole) = (traffic(&[1; 55]), traffic(&[1; 56]));
        assert_eq!((short, whole.map(|traffic| (traffic.sent_bytes, traffic.received_pieces))), (None, Some((0, 0))));
        assert_eq!(
            traffic(&[1; 128]).map(|traffic| (traffic.sent_bytes, traffic.received_bytes)),
            Some((0x0101_0101_0101_0101, 0))
        );
    }
}
