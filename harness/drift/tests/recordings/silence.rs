//! Model streams that fall silent: when each release gives one up, and what it does then.
//!
//! On the simulated kernel in virtual time; the exchanges themselves are held to recordings in `claude_golden` and
//! `opencode_run_golden`.

use rehang_drift::session::{Session, Setup};
use rehang_os::os::Exit;
use rehang_scenario::{
    Agent, Client, Fault, ModelDoes, ModelFault, Opencode, OpencodeMode, Span, Terminal, VTime,
    turns::{Bash, BashTool, Step, Turn},
};
use rehang_trace::Fact;

const CLAUDE: [&str; 3] = ["1.0.128", "2.0.77", "2.1.329"];

fn say(text: &str) -> Turn {
    Turn::Say(text.to_owned())
}

fn words() -> Vec<Turn> {
    vec![say("Half of "), say("what there is to say.")]
}

fn fault(response: u32, after: u32, does: ModelDoes) -> Fault {
    Fault::Model(ModelFault { response, after, does, retry_after: None })
}

fn claude(version: &str, turns: Vec<Turn>, fault: Fault) -> Session {
    let args = "-p go --output-format stream-json --verbose --dangerously-skip-permissions";
    let mut setup = Setup::new(version, args, turns, Terminal::Null);
    setup.faults.push(fault);
    setup.run()
}

fn opencode(version: &str, turns: Vec<Turn>, fault: Fault) -> Session {
    let (mode, client) = (OpencodeMode::Run, Client::Post);
    let agent = Agent::Opencode(Opencode { release: version.to_owned(), mode, client });
    let args = ["run", "--format", "json", "go"].map(str::to_owned).to_vec();
    let mut setup = Setup { args, ..Setup::of(agent, turns, Terminal::Null) };
    setup.faults.push(fault);
    setup.run()
}

/// How often the model was asked.
fn asked(session: &Session) -> usize {
    session.facts.iter().filter(|fact| matches!(fact, Fact::ModelAsked { .. })).count()
}

fn end(session: &Session) -> (VTime, usize, Option<Exit>) {
    (session.now, asked(session), session.exit)
}

#[test]
fn claude_gives_a_silent_stream_up_after_300_s_and_asks_again_at_once() {
    for version in CLAUDE {
        for after in [0, 1] {
            let mut session = claude(version, words(), fault(1, after, ModelDoes::Stall));
            session.run_out();
            assert_eq!(end(&session), (VTime(300_000), 2, Some(Exit::Code(0))), "{version}, after {after}");
            let said = session.messages().iter().filter(|m| m["type"] == "assistant").count();
            assert_eq!((said, &session.last()["result"]), (1, &"Half of what there is to say.".into()), "{version}");
        }
    }
}

#[test]
fn a_byte_within_300_s_is_in_time() {
    for (pause, asks) in [(299_999, 1), (300_000, 1), (300_001, 2)] {
        for version in CLAUDE {
            let mut session = claude(version, words(), fault(1, 1, ModelDoes::Pause(Span::ms(pause))));
            session.run_out();
            assert_eq!((asked(&session), session.exit), (asks, Some(Exit::Code(0))), "{version}, {pause} ms");
        }
        let mut session = opencode("1.18.33", words(), fault(1, 1, ModelDoes::Pause(Span::ms(pause))));
        session.run_out();
        assert_eq!((asked(&session), session.exit), (asks, Some(Exit::Code(0))), "opencode, {pause} ms");
    }
}

#[test]
fn a_sign_of_life_is_a_byte() {
    let fault = || fault(1, 1, ModelDoes::KeepAlive(Span::secs(200)));
    for mut session in CLAUDE.map(|version| claude(version, words(), fault())).into_iter().chain([opencode(
        "1.18.33",
        words(),
        fault(),
    )]) {
        for _ in 0..20 {
            assert!(session.tick());
        }
        assert!(session.now >= VTime(3_000_000), "{:?}", session.now);
        assert_eq!((asked(&session), session.exit), (1, None));
    }
}

#[test]
fn a_model_that_thinks_is_waited_for() {
    let thinks = || vec![say("Half of "), Turn::Think(Span::mins(20)), say("what there is to say.")];
    let none = || fault(9, 0, ModelDoes::Stall);
    for mut session in CLAUDE.map(|version| claude(version, thinks(), none())).into_iter().chain([opencode(
        "1.18.33",
        thinks(),
        none(),
    )]) {
        session.run_out();
        assert_eq!(end(&session), (VTime(1_200_000), 1, Some(Exit::Code(0))));
    }
}

#[test]
fn only_the_newest_opencode_has_a_limit() {
    for version in ["1.0.185", "1.2.15", "1.3.2"] {
        let mut session = opencode(version, words(), fault(1, 1, ModelDoes::Stall));
        session.run_out();
        assert!(session.waits_for("model") && asked(&session) == 1, "{version}");
    }
    let mut session = opencode("1.18.33", words(), fault(1, 1, ModelDoes::Stall));
    session.run_out();
    assert_eq!(end(&session), (VTime(302_000), 2, Some(Exit::Code(0))));
}

#[test]
fn behind_a_call_the_newest_claude_keeps_it_and_the_older_ones_ask_again() {
    let make = Bash {
        command: "make".to_owned(),
        asks: None,
        does: vec![Step::Print("ok".to_owned())],
        timeout: None,
        tool: BashTool::default(),
    };
    for version in CLAUDE {
        let turns = vec![say("Looking."), Turn::Bash(make.clone()), say("Done.")];
        let mut session = claude(version, turns, fault(1, 2, ModelDoes::Stall));
        session.run_out();
        let keeps = version == "2.1.329";
        assert_eq!(end(&session), (VTime(300_000), if keeps { 2 } else { 3 }, Some(Exit::Code(0))), "{version}");
        assert_eq!(session.told(), ["ok"], "{version}");
        let calls = session.messages().iter().filter(|m| m["message"]["content"][0]["type"] == "tool_use").count();
        assert_eq!((calls, &session.last()["result"]), (if keeps { 1 } else { 2 }, &"Done.".into()), "{version}");
        assert_eq!(session.out.contains("The response stopped arriving"), keeps, "{version}");
    }
}
