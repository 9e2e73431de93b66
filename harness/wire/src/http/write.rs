//! From messages to bytes.
//!
//! Invariant: the bytes are a function of the arguments alone; a header value cannot break out of its line.

/// The interim response for a client that [`expects it`](super::RequestHead::expects_continue).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A request. Its length is written where it has a body, or where its method usually has one.
pub fn request(method: &str, path: &str, host: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{method} {} HTTP/1.1\r\n", one_word(path));
    line(&mut out, "host", host);
    for (name, value) in headers {
        line(&mut out, name, value);
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        line(&mut out, "content-length", &body.len().to_string());
    }
    out.push_str("\r\n");
    [out.as_bytes(), body].concat()
}

/// A whole response. One that has no body by its status (1xx, 204, 304) gets none.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = status_line(status, headers);
    if matches!(status, 100..=199 | 204 | 304) {
        out.push_str("\r\n");
        return out.into_bytes();
    }
    line(&mut out, "content-length", &body.len().to_string());
    out.push_str("\r\n");
    [out.as_bytes(), body].concat()
}

/// The head of a response whose body follows in [`chunk`]s up to [`LAST_CHUNK`].
pub fn streaming_head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut out = status_line(status, headers);
    line(&mut out, "transfer-encoding", "chunked");
    out.push_str("\r\n");
    out.into_bytes()
}

/// A chunk of a body. Of no bytes it is nothing, since an empty chunk would be the last.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
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
    let mut out = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        line(&mut out, name, value);
    }
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    out.push_str(&format!("{name}: {value}\r\n"));
}

/// A space or a line break in a target would end the request line early.
fn one_word(path: &str) -> String {
    path.chars().map(|c| if c.is_control() || c == ' ' { "%20".to_owned() } else { c.to_string() }).collect()
}
