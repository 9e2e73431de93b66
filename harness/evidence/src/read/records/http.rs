//! One GET request on loopback.
//!
//! Invariant: only GET requests are sent, and only to a loopback address; at most 1 MiB of an answer is read, within
//! half a second.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const MAX_BYTES: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_millis(500);

/// The status and body of an answer.
pub fn get(to: SocketAddr, path: &str) -> Option<(u16, Vec<u8>)> {
    if !to.ip().is_loopback() || path.contains(['\r', '\n', ' ']) {
        return None;
    }
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let (mut all, mut part, began) = (Vec::new(), [0; 16_384], Instant::now());
    while (all.len() as u64) < MAX_BYTES && began.elapsed() < PATIENCE && !complete(&all) {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(read) => all.extend_from_slice(part.get(..read)?),
        }
    }
    parse(&all)
}

fn split(all: &[u8]) -> Option<(String, &[u8])> {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&all[..end]).to_ascii_lowercase(), &all[end + 4..]))
}

fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| line.strip_prefix("content-length:")).and_then(|n| n.trim().parse().ok())
}

fn chunked(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"))
}

/// Whether an answer is complete, so that a server that keeps the connection open is not waited for.
fn complete(all: &[u8]) -> bool {
    let Some((head, body)) = split(all) else { return false };
    match length(&head) {
        Some(length) => body.len() >= length,
        None => chunked(&head) && body.ends_with(b"0\r\n\r\n"),
    }
}

fn parse(all: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (head, body) = split(all)?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    if !chunked(&head) {
        return Some((status, body.get(..length(&head).unwrap_or(body.len()))?.to_vec()));
    }
    let (mut rest, mut whole) = (body, Vec::new());
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = String::from_utf8_lossy(&rest[..line]);
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let from = line + 2;
        if size == 0 {
            return Some((status, whole));
        }
        whole.extend_from_slice(rest.get(from..from.checked_add(size)?)?);
        rest = rest.get(from + size + 2..)?;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server on loopback that gives each path its whole answer, and closes the connection if it says so.
    pub fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let mut request = Vec::new();
                let mut part = [0; 1_024];
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut part) {
                        Ok(0) | Err(_) => break,
                        Ok(read) => request.extend_from_slice(&part[..read]),
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let whole = answer(&request);
                let _ = stream.write_all(&whole);
                // an answer that tells its length needs no end of the connection
                if split(&whole).is_some_and(|(head, _)| length(&head).is_some() || chunked(&head)) {
                    kept.push(stream);
                }
            }
        });
        to
    }

    #[test]
    fn whole_cut_and_chunked_answers() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"), Some((200, b"[]".to_vec())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]"), None);
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1;x\r\n]\r\n0\r\n\r\n";
        assert_eq!(parse(chunks), Some((200, b"[]".to_vec())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n["), None);
        // what comes after the length is not part of it; without a length all is
        assert_eq!(parse(b"HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\n[]"), Some((404, b"[".to_vec())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nX-Content-Length: 1\r\n\r\n[]"), Some((200, b"[]".to_vec())));
        let parts =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n2\r\ngh\r\n0\r\n\r\n";
        assert_eq!(parse(parts), Some((200, b"0123456789abcdefgh".to_vec())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n[]"), Some((200, b"[]".to_vec())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer: chunked\r\n\r\n[]"), Some((200, b"[]".to_vec())));
        assert_eq!((parse(b"HTTP/1.1 200 OK\r\n"), parse(b"HTTP/1.1 x\r\n\r\n")), (None, None));
    }

    #[test]
    fn an_answer_is_complete_at_its_length_or_its_last_chunk() {
        let long = |body: &str| complete(format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{body}").as_bytes());
        assert_eq!(["ab", "abc", "abcd"].map(long), [false, true, true]);
        let chunks =
            |body: &str| complete(format!("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n{body}").as_bytes());
        assert_eq!(["1\r\na\r\n", "1\r\na\r\n0\r\n\r\n"].map(chunks), [false, true]);
        assert!(!complete(b"HTTP/1.1 200\r\n") && !complete(b"HTTP/1.1 200\r\n\r\n0\r\n\r\n"));
    }

    #[test]
    fn only_a_plain_path_of_a_loopback_address_is_asked() {
        let to = serve(|request| {
            let head = if request.contains("/open") { "" } else { "Content-Length: 4\r\n" };
            let body = if request.starts_with("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:") { "good" } else { "evil" };
            format!("HTTP/1.1 201 OK\r\n{head}\r\n{body}").into_bytes()
        });
        let asked = || {
            let began = Instant::now();
            assert_eq!(get(to, "/a?b"), Some((201, b"good".to_vec())));
            began.elapsed()
        };
        // a busy machine may take long once
        let quick = (0..8).any(|_| asked() < PATIENCE);
        assert!(quick, "a connection that is kept open is not waited for");
        assert_eq!(get(to, "/open"), Some((201, b"evil".to_vec())));
        assert_eq!(["/a b", "/a\rb", "/a\nb"].map(|path| get(to, path)), [None, None, None]);
        let everywhere = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = everywhere.local_addr().unwrap();
        let began = Instant::now();
        assert_eq!(get(silent, "/"), None);
        assert!((PATIENCE..20 * PATIENCE).contains(&began.elapsed()), "{:?}", began.elapsed());
        assert_eq!(get("192.0.2.1:80".parse().unwrap(), "/"), None);
    }

    #[test]
    fn an_answer_without_an_end_is_cut_and_counts_as_none() {
        let endless = serve(|_| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".to_vec();
            [head, vec![b'x'; 2 << 20]].concat()
        });
        assert_eq!(get(endless, "/"), None);
        let long = serve(|_| [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 900_000]].concat());
        assert_eq!(get(long, "/").map(|(status, body)| (status, body.len())), Some((200, 900_000)));
    }
}
