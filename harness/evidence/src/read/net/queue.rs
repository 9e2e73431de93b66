//! Connections in the queue of a listening socket: nobody has accepted them yet, so that no process holds their other end.
//!
//! Invariant: a connection is given a listener only if the kernel lists it there (Unix sockets), or if it is to an address
//! of this machine at which one listens (TCP).

use super::diag;
use crate::data::{Family, Snapshot, Socket, SocketState};
use std::collections::BTreeMap;

/// The state LISTEN, as a bit (include/net/tcp_states.h).
const LISTEN: u32 = 1 << 10;
/// The most connections of one queue that are kept.
const MAX_QUEUED: usize = 4096;

/// Adds which of the tree's connections are in a queue, and the listening sockets of those queues.
pub fn add(snapshot: &mut Snapshot) {
    let open = |socket: &&Socket| {
        matches!(socket.state, SocketState::Established | SocketState::Connecting)
            && !socket.peer.is_some_and(|peer| snapshot.sockets.contains_key(&peer))
    };
    let lonely: Vec<Socket> = snapshot.sockets.values().filter(open).cloned().collect();
    let of = |family: Family| lonely.iter().filter(move |socket| socket.family == family);
    if of(Family::Tcp).any(|socket| is_local(&socket.remote)) {
        for listener in listeners() {
            for socket in of(Family::Tcp).filter(|socket| answers(&listener.local, &socket.remote)) {
                snapshot.queued.insert(socket.inode, listener.inode);
                snapshot.sockets.insert(listener.inode, listener.clone());
            }
        }
    }
    // a Unix socket without a name of its own and without a peer in sight
    if of(Family::Unix).next().is_some() {
        for (listener, clients) in unix_queues() {
            for client in of(Family::Unix).filter(|socket| clients.contains(&socket.inode)) {
                snapshot.queued.insert(client.inode, listener.inode);
                snapshot.sockets.insert(listener.inode, listener.clone());
            }
        }
    }
}

/// Whether an address with a port is one of the loopback.
fn is_local(address: &str) -> bool {
    address.parse::<std::net::SocketAddr>().is_ok_and(|address| address.ip().to_canonical().is_loopback())
}

/// Whether a socket that listens at one address takes connections to the other.
fn answers(listens: &str, remote: &str) -> bool {
    let (Ok(at), Ok(remote)) = (listens.parse::<std::net::SocketAddr>(), remote.parse::<std::net::SocketAddr>()) else {
        return false;
    };
    let (ip, to) = (at.ip().to_canonical(), remote.ip().to_canonical());
    at.port() == remote.port() && to.is_loopback() && (ip == to || ip.is_unspecified())
}

fn listeners() -> Vec<Socket> {
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = diag::inet_request(family as u8, libc::IPPROTO_TCP as u8);
        request[4..8].copy_from_slice(&LISTEN.to_ne_bytes());
        // what cannot be read has no listeners in sight
        let _ = diag::dump(&request, &mut |body| found.extend(diag::inet(body, Family::Tcp)));
    }
    found
}

/// Listening Unix sockets with the inodes of the connections in their queues.
fn unix_queues() -> Vec<(Socket, Vec<u64>)> {
    let mut found = BTreeMap::new();
    let _ = diag::dump(&diag::unix_request(LISTEN, 1 + 4 + 8 + 16), &mut |body| {
        let Some(socket) = diag::unix(body) else { return };
        let inodes =
            diag::attributes(body, 16).find(|(kind, _)| *kind == 3).map(|(_, value)| value).unwrap_or_default();
        let inodes = inodes.chunks_exact(4).take(MAX_QUEUED);
        let inodes: Vec<u64> =
            inodes.filter_map(|word| word.try_into().ok().map(u32::from_ne_bytes)).map(u64::from).collect();
        found.insert(socket.inode, (socket, inodes));
    });
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_listener_takes_connections_to_its_port_on_the_loopback() {
        let takes = |listens: &str| answers(listens, "127.0.0.1:80");
        assert_eq!(["127.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80"].map(takes), [true; 4]);
        assert_eq!(["127.0.0.1:81", "127.0.0.2:80", "10.0.0.1:80", "[::1]:80", "", "x"].map(takes), [false; 6]);
        assert!(!answers("0.0.0.0:80", "93.184.216.34:80") && answers("[::]:80", "[::1]:80"));
    }

    #[test]
    fn a_connection_that_nobody_accepted_is_in_the_queue_of_its_listener() {
        let inode = |fd: std::os::fd::OwnedFd| std::fs::File::from(fd).metadata().unwrap().ino();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let other = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let [unix, client, tcp, other] = [unix.into(), client.into(), tcp.into(), other.try_clone().unwrap().into()]
            .map(|fd: std::os::fd::OwnedFd| {
                let kept = fd.try_clone().unwrap();
                std::mem::forget(fd);
                inode(kept)
            });
        let all = diag::all().unwrap();
        let mut snapshot = Snapshot::default();
        snapshot.sockets.extend([client, other].iter().filter_map(|inode| Some((*inode, all.get(inode)?.clone()))));
        assert_eq!(snapshot.sockets.len(), 2);
        add(&mut snapshot);
        assert_eq!(snapshot.queued, BTreeMap::from([(client, unix), (other, tcp)]));
        assert!(snapshot.sockets.contains_key(&unix) && snapshot.sockets.contains_key(&tcp));
    }
}
