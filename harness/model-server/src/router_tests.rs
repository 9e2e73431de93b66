use super::*;
use crate::event::Side;
use rehang_agents::{Call, ToolShape};
use rehang_scenario::{Fault, ModelDoes, ModelFault, Span};
use rehang_wire::model::{Message, Tool, ToolCall, request_body, script::Item};
use serde_json::json;
use std::collections::BTreeMap;

fn shape(name: &str, arguments: Value) -> ToolShape {
    ToolShape { name: name.to_owned(), arguments, question: None, option: None }
}

fn script(turns: Value) -> Script {
    Script {
        api: Api::OpenAiChat,
        model: "scripted".to_owned(),
        turns: serde_json::from_value(turns).unwrap(),
        faults: Vec::new(),
        main: vec!["bash".to_owned()],
        side: vec!["Warmup".to_owned()],
        preload: 0,
        tools: BTreeMap::from([
            (Call::Bash, shape("bash", json!({"command": "{command}"}))),
            (Call::Task, shape("task", json!({"prompt": "{prompt}"}))),
        ]),
        limits: crate::Limits::default(),
    }
}

fn router(turns: Value) -> Router {
    Router::new(script(turns))
}

fn said(role: &str, text: &str) -> Message {
    Message::text(role, text)
}

fn call_of(id: &str) -> Message {
    let call = ToolCall { id: id.to_owned(), name: "bash".to_owned(), input: json!({}) };
    Message { role: "assistant".to_owned(), parts: vec![Part::Call(call)] }
}

fn result_of(id: &str, text: &str) -> Message {
    let result = Part::Result { id: id.to_owned(), text: text.to_owned(), is_error: false };
    Message { role: "user".to_owned(), parts: vec![result] }
}

fn request(tools: &[&str], messages: &[Message]) -> ModelRequest {
    let tool = |name: &&str| Tool { name: (*name).to_owned(), ..Tool::default() };
    ModelRequest {
        model: "m".to_owned(),
        stream: true,
        tools: tools.iter().map(tool).collect(),
        messages: messages.to_vec(),
    }
}

/// What the router says to a request: its kind, what it tells, the problems, and the events that come at once.
fn asked(router: &mut Router, request: &ModelRequest) -> (Kind, Vec<Told>, Vec<Problem>, Vec<ModelEvent>) {
    let body = request_body(Api::OpenAiChat, request);
    let taken = router.take("POST", "/v1/chat/completions", body.as_bytes(), VTime(0));
    let Some(Happened::Request(got)) = taken.happened.first().cloned() else { panic!("a request is told first") };
    let problems = taken.happened.iter().skip(1).map(|happened| match happened {
        Happened::Problem { problem, .. } => problem.clone(),
        other => panic!("{other:?}"),
    });
    let Answer::Play(mut play) = taken.answer else { panic!("{:?}", taken.answer) };
    let items = play.stream.poll(VTime(0)).into_iter();
    let events = items.filter_map(|item| if let Item::Event(event) = item { Some(event) } else { None });
    (got.kind, got.told, problems.collect(), events.collect())
}

fn main_kind(path: &str, response: u32) -> Kind {
    Kind::Main { path: path.to_owned(), response }
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

#[test]
fn a_model_that_repeats_itself_never_comes_to_its_next_response() {
    let mut script = script(json!([{"bash": {"command": "ls"}}, {"say": "done"}]));
    script.faults = serde_json::from_value(json!([{"model": {"response": 1, "does": "repeats"}}])).unwrap();
    let mut router = Router::new(script);
    let mut messages = vec![said("user", "go")];
    for number in 1..=3 {
        let (kind, _, problems, events) = asked(&mut router, &request(&["bash"], &messages));
        assert_eq!((kind, problems), (main_kind("1", number), vec![]));
        let id = format!("call_{number}_0");
        let called = ToolCall { id: id.clone(), name: "bash".to_owned(), input: json!({"command": "ls"}) };
        assert!(events.contains(&ModelEvent::ToolCall(called)), "{events:?}");
        messages.extend([call_of(&id), result_of(&id, "x")]);
    }
}

#[test]
fn the_turn_follows_from_the_conversation() {
    let mut router = router(json!([{"say": "one"}, {"bash": {"command": "ls"}}, {"say": "got {answer}"}]));
    let first = request(&["bash"], &[said("system", "be kind"), said("user", "go")]);
    let (kind, told, problems, events) = asked(&mut router, &first);
    assert_eq!((kind, told, problems), (main_kind("1", 1), vec![], vec![]));
    let called = ToolCall { id: "call_1_1".to_owned(), name: "bash".to_owned(), input: json!({"command": "ls"}) };
    assert_eq!(events[1..3], [text("one"), ModelEvent::ToolCall(called)]);
    // A retry gets the same turn, and counts as a response of its own.
    assert_eq!(asked(&mut router, &first).0, main_kind("1", 2));
    // A reminder after the result is not a new prompt.
    let second = [said("user", "go"), call_of("a"), result_of("a", "x y"), said("user", "<reminder>")];
    let (kind, told, problems, events) = asked(&mut router, &request(&["bash"], &second));
    assert_eq!((kind, problems), (main_kind("2", 3), vec![]));
    assert_eq!(told, [Told { id: "a".to_owned(), tool: "bash".to_owned(), text: "x y".to_owned(), is_error: false }]);
    assert_eq!(events[1], text("got x y"));
}

#[test]
fn preloaded_messages_do_not_count() {
    let mut router =
        Router::new(Script { preload: 1, ..script(json!([{"say": "a"}, {"finish": "stop"}, {"say": "b"}])) });
    let preloaded = [said("user", "context"), said("assistant", "Got it."), said("user", "go")];
    assert_eq!(asked(&mut router, &request(&["bash"], &preloaded)).0, main_kind("1", 1));
    let further = [&preloaded[..], &[said("assistant", "a"), said("user", "go on")]].concat();
    let (kind, _, _, events) = asked(&mut router, &request(&["bash"], &further));
    assert_eq!((kind, &events[1]), (main_kind("2", 2), &text("b")));
}

#[test]
fn a_subagent_has_turns_of_its_own() {
    let inner = json!([{"task": {"description": "deeper", "turns": [{"say": "deepest"}]}}, {"say": "sub is done"}]);
    let turns = json!([{"say": "so"}, {"task": {"description": "run sub", "turns": inner}}, {"say": "over"}]);
    let mut router = router(turns);
    let prompt = |events: &[ModelEvent]| match events.iter().find(|e| matches!(e, ModelEvent::ToolCall(_))) {
        Some(ModelEvent::ToolCall(call)) => call.input["prompt"].as_str().unwrap_or_default().to_owned(),
        _ => panic!("{events:?}"),
    };
    let root = asked(&mut router, &request(&["bash", "task"], &[said("user", "go")]));
    let sub_prompt = prompt(&root.3);
    // It may be offered other tools than those by which a main request is known.
    let sub = [said("system", "you are a helper"), said("user", "context"), said("user", &sub_prompt)];
    let first = asked(&mut router, &request(&["read"], &sub));
    assert_eq!(first.0, main_kind("1.1/1", 2));
    let deeper = asked(&mut router, &request(&["read"], &[said("user", &prompt(&first.3))]));
    assert_eq!((deeper.0, &deeper.3[1]), (main_kind("1.1/1.0/1", 3), &text("deepest")));
    let again = [&sub[..], &[call_of("a"), result_of("a", "ok")]].concat();
    let second = asked(&mut router, &request(&["read"], &again));
    assert_eq!((second.0, &second.3[1]), (main_kind("1.1/2", 4), &text("sub is done")));
    // In the root session the mark comes after the first word.
    let back = [said("user", "go"), call_of("b"), result_of("b", "x"), said("user", &sub_prompt)];
    assert_eq!(asked(&mut router, &request(&["bash"], &back)).0, main_kind("2", 5));
}

#[test]
fn requests_on_the_side_spend_nothing() {
    let mut router = router(json!([{"say": "one"}]));
    let title = request(&[], &[said("user", "make a title")]);
    let (kind, _, problems, events) = asked(&mut router, &title);
    assert_eq!((kind, problems.len(), &events[1]), (Kind::Side(Side::Text), 0, &text(crate::side::TEXT)));
    // A classifier with tools, but not those of the agent's own requests; a warm-up with those.
    assert_eq!(asked(&mut router, &request(&["read"], &[said("user", "go")])).0, Kind::Side(Side::Text));
    let warm = [said("user", "context"), said("user", "Warmup [task 1.0]")];
    assert_eq!(asked(&mut router, &request(&["bash"], &warm)).0, Kind::Side(Side::Text));
    assert_eq!(asked(&mut router, &request(&["bash"], &[said("user", "go")])).0, main_kind("1", 1));

    let mut ask = |body: Value| {
        let taken = router.take("POST", "/v1/chat/completions", body.to_string().as_bytes(), VTime(0));
        let Answer::Play(mut play) = taken.answer else { panic!("{:?}", taken.answer) };
        play.stream.poll(VTime(0))[1].clone()
    };
    let schema = json!({"type": "object", "required": ["route"], "properties": {"route": {"enum": ["fast", "slow"]}}});
    let json_wanted =
        json!({"messages": [], "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}});
    assert_eq!(ask(json_wanted), Item::Event(text(r#"{"route":"fast"}"#)));
    let tool = json!({"type": "function", "function": {"name": "respond", "parameters": schema}});
    let forced = ToolCall { id: "call_side".to_owned(), name: "respond".to_owned(), input: json!({"route": "fast"}) };
    assert_eq!(
        ask(json!({"messages": [], "tools": [tool], "tool_choice": "required"})),
        Item::Event(ModelEvent::ToolCall(forced))
    );
    assert_eq!(ask(json!({"messages": [], "tools": [tool]})), Item::Event(text(crate::side::TEXT)));
}

#[test]
fn plain_routes_are_answered() {
    let mut router = router(json!([]));
    for (method, target, side, status) in [
        ("GET", "/v1/models", Side::Models, 200),
        ("GET", "/v1beta/models/m?x=1", Side::Models, 200),
        ("POST", "/v1/messages/count_tokens?beta=true", Side::Tokens, 200),
        ("POST", "/v1beta/models/m:countTokens", Side::Tokens, 200),
        ("HEAD", "/", Side::Hello, 200),
        ("GET", "/v1/chat/completions", Side::Unknown, 404),
        ("POST", "/v1/embeddings", Side::Unknown, 404),
    ] {
        let taken = router.take(method, target, b"", VTime(0));
        let [Happened::Request(request)] = taken.happened.as_slice() else { panic!("{:?}", taken.happened) };
        assert_eq!(request.kind, Kind::Side(side), "{method} {target}");
        assert!(matches!(taken.answer, Answer::Json(got, _) if got == status), "{method} {target}");
    }
}

#[test]
fn what_is_wrong_is_told_and_answered_all_the_same() {
    let turns = json!([{"bash": {"command": "ls"}}, {"ask": [{"question": "Which?"}]}]);
    let mut router = router(turns);
    let warm = Script { main: vec!["*".to_owned()], ..script(json!([{"bash": {"command": "ls"}}])) };
    let (kind, _, problems, _) = asked(&mut Router::new(warm), &request(&[], &[said("user", "go")]));
    assert_eq!((kind, problems), (main_kind("1", 1), vec![Problem::NotOffered("bash".to_owned())]));
    // No tool is known for a question.
    let second = [said("user", "go"), call_of("a"), result_of("b", "x")];
    let (_, _, problems, events) = asked(&mut router, &request(&["bash"], &second));
    let missing = crate::NoShape(Call::Ask).to_string();
    assert_eq!(
        problems,
        [Problem::OrphanResult("b".to_owned()), Problem::NoResult("a".to_owned()), Problem::NoShape(missing.clone())]
    );
    assert_eq!(events[1], text(&format!("({missing}) ")));
    let third =
        [said("user", "go"), said("assistant", "a"), said("user", "b"), said("assistant", "c"), said("user", "d")];
    let (kind, _, problems, _) = asked(&mut router, &request(&["bash"], &third));
    assert_eq!((kind, problems), (main_kind("3", 2), vec![Problem::BeyondScript("3".to_owned())]));
    let taken = router.take("POST", "/v1/messages", b"{", VTime(0));
    assert!(matches!(&taken.happened[1], Happened::Problem { problem: Problem::Malformed(_), .. }), "{taken:?}");
    let main = json!({"messages": [{"role": "user", "content": "x"}], "tools": [{"name": "bash"}]}).to_string();
    let other = router.take("POST", "/v1/messages", main.as_bytes(), VTime(0));
    assert!(matches!(&other.happened[1], Happened::Problem { problem: Problem::OtherApi(_), .. }), "{other:?}");
}

#[test]
fn faults_strike_main_requests_only() {
    let refused = ModelFault { response: 1, after: 0, does: ModelDoes::Status(429), retry_after: Some(Span(1500)) };
    let mut router = Router::new(Script { faults: vec![Fault::Model(refused)], ..script(json!([{"say": "a"}])) });
    let mut play = |tools: &[&str]| {
        let body = request_body(Api::OpenAiChat, &request(tools, &[said("user", "go")]));
        let taken = router.take("POST", "/v1/chat/completions", body.as_bytes(), VTime(7));
        let Answer::Play(mut play) = taken.answer else { panic!("{:?}", taken.answer) };
        (play.stream.poll(VTime(7))[0].clone(), play.stream.retry_after())
    };
    assert_eq!(play(&[]), (Item::Event(ModelEvent::Start), None));
    assert_eq!(play(&["bash"]), (Item::Status(429), Some(Span(1500))));
    assert_eq!(play(&["bash"]), (Item::Event(ModelEvent::Start), None));
}

#[test]
fn the_number_of_requests_is_limited_and_said_once() {
    let limits = crate::Limits { requests: 2, ..crate::Limits::default() };
    let mut router = Router::new(Script { limits, ..script(json!([])) });
    let told: Vec<usize> = (0..4).map(|_| router.take("GET", "/", b"", VTime(0)).happened.len()).collect();
    assert_eq!(told, [1, 1, 1, 0]);
    let last = router.take("GET", "/", b"", VTime(0));
    assert!(matches!(last.answer, Answer::Json(503, _)), "{last:?}");
}
