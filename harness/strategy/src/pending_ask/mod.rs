//! Ours: the asks that are open in the whole session tree; an explicit policy ends them when nobody comes.
//!
//! Invariants: nothing is ended before `after` has passed since it was first seen, so a live answerer goes first, and
//! then only what the agent still lists as open in a busy session; one reply an ask; a permission is never widened;
//! an answer is a label that was offered, chosen by the policy that the report names; the report says that no user
//! answered.

mod claude;
mod http;

use crate::entry::Value;
use crate::{Act, Entry, Facts, Param, Params, ProcessSeen, Seat, Seen, Strategy, Wire, canon};
use rehang_words::{Canon, Policy as Report, Span, VTime};
use rehang_words::{Choice, Question};

/// The only version.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "pending-ask",
    seat: Seat::Outside,
    origin: "rehang's own",
    summary: "ends asks that nobody ended within `after`, in child sessions too, by an explicit policy, and says that no user answered",
    speaks: &[Wire::OpencodeHttp, Wire::ClaudeStream],
    params: &[
        Param {
            name: "policy",
            default: Value::Word(&["refuse", "deny", "first", "label", "stop"]),
            doc: "refuse: reject questions and permissions; deny: permissions only; first, label: answer questions so, reject permissions; stop: end the run",
        },
        Param {
            name: "label",
            default: Value::Text(""),
            doc: "with policy=label: the option to take; a question without it is rejected",
        },
        Param {
            name: "after",
            default: Value::Span(Span::secs(30)),
            doc: "how long a live answerer has, from when the ask was first seen",
        },
        Param {
            name: "every",
            default: Value::Span(Span::secs(5)),
            doc: "how often open asks are listed; events are listened to as well",
        },
    ],
    build: |params| Box::new(PendingAsk { rule: Rule::new(params), way: Way::NotYet }),
}];

/// The most asks that are remembered at a time.
const OPEN_MAX: usize = 1_000;

struct PendingAsk {
    rule: Rule,
    way: Way,
}

enum Way {
    NotYet,
    Http(Box<http::Http>),
    Claude(Box<claude::Claude>),
}

/// An ask that is open.
#[derive(Debug, Clone)]
struct Open {
    /// The id that a reply names.
    id: String,
    /// The session; empty if there is none.
    session: String,
    /// Its questions; empty for a permission.
    questions: Vec<Question>,
    /// What is to be permitted; empty for a question.
    permission: String,
    /// When it was first seen.
    since: VTime,
    /// Whether it was replied to.
    replied: bool,
    /// Whether it has opencode 1.0.185's form, which takes a reply on another route.
    old: bool,
}

impl Open {
    fn name(&self) -> String {
        match self.questions.first() {
            Some(question) => format!("the question `{}`", question.question),
            None => format!("the permission `{}`", self.permission),
        }
    }

    /// Its age counts up to `age_max`, which is not below the rule's `after`.
    fn canon(&self, canon: &mut Canon, age_max: Span) {
        let Self { id, session, questions, permission, since, replied, old } = self;
        canon.text(id).text(session).text(permission).age(*since, age_max).flag(*replied).flag(*old);
        canon::questions(canon, questions);
    }
}

/// What the policy says to do with an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ruling {
    /// Leave it open for another.
    Leave,
    /// Reject it, with this text if the wire has room for one.
    Refuse(String),
    /// Answer it with these labels.
    Answer(Vec<Vec<String>>),
    /// End the run, with this text.
    Stop(String),
}

#[derive(Debug, Clone)]
struct Rule {
    policy: &'static str,
    label: String,
    after: Span,
    every: Span,
}

impl Rule {
    fn new(params: &Params) -> Rule {
        let every = params.span("every").max(Span::ms(1));
        Rule {
            policy: params.word("policy"),
            label: params.text("label").to_owned(),
            after: params.span("after"),
            every,
        }
    }

    /// When the rule allows an ask to be ended.
    fn due(&self, open: &Open) -> VTime {
        open.since + self.after
    }

    fn rules(&self, open: &Open) -> Ruling {
        let is_question = open.permission.is_empty();
        let answers = match self.policy {
            "deny" if is_question => return Ruling::Leave,
            "stop" => return Ruling::Stop(format!("{} was not answered within {}", open.name(), self.after)),
            "first" if is_question => answers(open, |_| true),
            "label" if is_question => answers(open, |option| option.label == self.label),
            _ => None,
        };
        answers.map_or_else(|| Ruling::Refuse(self.refusal(open)), Ruling::Answer)
    }

    /// Says "stop" on purpose: a refusal that invites a guess is taken as permission to guess (khalilgharbaoui#8).
    fn refusal(&self, open: &Open) -> String {
        format!(
            "No user is available: {} was not answered within {}, so it was refused by policy. \
             Do not guess and do not try another way; stop, and report that user input is required.",
            open.name(),
            self.after
        )
    }

    fn report(&self, open: &Open, ruling: &Ruling) -> Report {
        let (rule, answered, what) = match ruling {
            Ruling::Answer(answers) => (self.policy, Some(answers.clone()), "it was answered by policy"),
            Ruling::Stop(_) => ("stop", None, "the run was ended by policy"),
            Ruling::Refuse(_) | Ruling::Leave => ("refuse", None, "it was refused by policy"),
        };
        let constants = [("after_ms", self.after), ("every_ms", self.every)];
        Report {
            detected: Some("pending-ask".to_owned()),
            answered,
            rule: Some(rule.to_owned()),
            cause: Some("asked".to_owned()),
            text: Some(format!("no user answered {} within {}; {what}", open.name(), self.after)),
            constants: constants.map(|(name, span)| (name.to_owned(), span.as_ms())).into(),
        }
    }
}

/// One label for each question, if each has an option that fits.
fn answers(open: &Open, fits: impl Fn(&Choice) -> bool) -> Option<Vec<Vec<String>>> {
    open.questions.iter().map(|q| q.options.iter().find(|o| fits(o)).map(|o| vec![o.label.clone()])).collect()
}

impl Strategy for PendingAsk {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        if let (Way::NotYet, Seen::Process(ProcessSeen::Started { session, .. })) = (&self.way, seen) {
            self.way = if session.is_empty() {
                Way::Claude(Box::default())
            } else {
                Way::Http(Box::new(http::Http::new(session)))
            };
        }
        match &mut self.way {
            Way::NotYet => {}
            Way::Http(http) => http.on(&self.rule, now, seen, acts),
            Way::Claude(claude) => claude.on(&self.rule, now, seen, acts),
        }
    }

    fn deadline(&self) -> Option<VTime> {
        match &self.way {
            Way::NotYet => None,
            Way::Http(http) => http.deadline(&self.rule),
            Way::Claude(claude) => claude.deadline(&self.rule),
        }
    }

    /// It bounds asks, not runs: a run can still hang on something else.
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { rule, way } = self;
        match way {
            Way::NotYet => drop(canon.num(0)),
            Way::Http(http) => http.canon(rule, canon.num(1)),
            Way::Claude(claude) => claude.canon(rule, canon.num(2)),
        }
    }

    fn wants_events(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
