//! Whether what a hung run waits for is a stopped process.
//!
//! Invariant: a stopped process counts only if the run cannot go on without it. A background job that nobody waits for
//! may be stopped for ever, while the agent hangs on something else. A wait leads from a process
//!  - that runs a bash tool in a session that is not idle, to the tool's child; once that child has ended, to those
//!    that it left, which hold the tool's pipe;
//!  - that waits for a child (`child`), to that child: the command that it runs, or at its end those that it has
//!    pipes to;
//!  - that is the agent and has ended while its wrapper still waits, to those that it left, which hold its output.
//!
//! Of several that are left and may hold a pipe, the trace does not say which one does: the pipe is held by a stopped
//! process only if the wait of each of them leads to one.

use crate::index::{Index, Tool};
use rehang_scenario::turns::Step;
use rehang_trace::role::same_agent;

/// Whether the run waits for a stopped process: the agent itself, or one that its wait leads to. `waits` are the labels
/// of the proof: role and what it waits for.
pub fn to_stopped(index: &Index<'_>, waits: &[(&str, &str)]) -> bool {
    let leads = Leads { index, waits };
    if index.alive("agent") {
        return leads.from("agent");
    }
    waits.iter().any(|&(who, _)| who == "wrapper") && leads.left_by("agent")
}

struct Leads<'a> {
    index: &'a Index<'a>,
    waits: &'a [(&'a str, &'a str)],
}

impl<'a> Leads<'a> {
    fn from(&self, role: &str) -> bool {
        if self.is_stopped(role) {
            return true;
        }
        let children = self.children(role);
        if self.tools(role, &children).into_iter().any(|child| self.through(child)) {
            return true;
        }
        let waits_for_child = self.waits.iter().any(|&(who, on)| who == role && on == "child");
        waits_for_child && self.awaited(role, &children).into_iter().any(|child| self.through(child))
    }

    /// From a child of which one of two ends is waited for: its own, or that of what it had opened for writing.
    fn through(&self, child: &str) -> bool {
        if self.lives(child) { self.from(child) } else { self.left_by(child) }
    }

    /// From the output of a process that has ended: any process that it left may hold it.
    fn left_by(&self, role: &str) -> bool {
        let mut left =
            self.index.processes.keys().filter(|other| is_below(other, role) && self.lives(other)).peekable();
        left.peek().is_some() && left.all(|other| self.from(other))
    }

    fn lives(&self, role: &str) -> bool {
        self.index.alive(role)
    }

    fn is_stopped(&self, role: &str) -> bool {
        self.index.processes.get(role).is_some_and(|process| process.stopped.is_some() && process.ended.is_none())
    }

    /// All direct children that it ever had, in the order of their starts. Those that an agent had started before it
    /// was started again are not among them.
    fn children(&self, of: &str) -> Vec<&'a str> {
        let processes = &self.index.processes;
        let began = processes.get(of).map(|process| process.began);
        let direct = |role: &&&str| below(role, of).is_some_and(|rest| !rest.contains('.'));
        let of_this_run = |role: &&&str| began.is_none_or(|began| processes[**role].began >= began);
        let mut children: Vec<&'a str> = processes.keys().filter(direct).filter(of_this_run).copied().collect();
        children.sort_by_key(|role| self.index.processes[role].began);
        children
    }

    /// The children of the bash tools that this process runs now. Each tool starts one child before it ends, and they
    /// are started in the order in which the tools begin.
    fn tools(&self, role: &str, children: &[&'a str]) -> Vec<&'a str> {
        let is_bash = |tool: &&Tool<'_>| tool.who == role && tool.tool.eq_ignore_ascii_case("bash");
        let mut children = children.iter().copied().peekable();
        let mut awaited = Vec::new();
        for tool in self.index.tools.iter().filter(is_bash) {
            let ended = tool.ends.first().map(|end| end.0).or(tool.died);
            let began = |child: &&str| self.index.processes[child].began;
            while children.next_if(|child| began(child) < tool.began).is_some() {}
            let child = children.next_if(|child| ended.is_none_or(|ended| began(child) < ended));
            let running = tool.is_open();
            let is_busy = tool.session.is_empty() || self.busy(tool) != Some(false);
            awaited.extend(child.filter(|_| running && is_busy));
        }
        awaited
    }

    fn busy(&self, tool: &Tool<'_>) -> Option<bool> {
        self.index.busy(tool.who, tool.session, rehang_scenario::VTime(u64::MAX))
    }

    /// The children that a process which plays steps waits for: the one that its current step has started, or after its
    /// last step those that it has pipes to. Its nth child is started by the nth of its steps that starts one.
    fn awaited(&self, role: &str, children: &[&'a str]) -> Vec<&'a str> {
        let Some(last) = children.last() else { return Vec::new() };
        let plays = self.index.processes.get(role).and_then(|process| plays(process.argv)).unwrap_or_default();
        let starts: Vec<&Step> = plays.iter().filter(|step| starts(step)).collect();
        match starts.get(children.len() - 1) {
            Some(Step::Start(_)) => self.piped(children, &starts),
            Some(Step::Background(step)) if !step.double_fork => self.piped(children, &starts),
            _ => vec![last],
        }
    }

    /// Those of these children that their parent has pipes to, and that are alive.
    fn piped(&self, children: &[&'a str], starts: &[&Step]) -> Vec<&'a str> {
        let piped = |step: &Step| match step {
            Step::Background(step) => step.piped,
            step => matches!(step, Step::Start(_)),
        };
        let piped = children.iter().zip(starts).filter(|(child, step)| piped(step) && self.lives(child));
        piped.map(|(child, _)| *child).collect()
    }
}

/// The steps that a command line plays.
fn plays(argv: &[String]) -> Option<Vec<Step>> {
    let at = argv.iter().position(|arg| arg == "--plays")?;
    serde_json::from_str(argv.get(at + 1)?).ok()
}

fn starts(step: &Step) -> bool {
    match step {
        Step::Start(start) => !start.missing,
        step => matches!(step, Step::Background(_) | Step::Run(_) | Step::Agent(_)),
    }
}

/// Whether a role is that of a descendant.
pub(crate) fn is_below(role: &str, above: &str) -> bool {
    below(role, above).is_some()
}

/// What a descendant's role adds to that of its ancestor. An agent that was started again is `agent~N` in its
/// descendants' roles, and `agent` in its own.
fn below<'r>(role: &'r str, above: &str) -> Option<&'r str> {
    let again = || {
        let (first, rest) = role.split_once('.').filter(|_| above == "agent")?;
        (same_agent(first) == above).then_some(rest)
    };
    role.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')).or_else(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use rehang_trace::{AskEnd, Cause, What};

    fn leads(cell: Cell, waits: &[(&str, &str)]) -> bool {
        let trace = cell.deadlock(waits).trace();
        to_stopped(&Index::of(&trace), waits)
    }

    fn stopped(cell: Cell, role: &str) -> Cell {
        cell.add(role, What::Stopped("TTIN".into()))
    }

    /// An agent that is a program of these steps.
    fn program(plays: &str) -> Cell {
        let argv = ["fake-tool", "--plays", plays].map(str::to_owned).to_vec();
        Cell::new().at(0).add("agent", What::Spawn { parent: String::new(), argv })
    }

    #[test]
    fn the_agent_itself() {
        let up = || Cell::new().started();
        assert!(leads(stopped(up(), "agent"), &[("agent", "stopped"), ("client", "post")]));
        assert!(!leads(stopped(up(), "agent").add("agent", What::Continued), &[("agent", "client")]));
    }

    #[test]
    fn a_job_in_the_background_is_waited_for_by_nobody() {
        let job = || stopped(Cell::new().at(0).spawn("agent").spawn("agent.1"), "agent.1");
        assert!(!leads(job(), &[("agent", "stdin"), ("agent.1", "stopped"), ("wrapper", "exit")]));
        let asks = job().session("ses_1", "").busy("ses_1", true).ask("que_1", "ses_1");
        assert!(!leads(asks, &[("agent", "question"), ("agent.1", "stopped")]));
    }

    #[test]
    fn a_running_bash_tool_waits_for_its_child_and_no_other_one() {
        let first = || Cell::new().started().tool("call_1", "bash").spawn("agent.1").spawn("agent.1.1");
        let second =
            || first().exit("agent.1", 0).tool_end("call_1", "ok").at(5).tool("call_2", "bash").spawn("agent.2");
        let waits = [("agent", "bash"), ("agent.2", "nothing")];
        assert!(leads(stopped(first(), "agent.1"), &[("agent", "bash")]));
        assert!(!leads(stopped(first(), "agent.1.1"), &[("agent", "bash"), ("agent.1", "nothing")]));
        assert!(leads(stopped(first(), "agent.1.1"), &[("agent", "bash"), ("agent.1", "child")]));
        assert!(leads(stopped(second(), "agent.2"), &waits));
        assert!(!leads(stopped(second(), "agent.1.1"), &waits), "it is the first tool's, which is over");
        let over = second().exit("agent.2", 0).tool_end("call_2", "ok").ask("que_1", "ses_1");
        assert!(!leads(stopped(over, "agent.1.1"), &[("agent", "question")]));
        // A tool of a session that was aborted is not waited for.
        assert!(!leads(stopped(first(), "agent.1").busy("ses_1", false), &[("agent", "client")]));
    }

    #[test]
    fn tools_side_by_side_have_a_child_each() {
        let both =
            || Cell::new().started().tool("call_1", "bash").tool("call_2", "bash").spawn("agent.1").spawn("agent.2");
        let first_ended = || both().exit("agent.1", 0).tool_end("call_1", "ok");
        assert!(leads(stopped(both(), "agent.2"), &[("agent", "bash")]));
        assert!(leads(stopped(first_ended(), "agent.2"), &[("agent", "bash")]));
        assert!(!leads(stopped(both(), "agent.1").tool_end("call_1", "given up"), &[("agent", "bash")]));
    }

    #[test]
    fn a_pipe_is_held_by_a_stopped_process_only_if_nobody_else_may_hold_it() {
        let left =
            || Cell::new().started().tool("call_1", "bash").spawn("agent.1").spawn("agent.1.1").exit("agent.1", 0);
        assert!(leads(stopped(left(), "agent.1.1"), &[("agent", "bash")]));
        assert!(!leads(left(), &[("agent", "bash")]));
        let two = left().spawn("agent.1.2");
        assert!(!leads(stopped(two.clone(), "agent.1.1"), &[("agent", "bash"), ("agent.1.2", "nothing")]));
        assert!(leads(stopped(stopped(two, "agent.1.1"), "agent.1.2"), &[("agent", "bash")]));
        let over = || Cell::new().at(0).spawn("agent").spawn("agent.1").exit("agent", 0);
        assert!(leads(stopped(over(), "agent.1"), &[("agent.1", "stopped"), ("wrapper", "exit")]));
        assert!(!leads(stopped(over(), "agent.1"), &[("agent.1", "stopped"), ("client", "event")]));
    }

    #[test]
    fn a_program_waits_for_its_command() {
        let background = r#"{"background":{"does":["hold"]}}"#;
        let waits = [("agent", "child")];
        let runs = || program(&format!("[{background},{{\"run\":[\"hold\"]}}]")).spawn("agent.1").spawn("agent.2");
        assert!(leads(stopped(runs(), "agent.2"), &waits));
        assert!(!leads(stopped(runs(), "agent.1"), &waits), "it runs in the background");
        // What a command itself starts is waited for as the command waits for it.
        let nested = || runs().spawn("agent.2.1");
        assert!(leads(stopped(nested(), "agent.2.1"), &[("agent", "child"), ("agent.2", "child")]));
        assert!(!leads(stopped(nested(), "agent.2.1"), &[("agent", "child"), ("agent.2", "stdin")]));
    }

    #[test]
    fn a_program_at_its_end_waits_for_those_that_it_has_pipes_to() {
        let steps = r#"[{"background":{"does":["hold"],"piped":true}},{"background":{"does":["hold"]}}]"#;
        let runs = || program(steps).spawn("agent.1").spawn("agent.2");
        assert!(leads(stopped(runs(), "agent.1"), &[("agent", "child")]));
        assert!(!leads(stopped(runs(), "agent.2"), &[("agent", "child")]));
    }

    #[test]
    fn a_program_waits_for_what_it_has_started() {
        let start = r#"{"start":{"name":"mcp-server","does":["hold"]}}"#;
        let missing = r#"{"start":{"name":"gone","missing":true}}"#;
        let steps = format!("[{missing},{start},{{\"receive\":{{\"from\":\"mcp-server\"}}}}]");
        let runs = || stopped(program(&steps).spawn("agent.1"), "agent.1");
        assert!(leads(runs(), &[("agent", "child")]));
        assert!(!leads(runs(), &[("agent", "client")]), "it listens, and waits for nobody below it");
        // its first child is that of the second step: the first starts nothing
        let background = format!("[{missing},{{\"background\":{{\"does\":[\"hold\"]}}}}]");
        let beside = stopped(program(&background).spawn("agent.1"), "agent.1");
        assert!(!leads(beside, &[("agent", "child")]), "there is no pipe between them");
    }

    #[test]
    fn an_agent_that_was_started_again_waits_for_its_own_children() {
        let again = || {
            let first = Cell::new().started().tool("call_1", "bash").spawn("agent.1").killed("agent", "KILL");
            first.at(9).add("agent~2", What::Spawn { parent: String::new(), argv: vec!["fake".into()] })
        };
        assert!(!leads(stopped(again(), "agent.1"), &[("agent", "client")]));
        let runs = || again().busy("ses_1", true).tool("call_2", "bash").spawn("agent~2.1");
        assert!(leads(stopped(runs(), "agent~2.1"), &[("agent", "bash")]));
        assert!(!leads(stopped(runs(), "agent.1"), &[("agent", "bash")]));
    }

    #[test]
    fn an_answered_ask_leads_nowhere() {
        let asked =
            Cell::new().started().ask("que_1", "ses_1").end("que_1", AskEnd::Replied, Cause::Answer, "user", &["A"]);
        assert!(!leads(stopped(asked.spawn("agent.1"), "agent.1"), &[("agent", "model")]));
    }

    #[test]
    fn what_was_started_before_a_tool_is_not_its_child() {
        let both = || Cell::new().started().spawn("agent.1").tool("call_1", "bash").spawn("agent.2");
        assert!(!leads(stopped(both(), "agent.1"), &[("agent", "bash")]));
        assert!(leads(stopped(both(), "agent.2"), &[("agent", "bash")]));
    }

    #[test]
    fn a_daemon_that_is_on_its_way_is_waited_for() {
        let daemon = || program(r#"[{"background":{"does":["hold"],"double_fork":true}}]"#).spawn("agent.1");
        assert!(leads(stopped(daemon(), "agent.1"), &[("agent", "child")]));
    }
}
