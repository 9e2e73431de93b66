//! From messages to bytes.
//!
//! Invariant: the bytes are a function of the arguments alone; a header value cannot break out of its line.

/// Roughly the size of a head without its target, in bytes: that much is allocated at once.
const HEAD_BYTES: usize = 128;

/// The interim response for a client that [`expects it`](super::RequestHead::expects_continue).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The digits of a chunk's size.
const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// The end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A request. Its length is written if it has a body, or if its method usually has one.
pub fn request(method: &str, path: &str, host: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(HEAD_BYTES + path.len() + body.len());
    out.push_str(method);
    out.push(' ');
    one_word(&mut out, path);
    out.push_str(" HTTP/1.1\r\n");
    line(&mut out, "host", host);
    for (name, value) in headers {
        line(&mut out, name, value);
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        line(&mut out, "content-length", itoa::Buffer::new().format(body.len()));
    }
    with_body(out, body)
}

/// A whole response. A response whose status allows no body (1xx, 204, 304) gets none.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = status_line(status, headers);
    if matches!(status, 100..=199 | 204 | 304) {
        out.push_str("\r\n");
        return out.into_bytes();
    }
    line(&mut out, "content-length", itoa::Buffer::new().format(body.len()));
    with_body(out, body)
}

/// The head of a response whose body follows in [`chunk`]s up to [`LAST_CHUNK`].
pub fn streaming_head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut out = status_line(status, headers);
    line(&mut out, "transfer-encoding", "chunked");
    out.push_str("\r\n");
    out.into_bytes()
}

/// A chunk of a body. Without bytes it is empty, since an empty chunk would be the last one.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    // sixteen digits at most, and two line ends
    let mut out = Vec::with_capacity(bytes.len() + 20);
    write_chunk(&mut out, bytes);
    out
}

/// Appends what [`chunk`] gives.
pub fn write_chunk<'b>(out: &mut impl Extend<&'b u8>, bytes: &'b [u8]) {
    if bytes.is_empty() {
        return;
    }
    for shift in (0..=bytes.len().ilog2() / 4).rev() {
        out.extend([&DIGITS[bytes.len() >> (4 * shift) & 0xf]]);
    }
    out.extend(b"\r\n");
    out.extend(bytes);
    out.extend(b"\r\n");
}

/// The usual reason phrase of a status.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Status",
    }
}

fn status_line(status: u16, headers: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(HEAD_BYTES);
    for part in ["HTTP/1.1 ", itoa::Buffer::new().format(status), " ", reason(status), "\r\n"] {
        out.push_str(part);
    }
    for (name, value) in headers {
        line(&mut out, name, value);
    }
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str(": ");
    match is_plain(value) {
        true => out.push_str(value),
        false => out.extend(value.chars().map(|c| if c.is_control() { ' ' } else { c })),
    }
    out.push_str("\r\n");
}

/// Whether nothing in a text can be a control character, as in most.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A space or a line break in a target would end the request line early.
fn one_word(out: &mut String, path: &str) {
    if is_plain(path) && !path.contains(' ') {
        return out.push_str(path);
    }
    for c in path.chars() {
        match c.is_control() || c == ' ' {
            true => out.push_str("%20"),
            false => out.push(c),
        }
    }
}

/// The end of a head, and the body.
fn with_body(head: String, body: &[u8]) -> Vec<u8> {
    let mut out = head.into_bytes();
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}
