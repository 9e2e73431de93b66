//! Serves a script (JSON, on stdin) on a port of loopback and prints what happens, one JSON line an event.
//!
//!     scripted 4100 < script.json
//!
//! The script has `api` (`openai-chat`, `openai-responses`, `anthropic`, `gemini`) and, as an agent's file and a
//! scenario have them, `model`, `turns`, `faults`, `main`, `side`, `preload`, `tools`.

use rehang_agents::{Call, ToolShape};
use rehang_model_server::{Limits, Script, serve};
use rehang_scenario::{Fault, turns::Turn};
use rehang_wire::model::Api;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Deserialize)]
#[serde(default)]
struct Written {
    api: String,
    model: String,
    turns: Vec<Turn>,
    faults: Vec<Fault>,
    main: Vec<String>,
    side: Vec<String>,
    preload: usize,
    tools: BTreeMap<Call, ToolShape>,
}

impl Default for Written {
    fn default() -> Written {
        let model = "scripted".to_owned();
        let api = "openai-chat".to_owned();
        let (turns, faults, main, side, tools) = Default::default();
        Written { api, model, turns, faults, main, side, preload: 0, tools }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: scripted PORT < script.json")?.parse()?;
    let written: Written = serde_json::from_reader(std::io::stdin())?;
    let api = match written.api.as_str() {
        "openai-chat" => Api::OpenAiChat,
        "openai-responses" => Api::OpenAiResponses,
        "anthropic" => Api::Anthropic,
        "gemini" => Api::Gemini,
        other => return Err(format!("no api is called `{other}`").into()),
    };
    let Written { model, turns, faults, main, side, preload, tools, .. } = written;
    let script = Script { api, model, turns, faults, main, side, preload, tools, limits: Limits::default() };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let server = tokio::spawn(serve(listener, script, tell));
    while let Some(event) = told.recv().await {
        println!("{}", serde_json::to_string(&event)?);
        std::io::stdout().flush()?;
    }
    Ok(server.await??)
}
