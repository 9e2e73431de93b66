//! The routes of opencode's server: which `GET`s there are and the shape of each answer, and what the other methods answer
//! to an empty body and to those that clients send.
//!
//! A recording is made of a release in its sandbox, with one session in which one prompt was answered; the fake is
//! asked the same in the same state. Invariant: an extra or a missing route, an extra or a missing key and another kind
//! of value are differences, except those in [`LEFT_OUT`], each with its reason.

use crate::{Compared, Difference};
use rehang_fakes::agent_host::AgentHost;
use rehang_fakes::opencode::engine::{Effect, Engine, Out, Setup};
use rehang_fakes::opencode::release::Release;
use rehang_scenario::VTime;
use rehang_scenario::turns::Turn;
use rehang_wire::http::Target;
use rehang_wire::model::{Finish, ModelEvent};
use rehang_wire::opencode::{Called, Calls, MakeSession, Prompt, Route, RouteAnswers, Shape, Shapes, calls, target_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the model says to the prompt.
pub const SAYS: &str = "Hello.";
/// Routes that are not compared, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("/doc", "the fake lists its own routes there, without their schemas"),
    ("/provider/auth", "which vendors can be logged in to: a client cannot do so here"),
];

/// Keys that are not compared, by what [`Shape::differences`] says of them, and why.
const KEYS_LEFT_OUT: &[(&str, &str, &str)] = &[(
    "/session/{sessionID}/message",
    "/0/info/summary/title: the fake has no such key",
    "1.0.185 asks its model for a message's title, by a request that the fake has not",
)];

/// A recording of a release's routes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The release: `1.2.27`.
    pub release: String,
    /// How it was recorded.
    pub recorded: String,
    /// What the routes answered.
    #[serde(flatten)]
    pub answers: RouteAnswers,
}

/// What the fake of this release answers to the `GET`s of its own list and to the calls of the release's; `None` if no
/// fake plays it.
pub fn of_fake(version: &str, called: &Calls) -> Option<RouteAnswers> {
    let setup = Setup { turns: vec![Turn::Say(SAYS.to_owned())], ..Setup::default() };
    let mut asker = Asker {
        engine: Engine::new(Release::opencode(version).ok()?, setup, AgentHost::default()),
        tickets: 0,
        answers: Vec::new(),
    };
    let title = MakeSession { title: "routes".to_owned() }.body();
    let made = asker.ask(Route::MakeSession, &title.to_string())?;
    let session = made["id"].as_str()?.to_owned();
    let prompt = Prompt::new("go").body().to_string();
    let reply = asker.ask(Route::Prompt { session: &session, waits: true }, &prompt)?;
    let message = reply["info"]["id"].as_str()?.to_owned();
    let doc = asker.ask(Route::Doc, "")?;
    let mut shapes = Shapes::new();
    for path in
        doc["paths"].as_object()?.iter().filter(|(_, methods)| methods.get("get").is_some()).map(|(path, _)| path)
    {
        let Some(target) = target_of(path, &session, &message) else { continue };
        let target = Target::parse(&target);
        // Streams are the server's, and have no end.
        let streams = matches!(Route::parse("GET", &target), Some(Route::Events { .. }) | None);
        if let Some(body) = Route::parse("GET", &target).filter(|_| !streams).and_then(|route| asker.ask(route, "")) {
            shapes.insert(path.clone(), Shape::of(&body));
        }
    }
    let mut answers = Calls::new();
    for one in calls(called.keys(), &session, &message) {
        if let Some((status, body)) = asker.call(&one.method, &one.target, &one.body) {
            answers.insert(one.name, Called::of(status, &body));
        }
    }
    Some(RouteAnswers { routes: shapes, calls: answers })
}

/// The recording and the fake, side by side.
pub fn compare(release: &RouteAnswers, fake: &RouteAnswers) -> Compared {
    let mut compared = compare_routes(&release.routes, &fake.routes);
    for (name, called) in &release.calls {
        compared.events += 1;
        let other = fake.calls.get(name);
        let shapes = (called.shape.as_ref(), other.and_then(|other| other.shape.as_ref()));
        let what = match (other.map(|other| other.status), shapes) {
            (Some(status), _) if status != called.status => vec![format!("{}, the fake {status}", called.status)],
            (None, _) => vec![format!("{}, the fake does not answer", called.status)],
            (_, (Some(shape), Some(other))) => shape.differences(other),
            (_, (None, None)) => Vec::new(),
            (_, (shape, _)) => vec![format!("{}JSON in the release", if shape.is_some() { "" } else { "no " })],
        };
        compared.differences.extend(what.into_iter().map(|what| Difference {
            at: format!("{name}: {what}"),
            recorded: Some(json!(called)),
            fake: Some(json!(other)),
        }));
    }
    compared
}

fn compare_routes(release: &Shapes, fake: &Shapes) -> Compared {
    let left_out = |path: &String| LEFT_OUT.iter().any(|(left, _)| left == path);
    let mut compared = Compared::default();
    for (path, shape) in release.iter().filter(|(path, _)| !left_out(path)) {
        compared.events += 1;
        let at = format!("GET {path}");
        match fake.get(path) {
            None => compared.differences.push(Difference { at, recorded: Some(json!(shape)), fake: None }),
            Some(other) => {
                let counts = |what: &String| !KEYS_LEFT_OUT.iter().any(|(of, left, _)| of == path && left == what);
                let places = shape.differences(other).into_iter().filter(counts);
                compared.differences.extend(places.map(|what| Difference {
                    at: format!("{at}: {what}"),
                    recorded: Some(json!(shape)),
                    fake: Some(json!(other)),
                }));
            }
        }
    }
    for (path, shape) in fake.iter().filter(|(path, _)| !left_out(path) && !release.contains_key(*path)) {
        compared.differences.push(Difference { at: format!("GET {path}"), recorded: None, fake: Some(json!(shape)) });
    }
    compared
}

/// One client of a fake.
struct Asker {
    engine: Engine,
    tickets: u32,
    answers: Vec<(u32, u16, String)>,
}

impl Asker {
    /// Asks; returns the answer if its status is 200.
    fn ask(&mut self, route: Route<'_>, body: &str) -> Option<Value> {
        let (status, body) = self.call(route.method(), &route.to_string(), body)?;
        (status == 200).then(|| serde_json::from_str(&body).ok()).flatten()
    }

    /// Sends a request, and plays the model; returns what it is answered, if it is.
    fn call(&mut self, method: &str, target: &str, body: &str) -> Option<(u16, String)> {
        self.tickets += 1;
        let now = VTime(u64::from(self.tickets));
        self.engine.request(now, self.tickets, method, target, body.as_bytes());
        loop {
            let out = self.engine.take();
            if out.is_empty() {
                break;
            }
            for out in out {
                match out {
                    Out::Respond(answer) => self.answers.push((answer.ticket, answer.status, answer.body)),
                    Out::Effect(Effect::AskModel { stream, .. }) => {
                        let said = ModelEvent::TextDelta(SAYS.to_owned());
                        for event in [ModelEvent::Start, said, ModelEvent::Finish(Finish::Stop)] {
                            self.engine.model_event(now, stream, event);
                        }
                        self.engine.model_ended(now, stream);
                    }
                    Out::Event(_) | Out::Effect(_) | Out::Fact(_) => {}
                }
            }
        }
        let (_, status, body) = self.answers.iter().find(|(ticket, ..)| *ticket == self.tickets)?;
        Some((*status, body.clone()))
    }
}
