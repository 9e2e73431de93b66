//! Laws of the compared state of everything that reads bytes: readers with equal encodings read alike whatever comes,
//! and readers that will read differently have different encodings.
//!
//! All sequences of some pieces are tried, so nothing here is random.

use crate::http::{Head, Reader, RequestHead, ResponseHead};
use crate::model::script::{Chunk, ModelScript, Stream};
use crate::model::{Api, Decoder, ModelEvent};
use crate::sse;
use rehang_scenario::{Canon, Canonical, Fault, ModelDoes, ModelFault, Span, VTime};
use std::collections::BTreeMap;

fn encoded(of: &dyn Canonical) -> Vec<u8> {
    let mut canon = Canon::new(VTime::ZERO);
    of.canon(&mut canon);
    canon.into_bytes()
}

/// Feeds a reader sequences of up to three of these pieces, and compares readers that come to the same encoding.
/// Returns how many did.
fn equal_states_read_alike<R: Canonical + Clone>(
    new: R,
    pieces: &[&str],
    feed: impl Fn(&mut R, &str) -> String,
) -> u32 {
    let mut known: BTreeMap<Vec<u8>, (R, String)> = BTreeMap::new();
    let mut front = vec![(new, String::new())];
    let mut equal = 0;
    for _ in 0..4 {
        let mut next = Vec::new();
        for (reader, fed) in front {
            let Some((before, fed_before)) = known.get(&encoded(&reader)) else {
                known.insert(encoded(&reader), (reader.clone(), fed.clone()));
                for piece in pieces {
                    let mut reader = reader.clone();
                    feed(&mut reader, piece);
                    next.push((reader, format!("{fed}{piece}")));
                }
                continue;
            };
            equal += 1;
            for first in pieces {
                for second in pieces {
                    let read = |reader: &R| {
                        let mut reader = reader.clone();
                        (feed(&mut reader, first), feed(&mut reader, second), encoded(&reader))
                    };
                    assert!(read(before) == read(&reader), "{fed_before:?} and {fed:?}, then {first:?} {second:?}");
                }
            }
        }
        front = next;
    }
    equal
}

fn http<H: Head + Canonical + std::fmt::Debug>(start: &str) -> u32 {
    let pieces = [
        start,
        "content-length: 3\r\n",
        "transfer-encoding: chunked\r\n",
        "\r\n",
        "a",
        "b",
        "2\r\n",
        "0\r\n",
        "x: y\r\n\r\n",
        "",
    ];
    equal_states_read_alike(Reader::<H>::new(), &pieces, |reader, piece| {
        // an empty piece is the end
        if piece.is_empty() {
            reader.finish();
        }
        reader.feed(piece.as_bytes());
        let mut came = String::new();
        for _ in 0..20 {
            let next = reader.next_piece();
            came.push_str(&format!("{next:?}"));
            if !matches!(next, Ok(Some(_))) {
                break;
            }
        }
        came
    })
}

#[test]
fn messages() {
    assert!(http::<RequestHead>("GET / HTTP/1.1\r\n") > 100);
    assert!(http::<ResponseHead>("HTTP/1.1 200 OK\r\n") > 100);
}

#[test]
fn whole_messages() {
    let pieces = ["POST / HTTP/1.1\r\n", "content-length: 3\r\n", "\r\n", "a", "b", "ab"];
    let equal = equal_states_read_alike(Reader::<RequestHead>::new(), &pieces, |reader, piece| {
        reader.feed(piece.as_bytes());
        format!("{:?}", reader.next_message())
    });
    assert!(equal > 10);
}

#[test]
fn event_streams() {
    let pieces = ["data: a", "data", "id: 1", "event: x", ":", "\n", "\r", "\u{feff}", "b"];
    let equal = equal_states_read_alike(sse::Decoder::new(), &pieces, |decoder, piece| {
        decoder.feed(piece.as_bytes());
        let mut came = String::new();
        while let Ok(Some(item)) = decoder.next_item() {
            came.push_str(&format!("{item:?}"));
        }
        came
    });
    assert!(equal > 100);
}

#[test]
fn model_streams() {
    let delta = |delta: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    let call = |more: &str| delta(&format!("{{\"tool_calls\":[{{\"index\":0,{more}}}]}}"));
    let pieces = [
        delta("{\"content\":\"a\"}"),
        call("\"id\":\"c1\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}"),
        call("\"id\":\"c2\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}"),
        call("\"function\":{\"arguments\":\"{\"}"),
        call("\"function\":{\"arguments\":\"}\"}"),
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
        "data: [DONE]\n\n".to_owned(),
        "data: no\n\n".to_owned(),
        ": ping\n\n".to_owned(),
        "data: ".to_owned(),
    ];
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let equal = equal_states_read_alike(Decoder::new(Api::OpenAiChat), &pieces, |decoder, piece| {
        decoder.feed(piece.as_bytes());
        let mut came = String::new();
        for _ in 0..20 {
            let next = decoder.next_event();
            came.push_str(&format!("{next:?} {}", decoder.is_ended()));
            if !matches!(next, Ok(Some(_))) {
                break;
            }
        }
        came
    });
    assert!(equal > 100);
}

#[test]
fn what_a_played_response_says_later_differs() {
    let fault = |response, does, retry_after| ModelFault { response, after: 0, does, retry_after };
    let stream = |texts: &[&str], faults: &[ModelFault]| {
        let say = |text: &&str| Chunk::Event(ModelEvent::TextDelta((*text).to_owned()));
        Stream::new(texts.iter().map(say).collect(), faults, VTime::ZERO)
    };
    let status = |after: u64| [fault(1, ModelDoes::Status(429), Some(Span(after)))];
    assert_ne!(encoded(&stream(&["a"], &[])), encoded(&stream(&["b"], &[])));
    assert_ne!(encoded(&stream(&["a"], &[])), encoded(&stream(&["a", "a"], &[])));
    assert_ne!(encoded(&stream(&[], &status(1))), encoded(&stream(&[], &status(2))), "how long to wait");
    let begun = |times: usize| {
        let mut script = ModelScript::new(&[Fault::Model(fault(3, ModelDoes::Reset, None))]);
        (0..times).for_each(|_| drop(script.begin(Vec::new(), VTime::ZERO)));
        encoded(&script)
    };
    assert_ne!(begun(1), begun(2), "one more response that counts towards a fault");
    assert_eq!(begun(4), begun(9), "none is named behind the third");
}
