//! What kind of actor a name in a trace stands for.
//!
//! Invariant: every name has one kind ([`actor`]), and only this module puts the roles of processes together and takes
//! them apart ([`Role`], [`agent`]).

/// The name of the scheduler, which ends a cell.
pub const SCHEDULER: &str = "scheduler";

/// What kind of actor a name in a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A process, by its role.
    Process,
    /// A person of the scenario, in whatever way they act.
    Person,
    /// The program that runs the agent.
    Wrapper,
    /// The baseline client of a server.
    Client,
    /// The model that the agent asks.
    Model,
    /// A strategy, by its name.
    Strategy,
    /// The stage, a fault, or the companion's worker.
    Other,
}

/// The role of the agent.
pub const AGENT: &str = "agent";

/// The role of the tool server that a scenario starts beside its agent.
pub const TOOLS: &str = "tools";

/// The role of a process, taken apart: `agent~2.1.3` is the third child of the first child of the agent that was started for
/// the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role<'a> {
    instance: u32,
    path: &'a str,
}

impl<'a> Role<'a> {
    /// The role that a name in a trace is; `None` if it is not a process's name.
    pub fn of(who: &'a str) -> Option<Role<'a>> {
        let rest = who.strip_prefix(AGENT)?;
        let (instance, path) = rest.split_once('.').unwrap_or((rest, ""));
        let instance = match instance.strip_prefix('~') {
            Some(number) => number.parse().ok()?,
            None if instance.is_empty() => 1,
            None => return None,
        };
        Some(Role { instance, path })
    }

    /// The ordinal of the agent's start, from 1.
    pub fn instance(self) -> u32 {
        self.instance
    }

    /// Whether it is the agent itself.
    pub fn is_agent(self) -> bool {
        self.path.is_empty()
    }

    /// How far it is below the agent: 0 for the agent, 1 for its children.
    pub fn depth(self) -> usize {
        self.path.split('.').filter(|ordinal| !ordinal.is_empty()).count()
    }
}

/// The role of an agent that is started for the `instance`th time, from 1.
pub fn agent(instance: u32) -> String {
    if instance == 1 { AGENT.to_owned() } else { format!("{AGENT}~{instance}") }
}

/// The role under which the judge knows a process: an agent that was started again is the same agent, and holds the
/// sessions of the first one.
pub fn same_agent(role: &str) -> &str {
    if Role::of(role).is_some_and(Role::is_agent) { AGENT } else { role }
}

/// Roles of processes have the form of [`Role`], or are [`TOOLS`]; people are `personN`; a name that is no known word is a strategy's.
pub fn actor(who: &str) -> Actor {
    match who {
        "wrapper" => Actor::Wrapper,
        "client" => Actor::Client,
        "model" => Actor::Model,
        "user" => Actor::Person,
        "" | "worker" | "companion" | "fault" | SCHEDULER | "stage" | "kernel" | "shutdown" => Actor::Other,
        TOOLS => Actor::Process,
        _ if Role::of(who).is_some() => Actor::Process,
        _ if who.strip_prefix("person").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => Actor::Person,
        _ => Actor::Strategy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_taken_apart_as_it_was_put_together() {
        let of = |who: &str| Role::of(who).map(|role| (role.instance(), role.is_agent(), role.depth()));
        assert_eq!(of("agent"), Some((1, true, 0)));
        assert_eq!(of("agent.1.2"), Some((1, false, 2)));
        assert_eq!(of(&agent(2)), Some((2, true, 0)));
        assert_eq!(of(&format!("{}.1", agent(12))), Some((12, false, 1)));
        assert_eq!(["agents", "agent~", "agent~x", "person1", ""].map(of), [None; 5]);
        assert_eq!(["agent", "agent~3", "agent~3.1", "x"].map(same_agent), ["agent", "agent", "agent~3.1", "x"]);
    }

    #[test]
    fn names_have_their_kind() {
        let kinds = ["agent", "agent.1.2", TOOLS, "person1", "persona@v1", "wrapper", "idle@off", "worker"].map(actor);
        use Actor::*;
        assert_eq!(kinds, [Process, Process, Process, Person, Strategy, Wrapper, Strategy, Other]);
        assert_eq!(["client", "model", "user", SCHEDULER].map(actor), [Client, Model, Person, Other]);
    }
}
