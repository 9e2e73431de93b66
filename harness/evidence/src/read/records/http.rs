//! One GET request on loopback.
//!
//! Invariant: only GET requests are sent, and only to a loopback address; at most 1 MiB of an answer is read, within
//! half a second.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const MAX_BYTES: usize = 1 << 20;
/// A test has a server of its own, which answers; on a busy machine that may take longer.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 20_000 } else { 500 });

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
    parse(&receive(&mut stream))
}

/// The bytes of an answer, until it is complete or too long, or its sender has closed the connection or is too slow.
fn receive(stream: &mut impl Read) -> Vec<u8> {
    let (mut all, mut part, began) = (Vec::new(), [0; 16_384], Instant::now());
    while all.len() < MAX_BYTES && in_time(began) && !complete(&all) {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(read) => all.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    all
}

fn in_time(began: Instant) -> bool {
    began.elapsed() < PATIENCE
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
mod tests {
    use super::*;
    use crate::read::staged::Served;

    #[test]
    fn whole_cut_and_chunked_answers() {
        let told = |answer: &str| {
            let found = parse(answer.as_bytes());
            found.map(|(status, body)| (status, String::from_utf8(body).unwrap()))
        };
        let is = |body: &str| Some((200, body.to_owned()));
        let plain = |head: &str, body: &str| told(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"));
        assert_eq!(plain("Content-Length: 2", "[]"), is("[]"));
        assert_eq!(plain("content-LENGTH:2", "[]and more"), is("[]"));
        assert_eq!(plain("Content-Length: 3", "[]"), None, "cut");
        assert_eq!(plain("Server: x", "until the end"), is("until the end"));
        assert_eq!(plain("Server: x", ""), is(""));
        assert_eq!(told("HTTP/1.1 404 Not Found\r\n\r\nno"), Some((404, "no".to_owned())));
        assert_eq!(
            ["", "\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n"].map(told),
            [const { None }; 5]
        );
        let chunked = |body: &str| plain("Transfer-Encoding: chunked", body);
        assert_eq!(chunked("1\r\n[\r\n1;x=y\r\n]\r\n0\r\n\r\n"), is("[]"));
        assert_eq!(chunked("a\r\n0123456789\r\n 3 \r\n\r\nx\r\n0\r\n\r\n"), is("0123456789\r\nx"));
        assert_eq!(chunked("0\r\n\r\n"), is(""));
        for cut in
            ["", "1", "1\r\n", "1\r\n[", "1\r\n[\r", "1\r\n[\r\n", "2\r\n[\r\n0\r\n\r\n", "ffffffffffffffff\r\n["]
        {
            assert_eq!(chunked(cut), None, "{cut:?}");
        }
        assert_eq!(chunked("x\r\n[\r\n0\r\n\r\n"), None, "not a number");
    }

    #[test]
    fn an_encoding_is_that_of_its_own_header() {
        let head = |text: &str| (chunked(text), length(text));
        assert_eq!(head("http/1.1 200 ok\r\ntransfer-encoding: gzip, chunked"), (true, None));
        assert_eq!(head("http/1.1 200 ok\r\ntransfer-encoding: gzip\r\nx: chunked"), (false, None));
        assert_eq!(head("http/1.1 200 ok\r\nx: transfer-encoding: chunked\r\ncontent-length: 70"), (false, Some(70)));
        assert_eq!(head("http/1.1 200 ok\r\nx-content-length: 70\r\ncontent-length: x"), (false, None));
    }

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        let is = |text: &str| complete(text.as_bytes());
        let sized = |body: &str| is(&format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}"));
        assert_eq!(["", "[", "[]", "[]x"].map(sized), [false, false, true, true]);
        let chunked = |body: &str| is(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
        assert_eq!(
            ["", "1\r\n[\r\n", "1\r\n[\r\n0\r\n\r", "1\r\n[\r\n0\r\n\r\n"].map(chunked),
            [false, false, false, true]
        );
        // one without either ends with its connection
        assert!(!is("HTTP/1.1 200 OK\r\n\r\n0\r\n\r\n") && !is("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"));
    }

    #[test]
    fn no_more_is_read_than_the_answer_and_never_more_than_the_limit() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
        let left = |answer: Vec<u8>| {
            let mut rest = answer.as_slice();
            let read = receive(&mut rest).len();
            (read, rest.len())
        };
        // at most 16,384 bytes come at once
        let long = format!("{head}[]{}", "x".repeat(20_000)).into_bytes();
        assert_eq!(left(long), (16_384, head.len() + 20_002 - 16_384));
        assert_eq!(left(vec![b'x'; (1 << 20) + 5]), (1 << 20, 5));
        assert_eq!(left(vec![b'x'; 40_000]), (40_000, 0));
    }

    #[test]
    fn a_server_has_its_time_and_no_more() {
        let now = Instant::now();
        assert!(in_time(now) && now.checked_sub(PATIENCE).is_none_or(|began| !in_time(began)));
    }

    #[test]
    fn a_server_on_loopback_is_asked_with_a_get() {
        let answer = |target: &str| match target {
            "/long" => [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 2 << 20]].concat(),
            "/cut" => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]".to_vec(),
            "/other" => b"220 mail.example.org\r\n".to_vec(),
            "/none" => Vec::new(),
            target => format!("HTTP/1.1 404 No\r\nContent-Length: {}\r\n\r\n{target}", target.len()).into_bytes(),
        };
        let server = Served::new(answer);
        let text = |path: &str| get(server.at, path).map(|(status, body)| (status, body.len()));
        assert_eq!(text("/a?b=c"), Some((404, 6)));
        let head = "HTTP/1.1 200 OK\r\n\r\n".len();
        // the piece that crosses the limit is kept whole
        assert!(text("/long").is_some_and(|(status, size)| {
            status == 200 && ((1 << 20) - head..(1 << 20) + 16_384 - head).contains(&size)
        }));
        assert_eq!(["/cut", "/other", "/none"].map(text), [None; 3]);
        let asked = server.asked();
        let first = format!(
            "GET /a?b=c HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
            server.at
        );
        assert_eq!((asked.len(), asked.first()), (5, Some(&first)));
        // what would be another request, and an address that is none of loopback although it leads there
        assert_eq!(["/ x", "/\rx", "/\nx"].map(text), [None; 3]);
        let anywhere = SocketAddr::from(([0, 0, 0, 0], server.at.port()));
        assert_eq!(get(anywhere, "/a"), None);
        assert_eq!(server.asked().len(), 5, "nothing was sent");
    }
}
