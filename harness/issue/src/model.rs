//! The scripted model as a program in Python that needs only its standard library.
//!
//! Invariant: what it sends is taken from [`Script::sent`], which the model server's own code makes; nothing of a response
//! is written here.

use crate::refused::Refused;
use crate::shell::PORT;
use rehang_agents::{Recipe, model::Dialect};
use rehang_model_server::{Script, Sent, TEXT, Then};
use rehang_scenario::turns::{Turn, responses};
use rehang_scenario::{Fault, Scenario};

/// A number that no run has: in its place the program puts the response's own.
const NUMBER: u32 = u32::MAX;
/// The placeholder of that number in the program.
const MARK: &str = "@N";
/// What the last tool call told the model, in a response that repeats it: a script does not read results.
pub const TOLD: &str = "what the tool said";
/// How long a silence without an end lasts, in seconds: longer than any release is watched.
const EVER: &str = "10**6";

/// The program's lines.
///
/// # Errors
/// A fault that the program cannot play.
pub fn program(recipe: &Recipe, scenario: &Scenario, is_short: bool) -> Result<Vec<String>, Refused> {
    let script = Script::new(recipe, &scenario.turns, &scenario.faults);
    let mut says = says(&script, scenario)?;
    let side = script.on_the_side(NUMBER);
    says.push(("side".to_owned(), side));
    let streams =
        says.iter().map(|(key, sent)| Ok((key.as_str(), stream(sent)?))).collect::<Result<Vec<_>, Refused>>()?;
    // of the others' main requests none is for a whole response, but those on the side of a subagent, which have its mark
    let nested = has_task(&scenario.turns);
    let is_whole = |key: &str| key == "side" || nested || recipe.dialect == Dialect::OpenaiChat;
    let whole: Vec<(&str, String)> =
        says.iter().filter(|(key, _)| is_whole(key)).map(|(key, sent)| (key.as_str(), whole(sent))).collect();
    let mut lines = vec!["import http.server, json, re, time".to_owned()];
    lines.extend(table("SAYS", &streams, is_short));
    let whole = table("WHOLE", &whole, true);
    if is_short {
        let says = lines.pop().unwrap_or_default();
        lines.push(format!("{says}; {}", whole.join("")));
    } else {
        lines.extend(whole);
    }
    let gemini = recipe.dialect == Dialect::Gemini;
    if gemini {
        lines.extend(PLAINEST.lines().map(str::to_owned));
    }
    lines.push("class Model(http.server.BaseHTTPRequestHandler):".to_owned());
    lines.push("    def do_POST(self):".to_owned());
    lines.push("        ask = json.loads(self.rfile.read(int(self.headers['content-length'])))".to_owned());
    let asks = Asks::of(recipe.dialect);
    let mut roles = format!("''.join('a' if {} else 'u' for t in {})", asks.speaks, asks.messages);
    if nested || !is_short {
        lines.push(format!("        roles = {roles}"));
        roles = "roles".to_owned();
    }
    if nested {
        lines.push(format!(
            "        task = (re.findall(r'\\[task ([0-9./]+)\\]', json.dumps({}[:(roles + 'a').index('a', {})])) or [''])[-1]",
            asks.messages,
            recipe.preload
        ));
    }
    lines.push(format!("        self.server.n += (main := {})", main(recipe, &asks, nested)));
    let mut nth = format!("len(re.findall('a+', {roles})) + 1");
    if recipe.preload > 0 {
        nth = format!("max({nth} - {}, 1)", recipe.preload);
    }
    let mut key = if nested { format!("(task + '/' if task else '') + str({nth})") } else { format!("str({nth})") };
    if says.iter().any(|(key, _)| key == "first") {
        key = format!("'first' if self.server.n == 1 else {key}");
    }
    let place = [format!("key = ({key}) if main else 'side'"), format!("says = SAYS if {} else WHOLE", asks.streams)];
    let kind = "'text/event-stream' if says is SAYS else 'application/json'";
    let head = [
        format!("self.send_response(200 if {} else 404)", asks.is_at),
        format!("self.send_header('content-type', {kind}); self.end_headers()"),
    ];
    for statements in [place, head] {
        let statements = if is_short { vec![statements.join("; ")] } else { statements.to_vec() };
        lines.extend(statements.into_iter().map(|line| format!("        {line}")));
    }
    lines.push("        for part in says.get(key) or says['*']:".to_owned());
    let text = if gemini { "side(ask, part) if key == 'side' else part" } else { "part" };
    let text = if gemini { format!("({text})") } else { text.to_owned() };
    lines.push(format!(
        "            time.sleep(part) if isinstance(part, int) else self.wfile.write({text}.replace('{MARK}', \
         str(self.server.n)).encode())"
    ));
    lines.push(format!(
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', {PORT}), Model); server.n = 0; server.serve_forever()"
    ));
    Ok(lines)
}

/// Gemini CLI asks on the side for JSON with a schema: the plainest that fits.
const PLAINEST: &str = "\
def plain(s): return s['enum'][0] if 'enum' in s else {k: plain(v) for k, v in s['properties'].items()} if 'properties' in s else ''
def side(ask, text):
    schema = ask.get('generationConfig', {}).get('responseJsonSchema')
    return text.replace('Scripted', json.dumps(json.dumps(plain(schema)))[1:-1]) if schema else text";

/// How a request of an API is read, as Python.
struct Asks {
    messages: &'static str,
    /// Whether the message `t` is the assistant's.
    speaks: &'static str,
    /// Whether a stream is wanted.
    streams: &'static str,
    /// Whether the path is the one that generates.
    is_at: &'static str,
}

impl Asks {
    fn of(dialect: Dialect) -> Asks {
        let streams = "ask.get('stream')";
        match dialect {
            Dialect::OpenaiChat => Asks {
                messages: "ask['messages']",
                speaks: "t['role'] == 'assistant'",
                streams,
                is_at: "self.path.endswith('/chat/completions')",
            },
            Dialect::OpenaiResponses => Asks {
                messages: "ask['input']",
                speaks: "t.get('role') == 'assistant' or t.get('type') == 'function_call'",
                streams,
                is_at: "self.path.endswith('/responses')",
            },
            Dialect::Anthropic => Asks {
                messages: "ask['messages']",
                speaks: "t['role'] == 'assistant'",
                streams,
                is_at: "self.path.split('?')[0].endswith('/messages')",
            },
            Dialect::Gemini => Asks {
                messages: "ask['contents']",
                speaks: "t.get('role') == 'model'",
                streams: "'streamGenerateContent' in self.path",
                is_at: "'enerateContent' in self.path",
            },
        }
    }
}

/// Whether a request is a main one, as Python.
fn main(recipe: &Recipe, asks: &Asks, nested: bool) -> String {
    let offers = |tool: &String| format!("'\"name\": \"{tool}\"' in json.dumps(ask.get('tools'))");
    let mut main = match recipe.main.as_slice() {
        [] => "bool(ask.get('tools'))".to_owned(),
        tools if tools.iter().any(|tool| tool == "*") => "True".to_owned(),
        tools => tools.iter().map(offers).collect::<Vec<_>>().join(" or "),
    };
    if nested {
        main = format!("bool(task) or {main}");
    }
    for mark in &recipe.side {
        main = format!("({main}) and {} not in json.dumps({}[-1])", python(mark), asks.messages);
    }
    // a request on another path generates nothing
    format!("({main}) and {}", asks.is_at)
}

fn has_task(turns: &[Turn]) -> bool {
    turns.iter().any(|turn| match turn {
        Turn::Task(_) => true,
        Turn::Together(calls) => has_task(calls),
        _ => false,
    })
}

/// The responses by their places; `first` is the first of all if a fault hits it alone, and `*` comes for any other place.
fn says(script: &Script, scenario: &Scenario) -> Result<Vec<(String, Sent)>, Refused> {
    let model = scenario.faults.iter().filter_map(|fault| match fault {
        Fault::Model(fault) => Some(fault.response),
        _ => None,
    });
    let hit: Vec<u32> = model.filter(|response| *response > 0).collect();
    let repeats = rehang_wire::model::script::repeats(&scenario.faults).map(|last| last + 1);
    let mut all = Vec::new();
    if repeats.is_none() {
        if let Some(later) = hit.iter().find(|response| **response > 1) {
            return Err(Refused::LaterFault(*later));
        }
        if !hit.is_empty() {
            all.push(("first".to_owned(), script.sent("1", NUMBER, 1, TOLD)));
        }
    }
    let (mut places, mut found) = (Vec::new(), Vec::new());
    places.extend((1..=responses(&scenario.turns).len()).map(|nth| nth.to_string()).rev());
    while let Some(place) = places.pop() {
        if place.parse().is_ok_and(|nth: usize| repeats.is_some_and(|last| nth >= last)) {
            continue;
        }
        if let Some(response) = rehang_scenario::turns::response_at(&scenario.turns, &place) {
            for (at, part) in response.parts.iter().enumerate() {
                if let Turn::Task(task) = part {
                    places.extend((1..=responses(&task.turns).len()).map(|nth| format!("{place}.{at}/{nth}")).rev());
                }
            }
        }
        found.push(place);
    }
    all.extend(found.into_iter().map(|place| (place.clone(), script.sent(&place, NUMBER, 0, TOLD))));
    let last = repeats.unwrap_or(responses(&scenario.turns).len() + 1).to_string();
    all.push(("*".to_owned(), script.sent(&last, NUMBER, 0, TOLD)));
    Ok(all)
}

/// A stream, as a list in Python: a text is sent, a number is a silence in seconds.
fn stream(sent: &Sent) -> Result<String, Refused> {
    let mut parts: Vec<String> = Vec::new();
    let mut text = String::new();
    for (silence, bytes) in &sent.pieces {
        if silence.as_ms() > 0 {
            parts.extend((!text.is_empty()).then(|| python(&std::mem::take(&mut text))));
            parts.push(silence.as_ms().div_ceil(1_000).to_string());
        }
        text.push_str(&String::from_utf8_lossy(bytes));
    }
    parts.extend((!text.is_empty()).then(|| python(&text)));
    Ok(match &sent.then {
        Then::Ends => format!("[{}]", parts.join(", ")),
        Then::Silence => format!("[{}, {EVER}]", parts.join(", ")),
        Then::Repeats(every, bytes) => {
            let sign = python(&String::from_utf8_lossy(bytes));
            format!("[{}] + [{}, {sign}] * {EVER}", parts.join(", "), every.as_ms().div_ceil(1_000))
        }
        Then::Reset => return Err(Refused::Fault("resets its connection".to_owned())),
        Then::Status(status) => return Err(Refused::Fault(format!("answers with status {status}"))),
    })
}

/// The whole response, after all silences of its stream.
fn whole(sent: &Sent) -> String {
    let silence: u64 = sent.pieces.iter().map(|(silence, _)| silence.as_ms()).sum();
    match sent.then {
        Then::Ends if silence == 0 => format!("[{}]", python(&sent.whole)),
        Then::Ends => format!("[{}, {}]", silence.div_ceil(1_000), python(&sent.whole)),
        _ => format!("[{EVER}]"),
    }
}

/// A dictionary, a line per entry unless it is to be short.
fn table(name: &str, entries: &[(&str, String)], is_short: bool) -> Vec<String> {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("'{key}': {value}")).collect();
    if is_short || entries.len() == 1 {
        return vec![format!("{name} = {{{}}}", entries.join(", "))];
    }
    let last = entries.len() - 1;
    let line = |(at, entry): (usize, &String)| {
        let begin = if at == 0 { format!("{name} = {{") } else { "  ".to_owned() };
        format!("{begin}{entry}{}", if at == last { "}" } else { "," })
    };
    entries.iter().enumerate().map(line).collect()
}

/// A string of Python.
fn python(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.replace(&NUMBER.to_string(), MARK).chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out + "'"
}

/// The text on the side that [`PLAINEST`] replaces.
const _: () = assert!(matches!(TEXT.as_bytes(), b"Scripted"));
