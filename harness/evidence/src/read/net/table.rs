//! /proc/PID/net: what can be read of sockets in a namespace that may not be entered.
//!
//! Invariant: states, addresses and queues alone; it has no peers of Unix sockets and no TCP clocks.

use super::super::file;
use super::diag::tcp_state;
use crate::data::{Family, Socket, SocketState};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most lines of one table.
const MAX_LINES: usize = 100_000;

/// All TCP and Unix sockets of the network namespace of a process, by inode.
pub fn all(pid: i32) -> BTreeMap<u64, Socket> {
    let read = |table: &str| file::text(&format!("/proc/{pid}/net/{table}")).unwrap_or_default();
    let mut sockets = BTreeMap::new();
    for text in [read("tcp"), read("tcp6")] {
        let lines = text.lines().skip(1).take(MAX_LINES).filter_map(tcp);
        sockets.extend(lines.map(|socket| (socket.inode, socket)));
    }
    let text = read("unix");
    sockets.extend(text.lines().skip(1).take(MAX_LINES).filter_map(unix).map(|socket| (socket.inode, socket)));
    sockets
}

/// `0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 …`
fn tcp(line: &str) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (unsent, unread) = words.get(4)?.split_once(':')?;
    let remote = address(words.get(2)?)?;
    Some(Socket {
        inode: words.get(9)?.parse().ok()?,
        family: Family::Tcp,
        state: tcp_state(u8::from_str_radix(words.get(3)?, 16).ok()?),
        local: address(words.get(1)?)?.to_string(),
        remote: if remote.port() == 0 { String::new() } else { remote.to_string() },
        unsent: u64::from_str_radix(unsent, 16).ok()?,
        unread: u64::from_str_radix(unread, 16).ok()?,
        ..Socket::default()
    })
}

/// `0000000000000000: 00000003 00000000 00000000 0001 03 4711 /run/socket`: state 1 is not connected, 3 is; a flag of
/// 00010000 means that it listens.
fn unix(line: &str) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let listens = u32::from_str_radix(words.get(3)?, 16).ok()? & 0x1_0000 != 0;
    let state = match *words.get(5)? {
        _ if listens => SocketState::Listening,
        "03" => SocketState::Established,
        _ => SocketState::Unconnected,
    };
    let local = rehang_words::text::visible(words.get(7).copied().unwrap_or_default());
    Some(Socket { inode: words.get(6)?.parse().ok()?, family: Family::Unix, state, local, ..Socket::default() })
}

/// Words of 32 bits in the machine's own order, each in base 16.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for at in (0..host.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(host.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let host: IpAddr = match bytes.len() {
        4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
        _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
    };
    Some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_of_the_tables() {
        let line =
            "   0: 0100007F:1F90 0100007F:9C40 01 00000005:00000007 00:00000000 00000000  0  0 4711 1 0 20 4 0 10 -1";
        let socket = tcp(line).expect("a connection");
        assert_eq!((socket.local.as_str(), socket.remote.as_str()), ("127.0.0.1:8080", "127.0.0.1:40000"));
        assert_eq!((socket.unsent, socket.unread, socket.inode), (5, 7, 4711));
        assert_eq!((socket.family, socket.state), (Family::Tcp, SocketState::Established));
        let socket = unix("0000000000000000: 00000002 00000000 00010000 0001 01 99 /run/x").expect("a socket");
        let wanted = (99, Family::Unix, SocketState::Listening, "/run/x");
        assert_eq!((socket.inode, socket.family, socket.state, socket.local.as_str()), wanted);
    }

    #[test]
    fn a_socket_that_listens_has_no_other_side() {
        let state = |state: &str, remote: &str| {
            let line = format!("0: 0100007F:1000 {remote} {state} 00000000:0000000A 00:00000000 00000000 0 0 4711");
            tcp(&line).map(|socket| (socket.state, socket.remote, socket.unread, socket.unsent))
        };
        assert_eq!(state("0A", "00000000:0000"), Some((SocketState::Listening, String::new(), 10, 0)));
        assert_eq!(state("08", "0100007F:0001"), Some((SocketState::CloseWait, "127.0.0.1:1".into(), 10, 0)));
        assert_eq!((state("xx", "00000000:0000"), state("0A", "0:0"), tcp("sl local_address")), (None, None, None));
        let unix =
            |flags: &str, state: &str| unix(&format!("0: 2 0 {flags} 0001 {state} 99")).map(|socket| socket.state);
        assert_eq!(unix("00000000", "03"), Some(SocketState::Established));
        assert_eq!(unix("00000000", "01"), Some(SocketState::Unconnected));
        assert_eq!(unix("00010000", "03"), Some(SocketState::Listening));
        assert_eq!(
            (unix("00010001", "01"), unix("00020000", "01")),
            (Some(SocketState::Listening), Some(SocketState::Unconnected))
        );
        assert_eq!(unix("x", "01"), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_of_both_families() {
        let told = |text: &str| address(text).map(|address| address.to_string());
        assert_eq!(told("0100007F:1F90").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(told("00000000000000000000000001000000:0050").as_deref(), Some("[::1]:80"));
        assert_eq!(told("B80D0120000000000000000001000000:0050").as_deref(), Some("[2001:db8::1]:80"));
        assert_eq!(told("0000000000000000FFFF00000100007F:0050").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(
            [told("0100007F"), told("0100007:1"), told("0100007F0100007F:1"), told("x:y")],
            [None, None, None, None]
        );
    }

    #[test]
    fn the_tables_of_this_process_have_its_sockets() {
        use std::os::unix::fs::MetadataExt;
        let inode = |fd: std::os::fd::OwnedFd| std::fs::File::from(fd).metadata().unwrap().ino();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local = tcp.local_addr().unwrap().to_string();
        let (unix, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let (tcp_inode, unix_inode) = (inode(tcp.try_clone().unwrap().into()), inode(unix.try_clone().unwrap().into()));
        let all = all(std::process::id() as i32);
        let listens = all.get(&tcp_inode).map(|socket| (socket.state, socket.local.clone()));
        assert_eq!(listens, Some((SocketState::Listening, local)));
        assert_eq!(all.get(&unix_inode).map(|socket| socket.state), Some(SocketState::Established));
    }
}
