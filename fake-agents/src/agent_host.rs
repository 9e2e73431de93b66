//! The host inside an agent: of the strategies that sit at the tool boundary, the ask layer and the model stream.
//!
//! A persona tells it what is seen and carries out the acts that come back, in order; [`fact`] says how an act is
//! recorded. Invariant: whatever it starts has the same strategies inside: it would be the same installed program.

use rehang_scenario::Agent;
use rehang_scenario::plan::{PLAN_ENV, Plan};
use rehang_strategy::{Act, Acting, Host, InsideAct, SpecError, Strategy, stack};
use rehang_trace::Fact;
use std::ops::{Deref, DerefMut};

/// The strategies inside one agent.
#[derive(Default)]
pub struct AgentHost {
    host: Host,
}

impl AgentHost {
    /// The strategies of a plan, in the order of the stack.
    ///
    /// # Errors
    /// A spec that does not parse or that the catalogue does not know.
    pub fn new(specs: &[String]) -> Result<AgentHost, SpecError> {
        let members = specs.iter().map(|spec| stack::member(spec)).collect::<Result<Vec<_>, SpecError>>()?;
        Ok(AgentHost { host: Host::new(members) })
    }

    /// A host of one strategy that no catalogue knows: for tests.
    pub fn with(name: &str, strategy: Box<dyn Strategy>) -> AgentHost {
        AgentHost { host: Host::of_one(name, strategy) }
    }

    /// What a tool's child must have in its environment, so that an agent which it starts has the same strategies
    /// inside. `None` if there are none.
    pub fn for_children(&self) -> Option<(String, String)> {
        let plan = Plan {
            agent: Agent::program(Vec::new()),
            turns: Vec::new(),
            faults: Vec::new(),
            inside: self.names().map(str::to_owned).collect(),
            model_port: None,
            tools: None,
            stored: None,
        };
        let plan = (!self.is_empty()).then(|| serde_json::to_string(&plan).ok())??;
        Some((PLAN_ENV.to_owned(), plan))
    }

    /// Whether a strategy of this name, in whatever version, sits here.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|spec| spec.split(['@', '(']).next() == Some(name))
    }
}

impl Deref for AgentHost {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl DerefMut for AgentHost {
    fn deref_mut(&mut self) -> &mut Host {
        &mut self.host
    }
}

/// The fact that an act is. An answer at the tool's entry has none here: the persona knows the call and notes
/// [`Fact::Preempted`].
pub fn fact(acting: &Acting) -> Option<Fact> {
    let act = match &acting.act {
        Act::Report(policy) => {
            return Some(Fact::Policy { strategy: acting.by.clone(), policy: policy.clone().into() });
        }
        Act::Say(_) => "say",
        Act::Inside(act) => match act {
            InsideAct::Withhold { .. } => "withhold",
            InsideAct::Reply { .. } => "reply",
            InsideAct::Reject { .. } => "reject",
            InsideAct::AbortStream { .. } => "abort-stream",
            InsideAct::StripEnv(_) => "strip-env",
            InsideAct::Note(word) => word,
            // the request and the stream show them
            InsideAct::AnswerTool { .. } | InsideAct::Verdict { .. } | InsideAct::Publish(_) => return None,
        },
        // it would sit outside the agent
        Act::Process(_) | Act::Protocol(_) => return None,
    };
    Some(Fact::Acted { strategy: acting.by.clone(), act: act.to_owned() })
}
