mod table;

use crate::spec::{Why, check_pattern, covers, parse_stack};
use crate::{Spec, all, fits, matrix, member, stack};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use rehang_scenario::agents::{CLAUDE, OPENCODE, Settings};
use rehang_scenario::{Agent, AgentKind, ClaudeMode, Client, Mode, OpencodeMode, Wire};

fn why(spec: &str) -> Why {
    match stack(spec) {
        Ok(stack) => panic!("{spec} is {}", stack.name),
        Err(error) => error.why,
    }
}

fn said(spec: &str) -> String {
    why(spec).to_string()
}

fn of(kind: &AgentKind, mode: Mode) -> Vec<Wire> {
    kind.agent(&Settings { release: kind.default_release, mode, client: Client::Post, flag: false }).wires()
}

fn program() -> Vec<Wire> {
    Agent::program(Vec::new()).wires()
}

fn opencode(mode: OpencodeMode) -> Vec<Wire> {
    of(&OPENCODE, mode.mode())
}

fn claude(mode: ClaudeMode) -> Vec<Wire> {
    of(&CLAUDE, mode.mode())
}

#[test]
fn every_entry_has_a_name_of_its_own_that_reads_back_and_builds() {
    let mut names: Vec<&str> = all().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names.first(), Some(&"none"));
    for name in &names {
        let member = member(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((member.entry.name, member.spec.to_string().as_str()), (*name, *name));
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn parameters_are_checked_and_shown_as_they_are_read() {
    let member = member("idle@f54b32f( timeout = 10m ,wall=2h)").expect("a spec");
    assert_eq!(member.spec.to_string(), "idle@f54b32f(timeout=10m, wall=2h)");
    assert_eq!(said("idle@f54b32f(timeout=600)"), "`timeout=600`: a duration needs a unit: write `600s` or `600ms`");
    assert_eq!(
        said("idle@f54b32f(timeout=9e99y)"),
        "`timeout=9e99y`: no unit of time: `e99y`; use ms, s, m or h after a whole number"
    );
    assert_eq!(said("idle@f54b32f(pause=1s)"), "`idle@f54b32f` has no parameter `pause`; it has `timeout`, `wall`");
    assert_eq!(said("none(x=1)"), "`none` has no parameter `x`; it has none");
    assert_eq!(said("auto-answer@r1(at=model)"), "`at=model`: one of `tool`, `ask`");
    assert_eq!(why("wall(cap=1s, cap=2s)"), Why::Twice { name: "cap".to_owned() });
}

#[test]
fn zero_is_the_default_where_the_original_says_so() {
    let spans = |text: &str| member(text).expect("a spec").spec.resolve().expect("a strategy").1.spans;
    assert_eq!(spans("watcher@pr3(idle=0ms, poll=0ms)"), spans("watcher@pr3"));
    assert_eq!(spans("ledger@v0(silent=0ms)"), spans("ledger@v0"));
    assert_ne!(spans("idle@f54b32f(timeout=0ms)"), spans("idle@f54b32f"), "there it is off");
    let counts = |text: &str| member(text).expect("a spec").spec.resolve().expect("a strategy").1.counts;
    assert_eq!(counts("watcher@pr3(misses=0)"), counts("watcher@pr3"));
}

#[test]
fn a_name_with_several_versions_needs_one() {
    assert_eq!(said("idle"), "`idle` has several versions; name one of `idle@f54b32f`, `idle@off`, `idle@grace`");
    assert_eq!(
        said("idle@f54"),
        "there is no `idle@f54`; did you mean `idle@f54b32f`? There is `idle@f54b32f`, `idle@off`, `idle@grace`"
    );
    assert_eq!(said("wall@v1"), "there is no `wall@v1`; there is `wall`");
    assert_eq!(
        said("idel@off"),
        "no strategy is called `idel`; did you mean `idle`? `rehang list --strategies` lists them"
    );
    assert_eq!(said("xyzzyplugh"), "no strategy is called `xyzzyplugh`; `rehang list --strategies` lists them");
}

#[test]
fn a_slip_is_mended_in_its_place() {
    let mended = |text: &str| stack(text).err().and_then(|error| error.mended(text));
    let slips = [
        ("wall+idel@off", "wall+idle@off"),
        ("wall + idle@of", "wall + idle@off"),
        ("idle@f54b32f(timout=1s)", "idle@f54b32f(timeout=1s)"),
        ("auto-answer@r1(ta=ask)", "auto-answer@r1(at=ask)"),
        ("gaurd", "guard"),
    ];
    for (text, meant) in slips {
        assert_eq!(mended(text).as_deref(), Some(meant), "{text}");
        assert!(said(text).contains("did you mean `"), "{}", said(text));
    }
    for text in ["xyzzyplugh@r1", "idle@zzz", "wall(xyzzy=1s)", "wall(cap=1s", "idle"] {
        assert!(mended(text).is_none() && !said(text).contains("did you mean"), "{text}: {}", said(text));
    }
}

#[test]
fn an_error_has_its_place() {
    let at = |spec| stack(spec).err().map(|error| error.at);
    assert_eq!(at("wall + idel@off"), Some(7));
    assert_eq!(at("wall(cap=4h"), Some(11));
    assert_eq!(at("wall(cap 4h)"), Some(9));
    assert_eq!(at(""), Some(0));
    assert_eq!(at("wall+"), Some(5));
    assert_eq!(at("wall x"), Some(5));
    assert_eq!(said("  "), "no strategy is named; `rehang list --strategies` lists them");
    assert_eq!(why(&"wall+".repeat(2_000)), Why::TooLong);
    assert_eq!(why(&["wall"; 17].join("+")), Why::TooMany);
}

#[test]
fn a_stack_keeps_its_order_and_parts_into_seats() {
    let stack = stack("wall(cap=1h) + auto-answer@r3(at=ask)+idle@off").expect("a stack");
    assert_eq!(stack.name, "wall(cap=1h)+auto-answer@r3(at=ask)+idle@off");
    let (inside, outside) = stack.split();
    assert_eq!(inside, ["auto-answer@r3(at=ask)"]);
    assert_eq!(outside.iter().map(|m| m.entry.name).collect::<Vec<_>>(), ["wall", "idle@off"]);
    assert_eq!(said("none+wall"), "`none` does nothing and stands alone");
    assert_eq!(said("wall+wall(cap=1s)"), "`wall` stands twice in the stack");
    assert_eq!(said("wall+guard"), "`guard` is a stack of its own and stands alone");
}

#[test]
fn the_seats_follow_the_agents_wires() {
    let served = matrix(&opencode(OpencodeMode::Serve));
    let run = matrix(&opencode(OpencodeMode::Run));
    let stream = matrix(&claude(ClaudeMode::StreamJson));
    let has = |matrix: &[String], spec: &str| matrix.iter().any(|s| s == spec);
    assert_eq!(served.first().map(String::as_str), Some("none"));
    for spec in ["auto-answer@r1(at=tool)", "auto-answer@r1(at=ask)", "not-offered(as=refused)", "guard"] {
        assert!(has(&served, spec) && has(&run, spec), "{spec}");
    }
    assert!(has(&served, "pending-ask") && !has(&run, "pending-ask") && has(&stream, "pending-ask"));
    assert!(!has(&served, "idle@off") && has(&run, "idle@off") && has(&stream, "idle@off"));
    assert!(has(&stream, "auto-approve@v2") && !has(&matrix(&claude(ClaudeMode::Json)), "auto-approve@v2"));
    let parts = ["guard-asks", "guard-process", "guard-server"];
    assert!(!served.iter().any(|spec| parts.contains(&spec.as_str())), "parts play in their stack only");
    let plain = matrix(&program());
    assert!(
        has(&run, "guard-inside") && has(&plain, "guard") && !has(&plain, "guard-inside"),
        "it has no agent's source"
    );
    for spec in matrix(&program()) {
        stack(&spec).expect("a stack").seat_in(&program()).unwrap_or_else(|e| panic!("{spec}: {e}"));
    }
    let pending = member("pending-ask").expect("a spec").entry;
    let reason = "it needs opencode's HTTP or Claude's stream-json both ways; this agent has a process";
    assert_eq!(fits(pending, &program()).map_err(|e| e.to_string()), Err(reason.to_owned()));
}

#[test]
fn a_program_speaks_what_it_prints() {
    use rehang_scenario::Step;
    let plays = |line: &str| {
        let stacks =
            matrix(&Agent::program(vec![Step::Sleep(rehang_words::Span::secs(1)), Step::Print(line.into())]).wires());
        stacks.iter().any(|spec| spec == "auto-approve@v1")
    };
    assert_eq!((plays("{\"type\":\"user\"}"), plays("{\"kind\":\"user\"}"), plays("working")), (true, false, false));
}

#[test]
fn a_named_stack_plays_with_those_who_have_a_seat() {
    let names = |agent: &[Wire]| -> Vec<&str> {
        let stack = stack("guard").expect("a stack").seat_in(agent).unwrap_or_else(|e| panic!("{e}"));
        stack.members.iter().map(|m| m.entry.name).collect()
    };
    assert_eq!(names(&opencode(OpencodeMode::Serve)), ["guard-server"]);
    assert_eq!(names(&opencode(OpencodeMode::Run)), ["guard-process"]);
    assert_eq!(names(&claude(ClaudeMode::StreamJson)), ["guard-process"]);
    let inside = crate::stack("guard-inside(person=5m)").expect("a stack").seat_in(&opencode(OpencodeMode::Run));
    let members: Vec<String> = inside.expect("it has seats").members.iter().map(|m| m.spec.to_string()).collect();
    assert_eq!(members, ["guard-asks", "guard-process(person=5m)"]);
    assert!(stack("auto-answer@r1+pending-ask").expect("a stack").seat_in(&opencode(OpencodeMode::Run)).is_err());
}

#[test]
fn patterns_leave_out_versions_and_parameters() {
    assert!(covers("auto-answer", "auto-answer@r1(at=ask)") && covers("auto-answer@r1", "auto-answer@r1(at=ask)"));
    assert!(
        !covers("auto-answer@r2", "auto-answer@r1(at=ask)")
            && !covers("auto-answer@r1(at=tool)", "auto-answer@r1(at=ask)")
    );
    assert!(!covers("idle", "idle@off+wall") && covers("idle+wall", "idle@off+wall(cap=1h)"));
    for good in ["idle", "idle@off", "guard", "auto-answer@r1(at=ask)", "none"] {
        assert_eq!(check_pattern(good), Ok(()), "{good}");
    }
    for bad in ["idel", "idle@x", "idle@off(x=1)", "", "guard(x=1)"] {
        assert!(check_pattern(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_listing_says_what_a_reader_needs() {
    let listing = member("pending-ask").expect("a spec").entry.to_string();
    for part in [
        "pending-ask  [outside: opencode's HTTP",
        "from: rehang's own",
        "policy=refuse|deny|first|label|stop",
        "after=30s",
    ] {
        assert!(listing.contains(part), "{part} is not in:\n{listing}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_reads_back(name in "[a-z-]{1,9}", version in "(@[a-z0-9]{1,7})?", values in proptest::collection::vec(".{0,12}", 0..4)) {
        let quoted = |v: &str| v.replace('\\', "\\\\").replace('"', "\\\"");
        let params: Vec<String> = values.iter().enumerate().map(|(i, v)| format!("p{i}=\"{}\"", quoted(v))).collect();
        let written = format!("{name}{version} ({})", params.join(","));
        let spec = Spec::parse(&written).map_err(|e| proptest::test_runner::TestCaseError::fail(format!("{written}: {e}")))?;
        prop_assert_eq!(spec.params.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>(), values);
        prop_assert_eq!(Spec::parse(&spec.to_string()), Ok(spec));
    }

    #[test]
    fn no_text_is_too_odd(text in "([a-z@()=,+\" \\\\]|.){0,60}") {
        if let Err(error) = parse_stack(&text) {
            prop_assert_eq!(error.at <= text.len() && text.is_char_boundary(error.at), true);
        }
    }
}
