//! Who a name in a trace is.
//!
//! Invariant: [`actor`] alone decides; every name has one kind.

/// What kind of actor a name in a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A process, by its role.
    Process,
    /// Somebody of the scenario, by whatever way.
    Person,
    /// The program that runs the agent.
    Wrapper,
    /// The baseline client of a server.
    Client,
    /// The model.
    Model,
    /// A strategy.
    Strategy,
    /// The stage, a fault, the companion's worker.
    Other,
}

/// Roles are `agent`, `agent.N…` and, restarted, `agent~N`; people are `personN`; what is no known word is a strategy's name.
pub fn actor(who: &str) -> Actor {
    match who {
        "agent" => Actor::Process,
        "wrapper" => Actor::Wrapper,
        "client" => Actor::Client,
        "model" => Actor::Model,
        "user" => Actor::Person,
        "" | "worker" | "companion" | "fault" | "conductor" | "stage" | "kernel" | "shutdown" => Actor::Other,
        _ if who.starts_with("agent.") || who.starts_with("agent~") => Actor::Process,
        _ if who.strip_prefix("person").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => Actor::Person,
        _ => Actor::Strategy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_kind() {
        let kinds = ["agent", "agent.1.2", "person1", "persona@v1", "wrapper", "idle@off", "worker"].map(actor);
        use Actor::*;
        assert_eq!(kinds, [Process, Process, Person, Strategy, Wrapper, Strategy, Other]);
    }
}
