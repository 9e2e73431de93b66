//! The server over loopback: every API and every fault, with a plain TCP client, so that each byte and each way in
//! which a connection can end is seen. No test sleeps: what is waited for is an event or a byte.

use rehang_agents::{Call, ToolShape};
use rehang_model_server::{Ended, Event, Happened, Kind, Ledger, Limits, NeverAsked, Problem, Script, State, serve};
use rehang_scenario::{Fault, ModelDoes, ModelFault, Span};
use rehang_wire::http::ResponseReader;
use rehang_wire::model::{
    Api, Decoder, Finish, Message, ModelEvent, ModelRequest, Part, Tool, ToolCall, error_message, request_body,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A server and the events that it reports.
struct Server {
    at: std::net::SocketAddr,
    told: UnboundedReceiver<Event>,
    all: Vec<Event>,
    task: JoinHandle<io::Result<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn script(api: Api) -> Script {
    let turns = json!([{"say": "I look."}, {"bash": {"command": "ls"}}, {"say": "It said {answer}"}]);
    let bash =
        ToolShape { name: "bash".to_owned(), arguments: json!({"command": "{command}"}), question: None, option: None };
    Script {
        api,
        model: "scripted".to_owned(),
        turns: serde_json::from_value(turns).unwrap(),
        faults: Vec::new(),
        main: Vec::new(),
        side: Vec::new(),
        preload: 0,
        tools: BTreeMap::from([(Call::Bash, bash)]),
        limits: Limits::default(),
    }
}

fn faulty(api: Api, after: u32, does: ModelDoes) -> Script {
    let fault = ModelFault { response: 1, after, does, retry_after: None };
    Script { faults: vec![Fault::Model(fault)], ..script(api) }
}

impl Server {
    async fn start(script: Script) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let (tell, told) = unbounded_channel();
        Server { at, told, all: Vec::new(), task: tokio::spawn(serve(listener, script, tell)) }
    }

    /// Waits until the server reports this.
    async fn until(&mut self, wanted: impl Fn(&Happened) -> bool) {
        while !self.all.iter().any(|event| wanted(&event.happened)) {
            self.all.push(self.told.recv().await.expect("the server is up"));
        }
    }

    async fn until_state(&mut self, wanted: State) {
        self.until(|h| matches!(h, Happened::Stream { state, .. } if *state == wanted)).await;
    }

    async fn post(&self, api: Api, request: &ModelRequest) -> Client {
        let body = request_body(api, request);
        self.send("POST", &api.target("scripted", request.stream), &body).await
    }

    async fn send(&self, method: &str, target: &str, body: &str) -> Client {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let head = format!("{method} {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + body).as_bytes()).await.unwrap();
        Client { stream, reader: ResponseReader::new() }
    }
}

/// How a response came to its end.
#[derive(Debug, PartialEq)]
enum End {
    /// Correctly for HTTP.
    Complete,
    /// By a reset.
    Reset,
}

struct Client {
    stream: TcpStream,
    reader: ResponseReader,
}

impl Client {
    /// Reads some bytes into the reader; false at the end of the connection.
    async fn more(&mut self) -> io::Result<bool> {
        let mut buf = [0; 4096];
        let read = self.stream.read(&mut buf).await?;
        self.reader.feed(&buf[..read]);
        Ok(read > 0)
    }

    /// The whole response: status, headers' `retry-after`, body.
    async fn whole(mut self) -> (u16, Option<String>, Vec<u8>) {
        loop {
            if let Some(message) = self.reader.next_message().unwrap() {
                let after = message.head.headers.get("retry-after").map(str::to_owned);
                return (message.head.status, after, message.body);
            }
            assert!(self.more().await.unwrap(), "the connection ended early");
        }
    }

    /// The events of a stream until `enough` of them came, or its end.
    async fn events(&mut self, api: Api, enough: usize) -> (Vec<ModelEvent>, Option<End>) {
        let mut raw = Vec::new();
        loop {
            let (body, complete) = dechunked(&raw);
            let mut decoder = Decoder::new(api);
            decoder.feed(&body);
            let mut all = Vec::new();
            while let Some(event) = decoder.next_event().unwrap() {
                all.push(event);
            }
            if complete {
                return (all, Some(End::Complete));
            }
            if all.len() >= enough {
                return (all, None);
            }
            let mut buf = [0; 4096];
            match self.stream.read(&mut buf).await {
                Ok(0) => panic!("closed within a body: {:?}", String::from_utf8_lossy(&raw)),
                Ok(read) => raw.extend_from_slice(&buf[..read]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return (all, Some(End::Reset)),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The body so far of a chunked response, and whether its last chunk has come.
fn dechunked(raw: &[u8]) -> (Vec<u8>, bool) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(at) = raw.windows(4).position(|w| w == b"\r\n\r\n") else { return (Vec::new(), false) };
    let head = text(&raw[..at]).to_ascii_lowercase();
    assert!(head.contains("transfer-encoding: chunked") && head.contains("text/event-stream"), "{head}");
    let mut rest = &raw[at + 4..];
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|w| w == b"\r\n") {
        let length = usize::from_str_radix(&text(&rest[..line]), 16).unwrap();
        if length == 0 {
            return (body, true);
        }
        let Some(chunk) = rest.get(line + 2..line + 2 + length) else { break };
        body.extend_from_slice(chunk);
        rest = rest.get(line + 4 + length..).unwrap_or_default();
    }
    (body, false)
}

fn prompt() -> ModelRequest {
    let parameters = json!({"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}});
    ModelRequest {
        model: "scripted".to_owned(),
        stream: true,
        tools: vec![Tool { name: "bash".to_owned(), description: "runs".to_owned(), parameters }],
        messages: vec![Message::text("system", "be kind"), Message::text("user", "go")],
    }
}

/// The prompt with the first response and the tool's result after it.
fn second(result_of: &str) -> ModelRequest {
    let mut request = prompt();
    let said = Part::Text("I look.".to_owned());
    request.messages.push(Message { role: "assistant".to_owned(), parts: vec![said, Part::Call(bash())] });
    let result = Part::Result { id: result_of.to_owned(), text: "a b".to_owned(), is_error: false };
    request.messages.push(Message { role: "user".to_owned(), parts: vec![result] });
    request
}

fn bash() -> ToolCall {
    ToolCall { id: "call_1_1".to_owned(), name: "bash".to_owned(), input: json!({"command": "ls"}) }
}

fn first_turn() -> Vec<ModelEvent> {
    vec![
        ModelEvent::Start,
        ModelEvent::TextDelta("I look.".to_owned()),
        ModelEvent::ToolCall(bash()),
        ModelEvent::Finish(Finish::ToolCalls),
    ]
}

const ALL: usize = usize::MAX;

#[tokio::test]
async fn two_turns_in_every_api() {
    for api in Api::ALL {
        let mut server = Server::start(script(api)).await;
        let (events, end) = server.post(api, &prompt()).await.events(api, ALL).await;
        assert_eq!((events, end), (first_turn(), Some(End::Complete)), "{api:?}");
        let (events, end) = server.post(api, &second("call_1_1")).await.events(api, ALL).await;
        assert_eq!(events[1], ModelEvent::TextDelta("It said a b".to_owned()), "{api:?}");
        assert_eq!((events.last(), end), (Some(&ModelEvent::Finish(Finish::Stop)), Some(End::Complete)), "{api:?}");
        server.until(|h| matches!(h, Happened::Stream { n: 2, state: State::Ended(_) })).await;
        let ledger = Ledger::of(&server.all);
        assert_eq!((ledger.main, ledger.side, &ledger.problems), (2, 0, &vec![]), "{api:?}");
        let told: Vec<_> = ledger.told.iter().map(|t| (t.tool.as_str(), t.text.as_str())).collect();
        assert_eq!(told, [("bash", "a b")], "{api:?}");
        assert_eq!(ledger.ended, BTreeMap::from([(1, Ended::Whole), (2, Ended::Whole)]), "{api:?}");
        assert!(ledger.open.is_empty() && !ledger.model_is_at_work() && ledger.reached().is_ok());
    }
}

#[tokio::test]
async fn a_request_that_wants_no_stream_gets_it_whole_in_every_api() {
    for api in Api::ALL {
        let server = Server::start(script(api)).await;
        let request = ModelRequest { stream: false, ..prompt() };
        let (status, _, body) = server.post(api, &request).await.whole().await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        let (text, name, finish) = match api {
            Api::OpenAiChat => (
                &body["choices"][0]["message"]["content"],
                &body["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
                (&body["choices"][0]["finish_reason"], "tool_calls"),
            ),
            Api::OpenAiResponses => {
                (&body["output"][0]["content"][0]["text"], &body["output"][1]["name"], (&body["status"], "completed"))
            }
            Api::Anthropic => {
                (&body["content"][0]["text"], &body["content"][1]["name"], (&body["stop_reason"], "tool_use"))
            }
            Api::Gemini => {
                let candidate = &body["candidates"][0];
                let parts = &candidate["content"]["parts"];
                (&parts[0]["text"], &parts[1]["functionCall"]["name"], (&candidate["finishReason"], "STOP"))
            }
        };
        assert_eq!((status, text, name), (200, &json!("I look."), &json!("bash")), "{api:?} {body}");
        assert_eq!(finish.0, finish.1, "{api:?}");
    }
}

#[tokio::test]
async fn a_stalled_stream_says_so_and_the_server_goes_on() {
    for api in Api::ALL {
        let mut server = Server::start(faulty(api, 1, ModelDoes::Stall)).await;
        let mut client = server.post(api, &prompt()).await;
        assert_eq!(client.events(api, 2).await, (first_turn()[..2].to_vec(), None), "{api:?}");
        server.until_state(State::Stalled).await;
        let ledger = Ledger::of(&server.all);
        assert_eq!(ledger.open, BTreeMap::from([(1, State::Stalled)]), "{api:?}");
        assert!(!ledger.model_is_at_work());
        // A retry is the second response, which no fault strikes.
        let (events, end) = server.post(api, &prompt()).await.events(api, ALL).await;
        assert_eq!((events.len(), end), (4, Some(End::Complete)), "{api:?}");
        // The client goes: the server notices though it has nothing to write.
        drop(client);
        server.until_state(State::Ended(Ended::ClientGone)).await;
        assert_eq!(Ledger::of(&server.all).ended.get(&1), Some(&Ended::ClientGone), "{api:?}");
    }
}

#[tokio::test]
async fn signs_of_life_go_on_and_nothing_else_comes() {
    for api in Api::ALL {
        let mut server = Server::start(faulty(api, 1, ModelDoes::KeepAlive(Span(1)))).await;
        let (events, end) = server.post(api, &prompt()).await.events(api, 6).await;
        let mut wanted = first_turn()[..2].to_vec();
        wanted.resize(events.len(), ModelEvent::KeepAlive);
        assert_eq!((events, end), (wanted, None), "{api:?}");
        server.until_state(State::KeepAlive).await;
        assert!(!Ledger::of(&server.all).model_is_at_work());
    }
}

#[tokio::test]
async fn a_cut_stream_ends_in_good_order_for_http_alone() {
    for api in Api::ALL {
        let mut server = Server::start(faulty(api, 1, ModelDoes::Truncate)).await;
        let (events, end) = server.post(api, &prompt()).await.events(api, ALL).await;
        assert_eq!((events, end), (first_turn()[..2].to_vec(), Some(End::Complete)), "{api:?}");
        server.until_state(State::Ended(Ended::Cut)).await;
    }
}

#[tokio::test]
async fn a_stream_may_end_without_a_finish() {
    for api in Api::ALL {
        let mut server = Server::start(faulty(api, 0, ModelDoes::NoFinish)).await;
        let (events, end) = server.post(api, &prompt()).await.events(api, ALL).await;
        assert_eq!((events, end), (first_turn()[..3].to_vec(), Some(End::Complete)), "{api:?}");
        server.until_state(State::Ended(Ended::Whole)).await;
    }
}

#[tokio::test]
async fn a_reset_comes_behind_what_was_said() {
    for api in Api::ALL {
        // Chat's decoder gives a call out when what follows shows that it is whole: nothing follows here.
        for after in if api == Api::OpenAiChat { [0, 1] } else { [1, 2] } {
            let mut server = Server::start(faulty(api, after, ModelDoes::Reset)).await;
            let (events, end) = server.post(api, &prompt()).await.events(api, ALL).await;
            let wanted = first_turn()[..=after as usize].to_vec();
            assert_eq!((events, end), (wanted, Some(End::Reset)), "{api:?} after {after}");
            server.until_state(State::Ended(Ended::Reset)).await;
        }
    }
    let server = Server::start(faulty(Api::Anthropic, 2, ModelDoes::Reset)).await;
    let mut client = server.post(Api::Anthropic, &ModelRequest { stream: false, ..prompt() }).await;
    assert_eq!(client.more().await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_status_comes_with_the_apis_own_error() {
    for api in Api::ALL {
        for (status, after, header) in [(429, Some(Span(1500)), Some("2")), (500, None, None), (400, None, None)] {
            let does = ModelDoes::Status(status);
            let fault = ModelFault { response: 0, after: 0, does, retry_after: after };
            let mut server = Server::start(Script { faults: vec![Fault::Model(fault)], ..script(api) }).await;
            let (got, told, body) = server.post(api, &prompt()).await.whole().await;
            assert_eq!((got, told.as_deref()), (status, header), "{api:?}");
            assert_eq!(error_message(&body), "scripted error", "{api:?}");
            server.until_state(State::Ended(Ended::Status(status))).await;
        }
    }
}

#[tokio::test]
async fn slow_chunks_and_pauses_come_in_order() {
    for does in [ModelDoes::Slow(Span(2)), ModelDoes::Pause(Span(2))] {
        let server = Server::start(faulty(Api::OpenAiChat, 1, does)).await;
        let (events, end) = server.post(Api::OpenAiChat, &prompt()).await.events(Api::OpenAiChat, ALL).await;
        assert_eq!((events, end), (first_turn(), Some(End::Complete)), "{does:?}");
    }
    // What comes late is not there at once: the server is asked for something else meanwhile.
    let mut server = Server::start(faulty(Api::OpenAiChat, 1, ModelDoes::Pause(Span::secs(3_600)))).await;
    let mut client = server.post(Api::OpenAiChat, &prompt()).await;
    assert_eq!(client.events(Api::OpenAiChat, 2).await.0, first_turn()[..2]);
    server.until_state(State::Chunk(1)).await;
    assert!(Ledger::of(&server.all).model_is_at_work(), "a pause ends by itself");
}

#[tokio::test]
async fn problems_are_told_and_the_agent_is_answered() {
    let mut server = Server::start(script(Api::Anthropic)).await;
    let (events, _) = server.post(Api::Anthropic, &second("nobody's")).await.events(Api::Anthropic, ALL).await;
    assert_eq!(events[1], ModelEvent::TextDelta("It said a b".to_owned()));
    server.until(|h| matches!(h, Happened::Problem { problem: Problem::OrphanResult(_), .. })).await;
    server.until(|h| matches!(h, Happened::Problem { problem: Problem::NoResult(_), .. })).await;
    let (status, _, _) = server.send("POST", "/v1/messages", "{no json").await.whole().await;
    assert_eq!(status, 200);
    server.until(|h| matches!(h, Happened::Problem { problem: Problem::Malformed(_), .. })).await;
}

#[tokio::test]
async fn side_requests_on_one_connection_spend_nothing() {
    let mut server = Server::start(script(Api::OpenAiChat)).await;
    assert_eq!(Ledger::of(&server.all).reached(), Err(NeverAsked::NoRequest));
    let title = json!({"model": "small", "messages": [{"role": "user", "content": "a title, please"}]}).to_string();
    let mut client = server.send("POST", "/v1/chat/completions", &title).await;
    client.stream.write_all(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut bodies = Vec::new();
    while bodies.len() < 2 {
        match client.reader.next_message().unwrap() {
            Some(message) => bodies.push(serde_json::from_slice::<Value>(&message.body).unwrap()),
            None => assert!(client.more().await.unwrap()),
        }
    }
    assert_eq!(bodies[0]["choices"][0]["message"]["content"], "Scripted");
    assert_eq!(bodies[1]["data"][0]["id"], "scripted");
    server.until(|h| matches!(h, Happened::Request(request) if request.n == 2)).await;
    assert_eq!(Ledger::of(&server.all).reached(), Err(NeverAsked::OnlyAside(2)));
    server.post(Api::OpenAiChat, &prompt()).await.events(Api::OpenAiChat, ALL).await;
    let first = Kind::Main { path: "1".to_owned(), response: 1 };
    server.until(|h| matches!(h, Happened::Request(request) if request.kind == first)).await;
}

#[tokio::test]
async fn what_comes_in_is_limited() {
    let limits = Limits { body_bytes: 1_000, requests: 3, connections: 1 };
    let mut server = Server::start(Script { limits, ..script(Api::OpenAiChat) }).await;
    let (status, _, _) = server.send("POST", "/v1/chat/completions", &" ".repeat(1_001)).await.whole().await;
    assert_eq!(status, 413);
    server.until(|h| matches!(h, Happened::Problem { problem: Problem::TooLong(1_000), .. })).await;
    let statuses = async {
        let mut all = Vec::new();
        for _ in 0..4 {
            all.push(server.send("GET", "/v1/models", "").await.whole().await.0);
        }
        all
    };
    assert_eq!(statuses.await, [200, 200, 503, 503]);
    // One connection at a time: the second waits, and gets its turn when the first goes.
    let first = server.send("GET", "/", "").await;
    let second = server.send("GET", "/", "").await;
    assert_eq!(first.whole().await.0, 503);
    assert_eq!(second.whole().await.0, 503);
}
