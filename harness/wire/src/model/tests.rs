use super::script::{Chunk, Item, ModelScript, Stream, chunks};
use super::*;
use proptest::prelude::*;
use rehang_scenario::turns::{Turn, responses};
use rehang_scenario::{Canon, Fault, ModelDoes, ModelFault, Span, VTime};
use serde_json::json;

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "bash".to_owned(), input: json!({"command": "make \"x\"\n"}) }
}

fn said(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn decode(api: Api, parts: &[&[u8]]) -> (Vec<ModelEvent>, bool) {
    let mut decoder = Decoder::new(api);
    let mut all = Vec::new();
    for part in parts {
        decoder.feed(part);
        while let Some(event) = decoder.next_event().unwrap() {
            all.push(event);
        }
    }
    (all, decoder.is_ended())
}

#[test]
fn every_api_carries_every_event() {
    for api in Api::ALL {
        let sent = [
            ModelEvent::Start,
            said("one "),
            said("two"),
            ModelEvent::KeepAlive,
            ModelEvent::ToolCall(call("c1")),
            ModelEvent::ToolCall(call("c2")),
            said("three"),
            ModelEvent::Finish(Finish::ToolCalls),
        ];
        let mut encoder = Encoder::new(api, "r1", "m");
        let mut parts: Vec<Vec<u8>> = sent.iter().map(|event| encoder.event(event)).collect();
        parts.push(encoder.end());
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let (got, ended) = decode(api, &parts);
        assert_eq!(got, sent, "{api:?}");
        assert!(ended, "{api:?}");
    }
}

#[test]
fn a_tool_in_a_namespace_is_called_by_both_names() {
    let of = |name: &str| {
        let call = ModelEvent::ToolCall(ToolCall { name: name.to_owned(), ..call("c1") });
        let bytes = Encoder::new(Api::OpenAiResponses, "r1", "m").event(&call);
        let text = String::from_utf8(bytes).unwrap();
        (text.contains(r#""name":"query""#), text.contains(r#""namespace":"mcp__db""#))
    };
    assert_eq!((of("mcp__db/query"), of("query")), ((true, true), (true, false)));
}

#[test]
fn a_stream_without_a_finish_is_told_apart() {
    for api in Api::ALL {
        let mut encoder = Encoder::new(api, "r1", "m");
        let wire = [encoder.event(&ModelEvent::Start), encoder.event(&said("x"))].concat();
        let (got, ended) = decode(api, &[&wire]);
        assert_eq!((got, ended), (vec![ModelEvent::Start, said("x")], false), "{api:?}");
        let (got, ended) = decode(api, &[&wire, &encoder.end()]);
        assert_eq!(got.len(), 2, "{api:?}");
        // OpenAI responses end with `response.completed`, Gemini with its finish reason: both with the finish.
        assert_eq!(ended, matches!(api, Api::OpenAiChat | Api::Anthropic), "{api:?}");
    }
}

#[test]
fn errors_keep_status_and_message() {
    for api in Api::ALL {
        for status in [429, 500] {
            let error = ModelEvent::Error { status, message: "busy".to_owned() };
            let wire = Encoder::new(api, "r1", "m").event(&error);
            assert_eq!(decode(api, &[&wire]).0, [error], "{api:?}");
            assert_eq!(error_message(error_body(api, status, "busy").to_string().as_bytes()), "busy");
        }
    }
    assert_eq!(error_message(b"<html>"), "<html>");
}

#[test]
fn a_call_cut_by_the_end_never_comes_out() {
    let wire = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"com"}}]}}]}

"#;
    assert_eq!(decode(Api::OpenAiChat, &[wire]).0, [ModelEvent::Start]);
    let mut decoder = Decoder::new(Api::OpenAiChat);
    decoder.feed(&[&wire[..], b"data: [DONE]\n\n"].concat());
    assert_eq!(decoder.next_event(), Ok(Some(ModelEvent::Start)));
    assert_eq!(decoder.next_event(), Err(ModelError::Arguments));
    assert_eq!(decoder.next_event(), Err(ModelError::Arguments));
}

#[test]
fn arguments_in_pieces_are_put_together() {
    let piece = |body: serde_json::Value| crate::sse::data(&body.to_string());
    let delta = |call: serde_json::Value| piece(json!({"choices": [{"delta": {"tool_calls": [call]}}]}));
    let wire = [
        delta(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"n\""}})),
        delta(json!({"index": 0, "function": {"arguments": ":1}"}})),
        delta(json!({"index": 1, "id": "b", "function": {"name": "ls", "arguments": ""}})),
    ]
    .concat();
    let tool = |id: &str, name: &str, input| {
        ModelEvent::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
    };
    assert_eq!(decode(Api::OpenAiChat, &[&wire]).0, [ModelEvent::Start, tool("a", "bash", json!({"n": 1}))]);
    let done = [&wire[..], b"data: [DONE]\n\n"].concat();
    assert_eq!(decode(Api::OpenAiChat, &[&done]).0[2], tool("b", "ls", json!({})));
}

#[test]
fn requests_come_back_from_every_api() {
    let request = ModelRequest {
        model: "m".to_owned(),
        stream: true,
        tools: vec![Tool { name: "bash".to_owned(), description: "runs".to_owned(), parameters: json!({}) }],
        messages: vec![
            Message::text("system", "be kind"),
            Message::text("user", "go"),
            Message { role: "assistant".to_owned(), parts: vec![Part::Call(call("c1"))] },
            Message {
                role: "user".to_owned(),
                parts: vec![Part::Result { id: "c1".to_owned(), text: "ok".to_owned(), is_error: false }],
            },
        ],
    };
    for api in Api::ALL {
        let target = format!("/base{}", api.target("m", true));
        let body = serde_json::from_str(&request_body(api, &request)).unwrap();
        let got = ModelRequest::at(api, &target, &body);
        assert_eq!(got, request, "{api:?}");
        assert!(got.is_main() && got.offers("bash") && !got.offers("Bash"));
        assert_eq!((got.turn(), got.last_result()), (1, Some("ok")), "{api:?}");
        assert_eq!(Api::of_target(&target), Some(api));
        assert_eq!(Api::of_target(&format!("/base{}?beta=true", api.path())), Some(api));
    }
    let title = ModelRequest::parse(Api::OpenAiChat, &json!({"messages": [{"role": "user", "content": "title"}]}));
    assert!(!title.is_main());
    assert_eq!(ModelRequest::parse(Api::Anthropic, &json!([1])), ModelRequest::default());
    assert_eq!(Api::of_target("/v1/models"), None);
    assert_eq!(Api::of_target("/v1beta/models/m:countTokens"), None);
}

#[test]
fn gemini_calls_without_ids_find_their_results() {
    let call = |n: u32| json!({"functionCall": {"name": "ls", "args": {"n": n}}});
    let result = |key: &str| json!({"functionResponse": {"name": "ls", "response": {key: "told"}}});
    let body = json!({
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{"thought": true, "text": "hm"}, call(1), call(2)]},
            {"role": "user", "parts": [result("output"), result("error")]},
        ],
        "tools": [{"functionDeclarations": [{"name": "ls", "parameters": {"type": "OBJECT"}}]}],
    });
    let request = ModelRequest::at(Api::Gemini, &Api::Gemini.target("flash", false), &body);
    assert_eq!((request.model.as_str(), request.stream, request.turn()), ("flash", false, 1));
    let ids = |message: &Message| -> Vec<(String, bool)> {
        let id = |part: &Part| match part {
            Part::Call(call) => (call.id.clone(), false),
            Part::Result { id, is_error, .. } => (id.clone(), *is_error),
            Part::Text(text) => (text.clone(), false),
        };
        message.parts.iter().map(id).collect()
    };
    assert_eq!(ids(&request.messages[2]), [("ls#1".to_owned(), false), ("ls#2".to_owned(), false)]);
    assert_eq!(ids(&request.messages[3]), [("ls#1".to_owned(), false), ("ls#2".to_owned(), true)]);
    let wire = [json!({"candidates": [{"content": {"parts": [call(1), call(2)]}, "finishReason": "STOP"}]})];
    let wire = wire.map(|chunk| crate::sse::data(&chunk.to_string())).concat();
    let (events, ended) = decode(Api::Gemini, &[&wire]);
    let called = |n: u32| {
        ModelEvent::ToolCall(ToolCall { id: format!("ls#{n}"), name: "ls".to_owned(), input: json!({"n": n}) })
    };
    assert_eq!(events, [ModelEvent::Start, called(1), called(2), ModelEvent::Finish(Finish::ToolCalls)]);
    assert!(ended);
}

fn script() -> Vec<Chunk> {
    let turns = [
        Turn::Say("a".to_owned()),
        Turn::Think(Span::secs(5)),
        Turn::Say("b {answer}".to_owned()),
        Turn::Permit(serde_json::from_value(json!({"permission": "edit"})).unwrap()),
    ];
    let all = responses(&turns);
    assert_eq!(all.len(), 1);
    chunks(&all[0], |text| text.replace("{answer}", "!"), |_| Some(call("c1")))
}

fn fault(after: u32, does: ModelDoes) -> ModelFault {
    ModelFault { response: 1, after, does, retry_after: None }
}

/// All that comes until nothing more does, with its instants; at most 20 instants.
fn play(faults: &[ModelFault]) -> Vec<(u64, Item)> {
    let mut stream = Stream::new(script(), faults, VTime(1_000));
    let mut all = Vec::new();
    for _ in 0..20 {
        let Some(at) = stream.deadline() else { break };
        assert!(at.0 == 1_000 || stream.poll(VTime(at.0 - 1)).is_empty());
        all.extend(stream.poll(at).into_iter().map(|item| (at.0, item)));
    }
    all
}

fn event(at: u64, event: ModelEvent) -> (u64, Item) {
    (at, Item::Event(event))
}

#[test]
fn a_response_comes_in_its_own_time() {
    let whole = play(&[]);
    assert_eq!(
        whole,
        [
            event(1_000, ModelEvent::Start),
            event(1_000, said("a")),
            event(6_000, said("b !")),
            event(6_000, ModelEvent::ToolCall(call("c1"))),
            event(6_000, ModelEvent::Finish(Finish::ToolCalls)),
            (6_000, Item::Ended { clean: true }),
        ]
    );
}

#[test]
fn a_model_that_thinks_says_that_it_lives() {
    let chunks = vec![Chunk::Pause(Span::secs(200)), Chunk::Event(said("a"))];
    let mut stream = Stream::new(chunks.clone(), &[], VTime(1_000));
    let mut all = Vec::new();
    while let Some(at) = stream.deadline() {
        all.extend(stream.poll(at).into_iter().map(|item| (at.0, item)));
    }
    let alive = |at: u64| (at, Item::KeepAlive);
    let rest = [event(201_000, said("a")), (201_000, Item::Ended { clean: true })];
    let whole = [vec![event(1_000, ModelEvent::Start), alive(98_000), alive(195_000)], rest.to_vec()].concat();
    assert_eq!(all, whole);
    // a reader that was frozen meanwhile finds one sign of life
    let late = Stream::new(chunks, &[], VTime(1_000)).poll(VTime(900_000));
    assert_eq!(late.iter().filter(|item| **item == Item::KeepAlive).count(), 1);
}

#[test]
fn each_fault_strikes_behind_its_chunk() {
    let whole = play(&[]);
    assert_eq!(play(&[fault(1, ModelDoes::Stall)]), whole[..2]);
    assert_eq!(play(&[fault(0, ModelDoes::Stall)]), whole[..1]);
    let with = |n: usize, item| [&whole[..n], &[item]].concat();
    assert_eq!(play(&[fault(1, ModelDoes::Truncate)]), with(2, (1_000, Item::Ended { clean: false })));
    assert_eq!(play(&[fault(2, ModelDoes::Reset)]), with(3, (6_000, Item::Reset)));
    assert_eq!(play(&[fault(3, ModelDoes::Status(429))]), [(1_000, Item::Status(429))]);
    assert_eq!(play(&[fault(0, ModelDoes::NoFinish)]), with(4, (6_000, Item::Ended { clean: true })));
    // After the finish the terminator is delayed (openhuman PR#4393).
    assert_eq!(play(&[fault(4, ModelDoes::Stall)]), whole[..5]);
    let paused: Vec<u64> = play(&[fault(2, ModelDoes::Pause(Span(7)))]).iter().map(|(at, _)| *at).collect();
    assert_eq!(paused, [1_000, 1_000, 6_000, 6_007, 6_007, 6_007]);
    let slow: Vec<u64> = play(&[fault(0, ModelDoes::Slow(Span(10)))]).iter().map(|(at, _)| *at).collect();
    assert_eq!(slow, [1_000, 1_010, 6_020, 6_030, 6_040, 6_040]);
}

#[test]
fn keep_alives_go_on_for_ever_and_the_state_repeats() {
    let mut stream = Stream::new(script(), &[fault(1, ModelDoes::KeepAlive(Span(100)))], VTime(0));
    assert_eq!(stream.poll(VTime(0)).len(), 2);
    let state = |stream: &Stream, now| {
        let mut canon = Canon::new(now);
        stream.canon(&mut canon);
        canon.into_bytes()
    };
    let first = state(&stream, VTime(0));
    for at in [100, 200] {
        assert_eq!(stream.poll(VTime(at - 1)), []);
        assert_eq!(stream.poll(VTime(at)), [Item::KeepAlive]);
        assert_eq!(state(&stream, VTime(at)), first);
    }
    assert_eq!(stream.poll(VTime(100_050)), [Item::KeepAlive]);
    assert_eq!(stream.deadline(), Some(VTime(100_100)));
}

#[test]
fn faults_find_their_response() {
    let faults = [
        Fault::Model(ModelFault { response: 2, after: 0, does: ModelDoes::Reset, retry_after: None }),
        Fault::Queue(rehang_scenario::QueueFault::Refuses),
    ];
    let mut script = ModelScript::new(&faults);
    let ends: Vec<Item> = (0..3).map(|_| script.begin(Vec::new(), VTime(0)).poll(VTime(0)).pop().unwrap()).collect();
    assert_eq!(ends, [Item::Ended { clean: true }, Item::Reset, Item::Ended { clean: true }]);
    let mut every = ModelScript::new(&[Fault::Model(ModelFault {
        response: 0,
        after: 0,
        does: ModelDoes::Reset,
        retry_after: None,
    })]);
    every.begin(Vec::new(), VTime(0));
    assert_eq!(every.begin(Vec::new(), VTime(0)).poll(VTime(0)).pop(), Some(Item::Reset));
}

fn any_does() -> impl Strategy<Value = ModelDoes> {
    prop_oneof![
        Just(ModelDoes::Stall),
        Just(ModelDoes::Truncate),
        Just(ModelDoes::NoFinish),
        Just(ModelDoes::Reset),
        (0u64..9_000).prop_map(|ms| ModelDoes::Pause(Span(ms))),
        (0u64..9_000).prop_map(|ms| ModelDoes::KeepAlive(Span(ms))),
        (0u64..9_000).prop_map(|ms| ModelDoes::Slow(Span(ms))),
        (400u16..600).prop_map(ModelDoes::Status),
    ]
}

proptest! {
    #[test]
    fn a_stream_is_the_same_however_it_is_polled_and_whenever_it_starts(
        faults in prop::collection::vec((0u32..6, any_does()), 0..4), start in 0u64..1_000_000, step in 1u64..3_000) {
        let faults: Vec<ModelFault> = faults.into_iter().map(|(after, does)| fault(after, does)).collect();
        let whole = |start: u64, step: u64| {
            let mut stream = Stream::new(script(), &faults, VTime(start));
            let mut all = Vec::new();
            let mut now = start;
            while now < start + 60_000 {
                all.extend(stream.poll(VTime(now)).into_iter().filter(|i| *i != Item::KeepAlive));
                now += step;
            }
            all
        };
        prop_assert_eq!(whole(start, step), whole(0, 1_000));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(lines in prop::collection::vec(
        "(data: (\\{\"type\":\"[a-z_.]{0,30}\"(,\"index\":[0-9]{1,20})?\\}|[\\[{\"0-9a-z,:]{0,20}|\\[DONE\\])|: x)?\n", 0..8)) {
        for api in Api::ALL {
            let mut decoder = Decoder::new(api);
            for line in &lines {
                decoder.feed(line.as_bytes());
                while let Ok(Some(_)) = decoder.next_event() {}
            }
        }
    }
}

#[test]
fn a_tool_of_a_namespace_is_called_by_both_names() {
    let call = ToolCall { name: "mcp__db/query".to_owned(), ..call("c1") };
    let wire = Encoder::new(Api::OpenAiResponses, "r1", "m").event(&ModelEvent::ToolCall(call));
    let text = String::from_utf8_lossy(&wire);
    assert_eq!(text.matches(r#""name":"query""#).count(), 2, "{text}");
    assert_eq!(text.matches(r#""namespace":"mcp__db""#).count(), 2, "{text}");
    let group = json!({"type": "namespace", "name": "mcp__db", "tools": [{"type": "function", "name": "query"}]});
    let request = ModelRequest::parse(Api::OpenAiResponses, &json!({"tools": [group]}));
    assert!(request.offers("mcp__db/query") && !request.offers("mcp__db/other"));
}
