//! The model of a script, run as it is printed, beside the model server of the live stage.
//!
//! Invariant: both are asked the same, and what they send is the same, byte for byte, up to a silence without an end.

use rehang_agents::{Agent, Recipe, Version};
use rehang_issue::{PORT, TOLD, program};
use rehang_model_server::{Script, Then};
use rehang_scenario::Scenario;
use rehang_wire::model::{Message, ModelRequest, Part, Tool, ToolCall, request_body};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// A program that is killed when the test is over.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the model of a script on a free port.
fn started(recipe: &Recipe, scenario: &Scenario, is_short: bool) -> (Program, u16) {
    let text = program(recipe, scenario, is_short).unwrap_or_else(|why| panic!("{why}")).join("\n");
    let free = text.replace(&format!("'127.0.0.1', {PORT}"), "'127.0.0.1', 0");
    let says = free.replace("server.n = 0;", "server.n = 0; print(server.server_port, flush=True);");
    let mut python = Command::new("python3");
    python.args(["-c", &says]).stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
    let mut child = python.spawn().expect("python3");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let port = line.trim().parse().unwrap_or_else(|_| panic!("{line:?} is no port: {says}"));
    (Program(child), port)
}

/// Starts the model server, which lives as long as the test.
fn served(script: Script) -> u16 {
    let (tell, port) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address").port()).expect("the test waits");
            let (events, _) = tokio::sync::mpsc::unbounded_channel();
            let _ = rehang_model_server::serve(listener, script, events).await;
        });
    });
    port.recv().expect("a port")
}

/// The body of a response; of one that never ends, as many bytes as are `due`.
fn asked(port: u16, target: &str, body: &str, due: Option<usize>) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    // HTTP/1.0: the body is not cut into chunks
    let length = body.len();
    write!(
        stream,
        "POST {target} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if line.trim().is_empty() {
            break;
        }
    }
    let mut bytes = Vec::new();
    match due {
        Some(due) => {
            bytes.resize(due, 0);
            reader.read_exact(&mut bytes).expect("so many bytes");
        }
        None => drop(reader.read_to_end(&mut bytes).expect("an end")),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A request after the assistant has spoken this often.
fn request(recipe: &Recipe, spoken: usize, stream: bool) -> ModelRequest {
    let name = recipe.main.first().filter(|name| *name != "*").map_or("bash", String::as_str).to_owned();
    let tool = Tool { name, description: String::new(), parameters: serde_json::json!({"type": "object"}) };
    let mut messages = vec![Message::text("user", "go")];
    for nth in 0..recipe.preload as usize + spoken {
        let id = format!("c{nth}");
        let call = ToolCall { id: id.clone(), name: "bash".to_owned(), input: serde_json::json!({}) };
        messages.push(Message { role: "assistant".to_owned(), parts: vec![Part::Call(call)] });
        let result = Part::Result { id, text: TOLD.to_owned(), is_error: false };
        messages.push(Message { role: "user".to_owned(), parts: vec![result] });
    }
    ModelRequest { model: recipe.model.clone(), stream, tools: vec![tool], messages }
}

#[test]
fn the_model_of_a_script_sends_what_the_model_server_sends() {
    let agents = Agent::all(None).unwrap_or_else(|error| panic!("{error}"));
    let cells = [
        ("cn", "1.5.47", "stream-stalled"),
        ("opencode", "1.18.33", "stream-keepalive-only"),
        ("opencode", "1.18.33", "stream-without-finish"),
        ("codex", "0.169.0", "same-call-again"),
        ("claude", "2.1.329", "bash-never-ends"),
        ("claude", "2.1.329", "tool-server-mute-at-call"),
        ("gemini", "0.61.0", "stream-keepalive-only"),
        ("aider", "0.86.2", "stream-keepalive-only"),
        ("cline", "3.0.65", "question"),
    ];
    for ((agent, version, name), is_short) in cells.into_iter().zip([false, true].into_iter().cycle()) {
        let agent = agents.iter().find(|known| known.name() == agent).expect("an agent");
        let version: Version = version.parse().expect("a version");
        let recipe = agent.at(&version).unwrap_or_else(|error| panic!("{error}"));
        let named = rehang_upstream::plan::scenarios(&[name.to_owned()], &[]).unwrap_or_else(|error| panic!("{error}"));
        let scenario = &named[0].scenario;
        let script = Script::new(&recipe, &scenario.turns, &scenario.faults);
        let (_program, port) = started(&recipe, scenario, is_short);
        let reference = served(script.clone());
        for spoken in 0..3 {
            let request = request(&recipe, spoken, true);
            let number = u32::try_from(spoken).expect("a number") + 1;
            let sent = script.sent(&number.to_string(), number, number, TOLD);
            let whole: usize = sent.pieces.iter().map(|(_, bytes)| bytes.len()).sum();
            let due = (sent.then != Then::Ends).then_some(whole);
            let (target, body) = (script.api.target(&recipe.model, true), request_body(script.api, &request));
            let [own, wanted] = [port, reference].map(|port| asked(port, &target, &body, due));
            assert!(!wanted.is_empty());
            assert_eq!(own, wanted, "{} {name}, request {number}", agent.name());
        }
    }
}
