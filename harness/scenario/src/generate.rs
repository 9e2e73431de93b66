//! Random scenarios for property tests, of this crate and of those above it (feature `generate`).
//!
//! Invariant: each generated scenario loads from what [`crate::to_toml`] writes, asks nothing of its agent that
//! the agent cannot play, and stays far below the limits, so that shrinking ends in a file that people read.

use crate::agents::{AgentKind, Settings};
use crate::model::*;
use crate::time::Span;
use crate::turns::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Any scenario of any agent.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    agent().prop_flat_map(scenario_of)
}

/// Any scenario of this agent.
pub fn scenario_of(agent: Agent) -> impl Strategy<Value = Scenario> {
    let turns = match agent.kind().has_model {
        false => Just(Vec::new()).boxed(),
        true => turns().boxed(),
    };
    let run = (turns, vec(fault(&agent), 0..3), vec(person(&agent), 0..3), terminals());
    let setting = (
        btree_map("[A-Z]{1,4}", text(), 0..3),
        vec(text(), 0..2),
        vec(1_u64..9, 1..3).prop_map(unique),
        option::of((subsequence(vec![Stage::Sim, Stage::Lockstep], 1..=2), text())),
        vec(text(), 0..2),
    );
    let words = (text(), option::of(text()), select(&crate::mechanism::MECHANISMS[..]), vec(text(), 0..2));
    (words, run, setting, vec(rule(), 0..3), vec(skip(), 0..2)).prop_map(
        move |((title, about, mechanism, cites), run, setting, expect, skip)| {
            let (turns, faults, people, terminals) = run;
            let (env, args, seeds, stages, survives) = setting;
            Scenario {
                title,
                about,
                mechanism: mechanism.id.to_owned(),
                cites,
                agent: agent.clone(),
                terminals,
                turns,
                faults,
                people,
                runs: 1,
                afterwards: None,
                env,
                args,
                seeds,
                stages: stages.map(|(only, because)| Stages { only, because }),
                survives,
                skip,
                expect,
            }
        },
    )
}

/// Any agent.
pub fn agent() -> impl Strategy<Value = Agent> {
    let kinds = crate::agents::ALL.into_iter().map(|kind| match kind.has_model {
        true => agent_of(kind).boxed(),
        false => vec(step(), 0..3).prop_map(Agent::program).boxed(),
    });
    proptest::strategy::Union::new(kinds)
}

/// Any agent of this kind, with each key that it has.
fn agent_of(kind: &'static AgentKind) -> impl Strategy<Value = Agent> {
    let releases = if kind.releases.is_empty() { std::slice::from_ref(&kind.default_release) } else { kind.releases };
    let client = select(vec![Client::Post, Client::Events, Client::Resync]);
    (select(releases), select(kind.modes), client, any::<bool>())
        .prop_map(|(release, mode, client, flag)| kind.agent(&Settings { release, mode, client, flag }))
}

/// Any turns, subagents and nested agents among them; a subagent has none of its own, for the nesting's sake.
pub fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let call = prop_oneof![
        vec(question(), 1..3).prop_map(Turn::Ask),
        (text(), text(), vec(text(), 0..2), text()).prop_map(|(tool, permission, patterns, output)| {
            Turn::Permit(Permit { tool, permission, patterns, output })
        }),
        bash().prop_map(Turn::Bash),
    ];
    let finish = select(vec![Finish::Stop, Finish::ToolCalls, Finish::Unknown, Finish::None]);
    let turn = prop_oneof![
        3 => text().prop_map(Turn::Say),
        1 => span().prop_map(Turn::Think),
        1 => span().prop_map(Turn::Compact),
        1 => finish.prop_map(Turn::Finish),
        4 => call.clone(),
        1 => vec(call, 1..3).prop_map(Turn::Together),
    ];
    let turn = turn.prop_recursive(1, 8, 3, |turn| {
        (text(), vec(turn, 0..3)).prop_map(|(description, turns)| Turn::Task(Task { description, turns }))
    });
    vec(turn, 0..5)
}

/// A short text, at times with what has to be escaped.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{1,8}", 1 => "[ -~]{0,12}", 1 => "[\\n\\t\"'\\\\#é…🦀]{0,4}"]
}

/// What a program prints: with escape sequences at times.
fn printed() -> impl Strategy<Value = String> {
    prop_oneof![3 => text().boxed(), 1 => "[\\r\\x07\\x08\\x1b\\[a-z]{0,6}".boxed()]
}

/// A span from nothing to a few hours, round ones more often.
pub fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        (0_u64..5_000).prop_map(Span::ms),
        (0_u64..900).prop_map(Span::secs),
        (0_u64..90).prop_map(Span::mins),
        (0_u64..5).prop_map(Span::hours)
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let choice = (text(), text()).prop_map(|(label, description)| Choice { label, description });
    (text(), text(), vec(choice, 0..3), any::<bool>(), any::<Option<bool>>()).prop_map(
        |(question, header, options, multiple, custom)| Question { question, header, options, multiple, custom },
    )
}

fn bash() -> impl Strategy<Value = Bash> {
    let stdin = option::of(select(vec![ChildStdin::Null, ChildStdin::Pipe, ChildStdin::Inherit]));
    let waits_for = option::of(select(vec![WaitsFor::Pipes, WaitsFor::Exit]));
    let kills = option::of(select(vec![Kills::Child, Kills::Group, Kills::GroupThenKill]));
    let tool = (stdin, waits_for, kills, any::<Option<bool>>(), any::<bool>());
    let tool = tool.prop_map(|(stdin, waits_for, kills, new_session, background_group)| BashTool {
        stdin,
        waits_for,
        kills,
        new_session,
        background_group,
    });
    (text(), option::of(text()), vec(step(), 0..4), option::of(span()), tool)
        .prop_map(|(command, asks, does, timeout, tool)| Bash { command, asks, does, timeout, tool })
}

fn step() -> impl Strategy<Value = Step> {
    let signal = || select(&crate::playable::SIGNALS[..]).prop_map(str::to_owned);
    let ignorable = |name: &String| !crate::playable::UNSTOPPABLE.contains(&name.as_str());
    let every = (span(), printed(), 0_u32..9, any::<bool>());
    let fill = (0_u32..=1 << 20, any::<bool>());
    let nested = vec(text().prop_map(Turn::Say), 0..2);
    let nested = nested.prop_map(|turns| {
        let agent = Box::new(crate::agents::PAWWORK.default_agent());
        Step::Agent(Nested { agent, turns, args: Vec::new() })
    });
    let result = (printed(), 0_u32..=1 << 20, any::<bool>());
    let plain = vec![
        Step::CloseOutput,
        Step::ReadStdin,
        Step::ReadStdinToEnd,
        Step::SetTty,
        Step::Setsid,
        Step::Hold,
        Step::Spin,
        Step::Exit(3),
    ];
    let leaf = prop_oneof![
        printed().prop_map(Step::Print),
        printed().prop_map(Step::Warn),
        printed().prop_map(Step::Prompt),
        printed().prop_map(Step::AskTty),
        span().prop_map(Step::Sleep),
        every.prop_map(|(every, print, times, stderr)| Step::Every(Every { every, print, times, stderr })),
        fill.prop_map(|(bytes, stderr)| Step::Fill(Fill { bytes, stderr })),
        result.prop_map(|(text, bytes, cut)| Step::Result(Final { text, bytes, cut })),
        vec(signal().prop_filter("nobody can ignore it", ignorable), 0..2).prop_map(Step::Ignore),
        signal().prop_map(Step::Raise),
        option::of(span()).prop_map(|within| Step::Listen(Listen { within })),
        select(plain),
        nested,
    ];
    let background = |steps: BoxedStrategy<Vec<Step>>| {
        let flags = (any::<Option<bool>>(), any::<Option<bool>>(), any::<bool>(), any::<bool>());
        (text(), steps, flags).prop_map(|(name, does, (stdout, stderr, setsid, double_fork))| {
            Step::Background(Background {
                name,
                does,
                stdout,
                stderr,
                piped: setsid && double_fork,
                setsid,
                double_fork,
            })
        })
    };
    let stream = || option::of(select(vec![StartStream::Pipe, StartStream::Inherit, StartStream::Null]));
    let start = |steps: BoxedStrategy<Vec<Step>>| {
        let streams = (stream(), stream(), stream());
        (text(), steps, streams, any::<bool>(), any::<bool>()).prop_map(
            |(name, does, (stdin, stdout, stderr), missing, unreaped)| {
                Step::Start(Start { name, does, stdin, stdout, stderr, missing, unreaped })
            },
        )
    };
    let below = vec(leaf.clone(), 0..3).boxed();
    prop_oneof![12 => leaf, 2 => background(below.clone()), 2 => below.clone().prop_map(Step::Run), 1 => start(below)]
}

/// Any fault that this agent can meet.
pub fn fault(agent: &Agent) -> BoxedStrategy<Fault> {
    let process = (text(), span(), select(vec![ProcessDoes::Crash, ProcessDoes::Freeze, ProcessDoes::Thaw]));
    let any_agent = prop_oneof![
        process.prop_map(|(role, at, does)| Fault::Process(ProcessFault { role, at, does })),
        select(vec![PgrepFault::Unavailable, PgrepFault::NoPid]).prop_map(Fault::Pgrep),
        span().prop_map(|after| Fault::Wrapper(WrapperFault::Vanishes(after))),
        Just(Fault::Wrapper(WrapperFault::IgnoresStderr)),
    ];
    if !agent.kind().has_model {
        return any_agent.boxed();
    }
    let model = prop_oneof![
        select(vec![ModelDoes::Stall, ModelDoes::Truncate, ModelDoes::NoFinish, ModelDoes::Reset]),
        span().prop_map(ModelDoes::Pause),
        span().prop_map(|every| ModelDoes::KeepAlive(every.max(Span::ms(1)))),
        (100_u16..600).prop_map(ModelDoes::Status),
    ];
    let model = (0_u32..3, 0_u32..3, model);
    let tool = (0_u32..3, select(vec![ToolDoes::NeverFlips, ToolDoes::LosesResult]));
    let of_model = prop_oneof![
        2 => any_agent,
        1 => model.prop_map(|(response, after, does)| Fault::Model(ModelFault { response, after, does, retry_after: None })),
        1 => tool.prop_map(|(nth, does)| Fault::Tool(ToolFault { nth, does })),
    ];
    if !agent.kind().has_server {
        return of_model.boxed();
    }
    let event = prop_oneof![
        select(vec![EventDoes::Drop, EventDoes::Duplicate, EventDoes::Reorder, EventDoes::Mute]),
        span().prop_map(EventDoes::Delay),
        span().prop_map(EventDoes::Cut),
    ];
    let kind = select(vec!["question.asked", "permission.asked", "session.idle"]).prop_map(str::to_owned);
    let post = prop_oneof![
        select(vec![PostDoes::NeverCloses, PostDoes::Ignored]),
        span().prop_map(PostDoes::Cut),
        (400_u16..600).prop_map(PostDoes::Status),
    ];
    prop_oneof![
        2 => of_model,
        1 => (kind, 0_u32..3, event).prop_map(|(kind, nth, does)| Fault::Event(EventFault { kind, nth, does })),
        1 => (0_u32..3, span()).prop_map(|(nth, lag)| Fault::Tool(ToolFault { nth, does: ToolDoes::Lags(lag) })),
        1 => (0_u32..3, post).prop_map(|(nth, does)| Fault::Post(PostFault { nth, does })),
        1 => (text(), 0_u32..3, select(vec![0_u16, 400, 503]))
            .prop_map(|(path, times, status)| Fault::Get(GetFault { path, times, status })),
        1 => select(vec![QueueFault::Refuses, QueueFault::Holds]).prop_map(Fault::Queue),
        1 => span().prop_map(|at| Fault::Worker(WorkerFault::Dies(at))),
    ]
    .boxed()
}

/// Anybody who could act on this agent.
pub fn person(agent: &Agent) -> impl Strategy<Value = Person> + use<> {
    let server = agent.kind().has_server;
    let via = if server { vec![Via::Tty, Via::Http, Via::Stdin, Via::Companion] } else { vec![Via::Tty, Via::Stdin] };
    let mut sees = vec![Sees::Events, Sees::Tree, Sees::List, Sees::Screen, Sees::Messages, Sees::Clock];
    if agent.kind().has_front_end {
        sees.push(Sees::Blocker);
    }
    let plain = vec![
        Does::Allow,
        Does::Always,
        Does::Deny,
        Does::Skip,
        Does::Dismiss,
        Does::Stop,
        Does::SoftStop,
        Does::HangUp,
        Does::Malformed(Malformed::Count),
        Does::Malformed(Malformed::Syntax),
        Does::Run("heal".to_owned()),
    ];
    let does = prop_oneof![
        vec(text(), 0..3).prop_map(Does::Answer),
        vec(vec(text(), 0..2), 0..2).prop_map(Does::Answers),
        // no terminal here knows flow control
        "[\\x00-\\x10\\x12\\x14-\\x7f]{0,4}".prop_map(Does::Type),
        text().prop_map(Does::Prompt),
        select(plain),
    ];
    (select(via), option::of(select(sees)), 0_u32..3, span(), does).prop_map(|(via, sees, ask, after, does)| Person {
        via,
        sees,
        directory: None,
        ask,
        after,
        does,
    })
}

/// A few terminals.
pub fn terminals() -> impl Strategy<Value = Vec<Terminal>> {
    subsequence(Terminal::ALL.to_vec(), 1..=4)
}

fn rule() -> impl Strategy<Value = Expect> {
    let outcome = prop_oneof![
        Just(Expected::Completed),
        Just(Expected::Failed),
        Just(Expected::Undecided),
        text().prop_map(Expected::Hung),
        text().prop_map(Expected::Stopped),
        Just(Expected::AsNone),
    ];
    let proof = option::of(select(vec![Proof::Deadlock, Proof::Lasso]));
    let policy =
        (option::of(text()), option::of(vec(vec(text(), 0..2), 0..2)), btree_map("[a-z]{1,4}", 0_u64..99, 0..2));
    let policy = policy.prop_map(|(detected, answered, constants)| crate::Policy {
        detected,
        answered,
        constants,
        ..Default::default()
    });
    let cells = (select(vec![Arm::Main, Arm::Control]), vec(text(), 0..2), terminals(), vec(0_u64..9, 0..2));
    let end = (outcome, proof, option::of(span()), option::of(span()));
    let said = (vec(text(), 0..2), vec(text(), 0..2), vec(0_u16..600, 0..2));
    let said = (subsequence(Invariant::ALL.to_vec(), 0..3), option::of(policy), said);
    (cells, end, said).prop_map(|((arm, strategies, terminals, seeds), end, (breaks, policy, said))| {
        let (told, says, gets) = said;
        let (outcome, proof, within, not_before) = end;
        Expect {
            arm,
            strategies,
            terminals,
            seeds,
            outcome,
            proof,
            within,
            not_before,
            breaks,
            policy,
            told,
            says,
            gets,
        }
    })
}

fn skip() -> impl Strategy<Value = Skip> {
    (vec(text(), 0..2), terminals(), text()).prop_map(|(strategies, terminals, because)| Skip {
        strategies,
        terminals,
        because,
    })
}

fn unique(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playable::impossible;
    use crate::{Problems, load, to_toml};

    fn back(text: &str) -> Result<crate::Family, Problems> {
        load("generated.toml", text.as_bytes()).into_result()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_loads_to_the_same(scenario in scenario()) {
            let text = to_toml(&scenario, None);
            let family = back(&text).map_err(|p| TestCaseError::fail(format!("{p}\n{text}")))?;
            prop_assert_eq!(&family.variants[0].scenario, &scenario, "{}", text);
            prop_assert_eq!(impossible(&scenario), Vec::new());
        }

        #[test]
        fn so_does_its_control_arm(scenario in scenario(), other in turns(), args in vec(text(), 1..3)) {
            let mut control = scenario.clone();
            if scenario.agent.kind().has_model {
                control.turns = other;
            }
            control.args = args;
            prop_assume!(control != scenario);
            let text = to_toml(&scenario, Some(&control));
            let family = back(&text).map_err(|p| TestCaseError::fail(format!("{p}\n{text}")))?;
            prop_assert_eq!(&family.variants[0].scenario, &scenario, "{}", &text);
            prop_assert_eq!(family.variants[0].control.as_ref(), Some(&control), "{}", &text);
        }
    }
}
