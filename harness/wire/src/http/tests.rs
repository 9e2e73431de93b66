use super::*;
use proptest::prelude::*;
use rehang_words::{Canon, Canonical, VTime};

fn pieces<H: Head>(reader: &mut Reader<H>) -> Result<Vec<Piece<H>>, HttpError> {
    let mut all = Vec::new();
    while let Some(piece) = reader.next_piece()? {
        all.push(piece);
    }
    Ok(all)
}

fn whole<H: Head>(wire: &[u8]) -> Result<Vec<Message<H>>, HttpError> {
    let mut reader = Reader::new();
    reader.feed(wire);
    reader.finish();
    let mut all = Vec::new();
    while let Some(message) = reader.next_message()? {
        all.push(message);
    }
    Ok(all)
}

#[test]
fn requests_follow_each_other_on_one_connection() {
    let mut wire = request("POST", "/session?directory=%2Fa%20b", "127.0.0.1", &[("accept", "*/*")], b"{\"title\":1}");
    wire.extend(request("GET", "/event", "127.0.0.1", &[], b""));
    let all = whole::<RequestHead>(&wire).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].body, b"{\"title\":1}");
    let target = Target::parse(&all[0].head.target);
    assert_eq!(target.path(), ["session"]);
    assert_eq!(target.query("directory"), Some("/a b"));
    assert_eq!((all[1].head.method.as_str(), all[1].body.len()), ("GET", 0));
    assert!(all[1].head.keep_alive());
}

#[test]
fn a_stream_comes_out_chunk_by_chunk() {
    let mut reader = ResponseReader::new();
    reader.feed(&streaming_head(200, &[("content-type", "text/event-stream; charset=utf-8")]));
    reader.feed(&chunk(b"data: 1\n\n"));
    let first = pieces(&mut reader).unwrap();
    let [Piece::Head(head), Piece::Body(body)] = &first[..] else { panic!("{first:?}") };
    assert!(head.is_event_stream());
    assert_eq!(body, b"data: 1\n\n");
    assert!(!reader.is_idle());
    reader.feed(&chunk(b"data: 2\n\n"));
    reader.feed(LAST_CHUNK);
    assert_eq!(pieces(&mut reader).unwrap(), [Piece::Body(b"data: 2\n\n".to_vec()), Piece::End]);
    assert!(reader.is_idle());
}

#[test]
fn a_response_without_a_length_ends_with_the_connection() {
    let mut reader = ResponseReader::new();
    reader.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    assert_eq!(pieces(&mut reader).unwrap().len(), 2);
    reader.finish();
    assert_eq!(pieces(&mut reader).unwrap(), [Piece::End]);
    assert_eq!(reader.next_piece(), Ok(None));
}

#[test]
fn interim_and_bodiless_responses_do_not_shift_the_next() {
    let wire = [CONTINUE, &response(204, &[], b"lost"), &response(200, &[], b"x")].concat();
    let all = whole::<ResponseHead>(&wire).unwrap();
    assert_eq!(all.iter().map(|m| (m.head.status, m.body.len())).collect::<Vec<_>>(), [(204, 0), (200, 1)]);
}

#[test]
fn trailers_and_chunk_extensions_are_skipped() {
    let wire = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nx: y\r\nz: w\r\n\r\n";
    assert_eq!(whole::<ResponseHead>(wire).unwrap()[0].body, b"abc");
}

#[test]
fn bad_messages_are_errors_and_stay_errors() {
    let head = |lines: &str| format!("POST / HTTP/1.1\r\n{lines}\r\n");
    let many: String = (0..=HEADERS_MAX).map(|n| format!("h{n}: v\r\n")).collect();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(HEAD_MAX_BYTES));
    let cases = [
        (head("content-length: 5\r\ncontent-length: 6\r\n"), HttpError::Length),
        (head("content-length: 5\r\ntransfer-encoding: chunked\r\n"), HttpError::Length),
        (head("content-length: +5\r\n"), HttpError::Length),
        (head("content-length: -1\r\n"), HttpError::Length),
        (head("transfer-encoding: gzip\r\n"), HttpError::Length),
        (head("content-length: 99999999\r\n"), HttpError::BodyTooLong),
        (head("transfer-encoding: chunked\r\n") + "zz\r\n", HttpError::Chunk),
        (head("transfer-encoding: chunked\r\n") + "1\r\nabc", HttpError::Chunk),
        (head("content-length: 5\r\n") + "abc", HttpError::Cut),
        (head(&many), HttpError::TooManyHeaders),
        ("no http\r\n\r\n".to_owned(), HttpError::Head),
        ("GET / HT".to_owned(), HttpError::Cut),
        (long, HttpError::HeadTooLong),
    ];
    for (wire, error) in cases {
        let mut reader = RequestReader::new();
        reader.feed(wire.as_bytes());
        reader.finish();
        let shown: String = wire.chars().take(80).collect();
        let got = loop {
            match reader.next_message() {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert_eq!(got, Err(error), "{shown}");
        reader.feed(&request("GET", "/", "h", &[], b""));
        assert_eq!(reader.next_message(), Err(error), "{shown}");
    }
}

#[test]
fn a_collected_response_is_limited() {
    let mut reader = ResponseReader::new();
    reader.feed(&streaming_head(200, &[]));
    let block = chunk(&vec![b'x'; 1024 * 1024]);
    let got = (0..17).map(|_| {
        reader.feed(&block);
        reader.next_message()
    });
    assert_eq!(got.last(), Some(Err(HttpError::BodyTooLong)));
}

#[test]
fn a_stream_that_only_keeps_alive_is_the_same_state_again() {
    let state = |reader: &ResponseReader| {
        let mut canon = Canon::new(VTime::ZERO);
        reader.canon(&mut canon);
        canon.into_bytes()
    };
    let mut reader = ResponseReader::new();
    reader.feed(&streaming_head(200, &[]));
    pieces(&mut reader).unwrap();
    let before = state(&reader);
    reader.feed(&chunk(b": ping\n\n"));
    assert_ne!(state(&reader), before);
    pieces(&mut reader).unwrap();
    assert_eq!(state(&reader), before);
}

#[test]
fn keep_alive_depends_on_version_and_header() {
    let keep = |line: &str, version: &str| {
        let wire = format!("GET / HTTP/{version}\r\n{line}\r\n");
        whole::<RequestHead>(wire.as_bytes()).unwrap()[0].head.keep_alive()
    };
    assert!(keep("", "1.1"));
    assert!(!keep("connection: Close\r\n", "1.1"));
    assert!(!keep("", "1.0"));
    assert!(keep("connection: keep-alive\r\n", "1.0"));
}

#[test]
fn a_header_value_cannot_smuggle_a_line() {
    let wire = response(200, &[("x", "a\r\nset-cookie: b")], b"");
    let head = &whole::<ResponseHead>(&wire).unwrap()[0].head;
    assert_eq!(head.headers.get("set-cookie"), None);
}

#[test]
fn targets_are_decoded_segment_by_segment() {
    let target = Target::parse("http://127.0.0.1:4096/session/a%2Fb/message?x=1+2&y=%zz&flag#frag");
    assert_eq!(target.path(), ["session", "a/b", "message"]);
    assert_eq!(target.query("x"), Some("1 2"));
    assert_eq!(target.query("y"), Some("%zz"));
    assert_eq!(target.query("flag"), Some(""));
    assert_eq!(Target::parse("/").path(), Vec::<&str>::new());
    assert_eq!(Target::parse("/r?u=http://x/y").path(), ["r"]);
}

/// Reads with the given cuts; bodies are joined, because their pieces may differ.
fn read_cut<H: Head + Canonical>(wire: &[u8], cuts: &[usize]) -> (Vec<Message<H>>, Option<HttpError>) {
    let mut reader = Reader::<H>::new();
    let mut all = Vec::new();
    let mut at = 0;
    let mut feed = |reader: &mut Reader<H>, bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => reader.feed(bytes),
            None => reader.finish(),
        }
        loop {
            match reader.next_message() {
                Ok(Some(message)) => all.push(message),
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
        }
    };
    let mut error = None;
    for cut in cuts.iter().map(|c| c % (wire.len() + 1)).chain([wire.len()]) {
        if cut >= at {
            error = error.or(feed(&mut reader, Some(&wire[at..cut])));
            at = cut;
        }
    }
    error = error.or(feed(&mut reader, None));
    (all, error)
}

prop_compose! {
    fn any_response()(status in prop_oneof![Just(200u16), Just(204), Just(503)],
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
        chunked in any::<bool>()) -> Vec<u8> {
        if chunked && status != 204 {
            let mut wire = streaming_head(status, &[("a", "b")]);
            chunks.iter().for_each(|c| wire.extend(chunk(c)));
            wire.extend_from_slice(LAST_CHUNK);
            wire
        } else {
            response(status, &[("content-type", "x/y")], &chunks.concat())
        }
    }
}

proptest! {
    #[test]
    fn cuts_change_nothing(responses in prop::collection::vec(any_response(), 1..4), mut cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let wire = responses.concat();
        cuts.iter_mut().for_each(|c| *c %= wire.len() + 1);
        cuts.sort_unstable();
        let (messages, error) = read_cut::<ResponseHead>(&wire, &cuts);
        prop_assert_eq!(error, None);
        prop_assert_eq!(messages.len(), responses.len());
        prop_assert_eq!(messages, read_cut::<ResponseHead>(&wire, &[]).0);
    }

    #[test]
    fn cuts_change_no_error_either(prefix in "(GET|POST) /x HTTP/1.1\r\n(content-length: [0-9]{1,2}\r\n|transfer-encoding: chunked\r\n)?\r\n",
        rest in "([0-9a-f]{1,2}\r\n|[a-z\r\n]{0,8}){0,6}", mut cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let wire = format!("{prefix}{rest}").into_bytes();
        cuts.iter_mut().for_each(|c| *c %= wire.len() + 1);
        cuts.sort_unstable();
        prop_assert_eq!(read_cut::<RequestHead>(&wire, &cuts), read_cut::<RequestHead>(&wire, &[]));
    }

    #[test]
    fn no_bytes_make_it_panic(wire in prop::collection::vec(any::<u8>(), 0..300), mut cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        cuts.sort_unstable();
        read_cut::<RequestHead>(&wire, &cuts);
        read_cut::<ResponseHead>(&wire, &cuts);
        Target::parse(&String::from_utf8_lossy(&wire));
    }

    #[test]
    fn percent_encoding_comes_back(text in any::<String>()) {
        prop_assert_eq!(percent_decode(&percent_encode(&text)), text);
    }
}
