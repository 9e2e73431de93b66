use crate::testing::{Bench, ask, question};
use crate::{Act, Ask, InsideAct, InsideSeen, Seen};

fn withheld(spec: &str, run: bool, child: bool) -> Option<String> {
    let mut bench = Bench::of(spec);
    bench.see(Seen::Inside(InsideSeen::Boot { env: Vec::new(), stdin_tty: false, run, listens: false }));
    let acts = bench.see(Seen::Inside(InsideSeen::ToolAsks(Ask { child, ..ask(vec![question("q", &[])]) })));
    acts.into_iter().find_map(|act| if let Act::Inside(InsideAct::Withhold { text }) = act { Some(text) } else { None })
}

#[test]
fn only_a_one_shot_run_is_touched() {
    let text = withheld("not-offered", true, false).expect("it is kept back");
    assert!(text.starts_with("Model tried to call unavailable tool 'question'"), "{text}");
    for spec in ["not-offered(as=refused)", "not-offered(as=withheld)"] {
        assert_eq!(withheld(spec, false, false), None, "{spec}: a server has clients");
    }
}

#[test]
fn a_rule_of_the_session_is_not_inherited_and_a_tool_that_is_not_there_is_nowhere() {
    assert_eq!(withheld("not-offered(as=refused)", true, true), None);
    assert!(withheld("not-offered(as=withheld)", true, true).is_some());
}
