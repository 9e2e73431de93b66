//! The faults of a client, as data.

use crate::protocol::{BY_CLIENT, PERMISSION, VERSION, WAIT_FOR_EXIT};
use crate::script::{Ask, Expect, How, Plan, Step};
use std::collections::BTreeSet;

/// The name of the healthy conversation.
pub const CONTROL: &str = "none";
/// How late an answer is that is late, and how long a client reads nothing, in milliseconds.
const LATE_MS: u64 = 600_000;
/// When a tool runs that was granted a permission, in milliseconds.
const GRANTED_MS: u64 = 1_000;
/// A version of the protocol that does not exist.
const NO_VERSION: u32 = 9_999;
/// How many requests more than fill a small pipe.
const FLOOD: usize = 200;

/// A fault, or the healthy conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Its name, such as `permission/never`.
    pub name: String,
    /// What the client does, as a predicate: "cancels at once".
    pub about: String,
    /// Whether the agent may wait for the client as long as it likes: then a wait for it is a fact, and no fault.
    pub may_wait: bool,
    /// What is played.
    pub plan: Plan,
}

/// What the agent was seen to do in the healthy conversation, which decides which faults fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests that it made.
    pub methods: BTreeSet<String>,
    /// It sent `session/update` in a turn.
    pub updates: bool,
    /// It reported a tool that runs.
    pub tools: bool,
    /// It can load sessions.
    pub loads: bool,
}

/// What a conversation has beside what every one has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// A method of `authenticate`, before each session.
    pub login: Option<String>,
    /// A mode of `session/set_mode`, for the first session.
    pub mode: Option<String>,
}

impl Setup {
    /// The start of a conversation: `initialize`, `authenticate`, `session/new`, `session/set_mode`.
    fn hello(&self) -> Vec<Step> {
        let login = self.login.iter().map(|method| Ask::Authenticate(method.clone()));
        let mode = self.mode.iter().map(|mode| Ask::SetMode(mode.clone()));
        let asks = login.chain([Ask::NewSession]).chain(mode);
        initialized().into_iter().chain(asks.flat_map(|ask| [Step::Ask(ask, Expect::Result), Step::Replies])).collect()
    }
}

fn initialized() -> Vec<Step> {
    vec![Step::Ask(Ask::Initialize(VERSION), Expect::Version(VERSION)), Step::Replies]
}

fn prompt(expect: Expect) -> Step {
    Step::Ask(Ask::Prompt(0), expect)
}

/// A turn that ends well: it shows that the agent still serves the session.
fn probe() -> [Step; 2] {
    [prompt(Expect::Result), Step::Replies]
}

/// The healthy conversation, with two turns.
pub fn control(setup: &Setup) -> Fault {
    let mut steps = setup.hello();
    steps.extend([prompt(Expect::Result), Step::Replies]);
    steps.extend(probe());
    Fault {
        name: CONTROL.to_owned(),
        about: "does all that it must".to_owned(),
        may_wait: false,
        plan: Plan { steps, ..Plan::default() },
    }
}

/// The short word for a method of the client's in a fault's name.
fn short(method: &str) -> &str {
    match method {
        PERMISSION => "permission",
        "fs/read_text_file" => "read-file",
        "fs/write_text_file" => "write-file",
        "terminal/create" => "terminal-create",
        "terminal/output" => "terminal-output",
        WAIT_FOR_EXIT => "terminal-wait",
        "terminal/kill" => "terminal-kill",
        "terminal/release" => "terminal-release",
        other => other,
    }
}

/// All faults that fit an agent, and those that do not, by name with the reason.
pub fn faults(seen: &Seen, setup: &Setup) -> (Vec<Fault>, Vec<(String, String)>) {
    let mut list = List { seen, setup, all: Vec::new(), unfit: Vec::new() };
    list.replies();
    list.cancels();
    list.requests();
    list.closes();
    list.streams();
    (list.all, list.unfit)
}

struct List<'a> {
    seen: &'a Seen,
    setup: &'a Setup,
    all: Vec<Fault>,
    unfit: Vec<(String, String)>,
}

impl List<'_> {
    /// Adds a fault that is played after the start of a conversation.
    fn add(&mut self, name: &str, about: &str, steps: impl IntoIterator<Item = Step>) -> &mut Fault {
        let all = self.setup.hello().into_iter().chain(steps).collect();
        self.add_whole(name, about, all)
    }

    fn add_whole(&mut self, name: &str, about: &str, steps: Vec<Step>) -> &mut Fault {
        let plan = Plan { steps, ..Plan::default() };
        self.all.push(Fault { name: name.to_owned(), about: about.to_owned(), may_wait: false, plan });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    fn asks(&mut self, method: &str, name: &str) -> bool {
        let fits = self.seen.methods.contains(method);
        if !fits {
            self.unfit.push((name.to_owned(), "it never made such a request".to_owned()));
        }
        fits
    }

    /// Each request of the agent's, answered wrongly.
    fn replies(&mut self) {
        let each = [
            ("never", "never answers", How::Never),
            ("late", "answers ten minutes late", How::Late(LATE_MS)),
            ("twice", "answers twice", How::Twice),
            ("error", "answers with an error", How::Error),
            ("wrong-shape", "answers with a result that has nothing of what it must have", How::WrongShape),
        ];
        let of_permission = [
            ("rejected", "refuses", How::Reject),
            ("cancelled", "answers `cancelled` without a cancel", How::Cancelled),
            ("not-offered", "selects an option that was not offered", How::NotOffered),
        ];
        for method in BY_CLIENT {
            if !self.asks(method, &format!("{}/*", short(method))) {
                continue;
            }
            let more = of_permission.into_iter().filter(|_| method == PERMISSION);
            for (word, about, how) in each.into_iter().chain(more) {
                let steps = [prompt(Expect::Either), Step::Replies].into_iter().chain(probe());
                let fault = self.add(&format!("{}/{word}", short(method)), &format!("{about} ({method})"), steps);
                fault.plan.answers = Some((method.to_owned(), how));
                fault.may_wait = how == How::Never;
            }
        }
        let first = BY_CLIENT.into_iter().find(|method| self.seen.methods.contains(*method));
        match first {
            None => self.unfit.push(("out-of-order".to_owned(), "it never asked the client for anything".to_owned())),
            Some(method) => {
                let second = Step::Ask(Ask::NewSession, Expect::Result);
                let (one, two) = (Step::Ask(Ask::Prompt(0), Expect::Either), Step::Ask(Ask::Prompt(1), Expect::Either));
                let steps = [second, Step::Replies, one, two, Step::Open(2), Step::Replies].into_iter().chain(probe());
                let about = format!("lets two sessions ask {method} at once, and answers the second one first");
                self.add("out-of-order", &about, steps).plan.answers = Some((method.to_owned(), How::NewestFirst));
            }
        }
    }

    /// `session/cancel` at each point.
    fn cancels(&mut self) {
        let (over, cancelled) = (Expect::CancelledOrOver, Expect::Cancelled);
        let then = |steps: &[Step]| steps.iter().cloned().chain([Step::Replies]).chain(probe()).collect::<Vec<Step>>();
        self.add("cancel/at-once", "cancels right after the prompt", then(&[prompt(over), Step::Cancel]));
        self.add(
            "cancel/twice",
            "cancels twice right after the prompt",
            then(&[prompt(over), Step::Cancel, Step::Cancel]),
        );
        self.add(
            "cancel/idle",
            "cancels when no turn runs",
            then(&[prompt(Expect::Result), Step::Replies, Step::Cancel]),
        );
        self.add(
            "cancel/and-prompt",
            "cancels and prompts anew without waiting",
            then(&[prompt(over), Step::Cancel, prompt(Expect::Either)]),
        );
        self.add("cancel/unknown-session", "cancels a session that does not exist", then(&[Step::CancelUnknown]));
        if self.seen.updates {
            self.add(
                "cancel/update",
                "cancels after the first update",
                then(&[prompt(over), Step::Update, Step::Cancel]),
            );
        } else {
            self.unfit.push(("cancel/update".to_owned(), "it sent no session/update".to_owned()));
        }
        if self.seen.tools {
            self.add("cancel/tool", "cancels while a tool runs", then(&[prompt(over), Step::Tool, Step::Cancel]));
        } else {
            self.unfit.push(("cancel/tool".to_owned(), "it reported no tool that runs".to_owned()));
        }
        if self.asks(PERMISSION, "cancel/permission") {
            let open = || Step::Request(PERMISSION.to_owned());
            let steps = then(&[prompt(cancelled), open(), Step::Cancel]);
            let about = "cancels while a permission is open, and answers it `cancelled`";
            self.add("cancel/permission", about, steps).plan.answers = Some((PERMISSION.to_owned(), How::Hold));
            let steps = then(&[prompt(over), open(), Step::Turn(GRANTED_MS), Step::Cancel]);
            self.add("cancel/granted", "cancels a second after it granted a permission", steps);
            let steps = then(&[prompt(over), open(), Step::Cancel]);
            let about = "cancels while a permission is open, and leaves that open";
            self.add("cancel/permission-open", about, steps).plan.answers = Some((PERMISSION.to_owned(), How::Never));
        }
        if self.asks(WAIT_FOR_EXIT, "cancel/terminal") {
            let steps = then(&[prompt(over), Step::Request(WAIT_FOR_EXIT.to_owned()), Step::Cancel]);
            let about = "cancels while a terminal's command runs, which ends only if it is killed";
            let answers = Some((WAIT_FOR_EXIT.to_owned(), How::RunsUntilKilled));
            self.add("cancel/terminal", about, steps).plan.answers = answers;
        }
    }

    /// Requests in a wrong order, or that no agent has.
    fn requests(&mut self) {
        let ask = |ask, expect| vec![Step::Ask(ask, expect), Step::Replies];
        let then_probe = |steps: Vec<Step>| steps.into_iter().chain(probe());
        self.add("prompt/twice", "prompts twice at once", {
            then_probe(vec![prompt(Expect::Either), prompt(Expect::Either), Step::Replies])
        });
        for (name, about, request, expect) in [
            ("request/unknown", "sends a request that no agent has", Ask::Unknown, Expect::NoMethod),
            ("request/unknown-session", "prompts a session that does not exist", Ask::PromptUnknown, Expect::Error),
            ("request/no-parameters", "sends session/new without parameters", Ask::NewSessionOfNothing, Expect::Either),
            ("request/text-id", "sends session/new with a text as id", Ask::NewSessionByText, Expect::Result),
            ("request/initialize-twice", "initializes twice", Ask::Initialize(VERSION), Expect::Either),
        ] {
            self.add(name, about, then_probe(ask(request, expect)));
        }
        let about = "sends a notification that no agent has";
        self.add("notification/unknown", about, then_probe(vec![Step::UnknownNotification]));
        let about = "answers a request that the agent never made";
        self.add("reply/stray", about, then_probe(vec![Step::StrayReply]));
        let first =
            |request, expect| ask(request, expect).into_iter().chain(self.setup.hello()).chain(probe()).collect();
        let (no_hello, version) = (
            first(Ask::NewSession, Expect::Either),
            ask(Ask::Initialize(NO_VERSION), Expect::OtherVersion(NO_VERSION)),
        );
        self.add_whole("initialize/missing", "sends session/new before initialize", no_hello);
        self.add_whole("initialize/version", "initializes with a version that does not exist", version);
        if self.seen.loads {
            // the protocol does not say what is right if the session is open already
            let loads = ask(Ask::Load, Expect::Either);
            let steps = [prompt(Expect::Result), Step::Replies].into_iter().chain(loads).chain(probe());
            self.add("load", "loads the session that is open already", steps);
            let steps = then_probe(ask(Ask::LoadUnknown, Expect::Error));
            self.add("load/unknown-session", "loads a session that does not exist", steps);
        } else {
            self.unfit.push(("load/*".to_owned(), "it cannot load sessions (`loadSession`)".to_owned()));
        }
    }

    /// The end of stdin at each step.
    fn closes(&mut self) {
        let end = [Step::Close, Step::End];
        self.add_whole("close/at-once", "closes stdin before initialize", end.to_vec());
        let steps = initialized().into_iter().chain(end.clone()).collect();
        self.add_whole("close/initialized", "closes stdin after initialize", steps);
        self.add("close/session", "closes stdin after session/new", end.clone());
        self.add("close/idle", "closes stdin after a turn", probe().into_iter().chain(end.clone()));
        self.add(
            "close/turn",
            "closes stdin right after the prompt",
            [prompt(Expect::Either)].into_iter().chain(end.clone()),
        );
        let half = Step::Part(r#"{"jsonrpc":"2.0","id":"#.to_owned());
        self.add("close/half-line", "closes stdin in the middle of a line", [half].into_iter().chain(end.clone()));
        if self.asks(PERMISSION, "close/permission") {
            let open = [prompt(Expect::Either), Step::Request(PERMISSION.to_owned())];
            let fault = |list: &mut Self, name, about, steps: Vec<Step>| {
                list.add(name, about, steps).plan.answers = Some((PERMISSION.to_owned(), How::Never));
            };
            let (closes, gone) =
                (open.clone().into_iter().chain(end), open.into_iter().chain([Step::Vanish, Step::End]));
            fault(self, "close/permission", "closes stdin while a permission is open", closes.collect());
            fault(self, "gone/permission", "is gone while a permission is open", gone.collect());
        }
        self.add("gone/turn", "is gone right after the prompt", [prompt(Expect::Either), Step::Vanish, Step::End]);
    }

    /// Streams that are full, and lines that are odd.
    fn streams(&mut self) {
        let flood = || [Step::StopReading, Step::Flood(FLOOD)];
        let later = [Step::Sleep(LATE_MS), Step::Read, Step::Replies].into_iter().chain(probe());
        self.add(
            "unread/late",
            "reads nothing for ten minutes, and the pipe is full",
            flood().into_iter().chain(later),
        );
        let closes = [Step::Sleep(LATE_MS), Step::Close, Step::End];
        let about = "closes stdin and never reads, and the pipe is full";
        self.add("unread/never", about, flood().into_iter().chain(closes)).may_wait = true;
        let reads = [Step::Written, Step::Read, Step::Replies].into_iter().chain(probe());
        let about = "writes all of its requests before it reads";
        self.add("unread/writes-first", about, flood().into_iter().chain(reads)).may_wait = true;
        for fault in self.all.iter_mut().rev().take(3) {
            fault.plan.has_small_pipes = true;
        }
        for (name, about, line) in [
            ("line/no-json", "sends a line that is no JSON", "this is no JSON"),
            ("line/no-message", "sends a line that is JSON and no message", "[]"),
            ("line/blank", "sends a blank line", ""),
        ] {
            self.add(name, about, [Step::Line(line.to_owned())].into_iter().chain(probe()));
        }
        for (name, about, request, expect) in [
            ("line/long", "prompts in a line of a megabyte", Ask::LongPrompt, Expect::Either),
            ("line/split", "prompts in two writes that part a character", Ask::SplitPrompt, Expect::Result),
        ] {
            self.add(name, about, [Step::Ask(request, expect), Step::Replies].into_iter().chain(probe()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_names_of_their_own_and_none_fits_what_was_not_seen() {
        let methods: BTreeSet<String> = BY_CLIENT.iter().map(|&method| method.to_owned()).collect();
        let seen = Seen { methods, updates: true, tools: true, loads: true };
        let (all, unfit) = faults(&seen, &Setup::default());
        assert_eq!(unfit, []);
        let names: BTreeSet<&str> = all.iter().map(|fault| fault.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 70, "{}", all.len());

        let (few, unfit) = faults(&Seen::default(), &Setup::default());
        assert!(few.iter().all(|fault| fault.plan.answers.is_none()) && few.len() > 24, "{}", few.len());
        assert!(unfit.iter().any(|(name, why)| name == "cancel/permission" && why == "it never made such a request"));
    }

    #[test]
    fn a_login_comes_before_each_session() {
        let (all, _) = faults(&Seen::default(), &Setup { login: Some("key".to_owned()), mode: None });
        let login = Step::Ask(Ask::Authenticate("key".to_owned()), Expect::Result);
        let new = Step::Ask(Ask::NewSession, Expect::Result);
        for fault in all.iter().filter(|fault| fault.plan.steps.contains(&new)) {
            assert!(fault.plan.steps.contains(&login), "{}", fault.name);
        }
    }
}
