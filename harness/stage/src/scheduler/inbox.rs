//! What actors are told, and which of it they have not taken yet.
//!
//! Invariant: the canonical form of an inbox holds each of its inputs, and costs no more than what came in since the last
//! time: a run that spins may fill an inbox without end.

use rehang_os::os::Exit;
use rehang_scenario::Canon;
use rehang_strategy::Stream;
use rehang_trace::Json;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// The inputs of one actor, oldest first. They are taken all at once.
#[derive(Debug, Default)]
pub struct Inbox {
    inputs: VecDeque<Input>,
    /// The digest of the first inputs, and how many of them it covers.
    digest: Sha256,
    digested: usize,
}

impl Inbox {
    /// Adds an input at the end.
    pub fn push(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    /// Whether there is no input.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Whether this input is among them.
    pub fn holds(&self, input: &Input) -> bool {
        self.inputs.contains(input)
    }

    /// Takes all inputs, oldest first.
    pub fn take(&mut self) -> VecDeque<Input> {
        std::mem::take(self).inputs
    }

    /// Writes the number of inputs and the SHA-256 of their `Debug` texts, which contain the whole of each input since
    /// `Debug` is derived.
    pub fn canon(&mut self, canon: &mut Canon) {
        let Self { inputs, digest, digested } = self;
        for input in inputs.range(*digested..) {
            let text = format!("{input:?}");
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        *digested = inputs.len();
        canon.num(*digested as u64);
        if *digested > 0 {
            canon.bytes(&digest.clone().finalize());
        }
    }
}

/// One thing that an actor is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The cell begins.
    Begin,
    /// Bytes of the agent's output.
    Output(Stream, Vec<u8>),
    /// The end of one of its streams.
    OutputEnd(Stream),
    /// The agent's process has ended.
    Exited(Exit),
    /// The agent's server listens.
    Listening,
    /// The session for the prompt was made.
    SessionMade(String),
    /// The response to a request of its own.
    Response {
        /// The number of the request.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Json,
    },
    /// A request of its own got no response.
    Failed {
        /// The number of the request.
        id: u32,
        /// Why there was none.
        why: &'static str,
    },
    /// An event on its event stream.
    Event(Json),
    /// Its event stream ended.
    EventsEnd,
    /// A person runs a command of the companion.
    Command(String),
    /// The agent asks something (people at a terminal look at the screen then).
    Asked,
    /// The companion's worker died.
    WorkerDied,
    /// A connection to the model's server has brought a request, or was closed.
    Model,
    /// Another actor wrote this to the agent's stdin.
    Wrote(Vec<u8>),
    /// This person wants this to be written to the agent's stdin by the strategy that is told.
    Typed(String, Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::VTime;

    fn state(inbox: &mut Inbox) -> Vec<u8> {
        let mut canon = Canon::new(VTime::ZERO);
        inbox.canon(&mut canon);
        canon.into_bytes()
    }

    #[test]
    fn equal_inputs_are_an_equal_state_however_often_it_is_asked_for() {
        let (mut often, mut once) = (Inbox::default(), Inbox::default());
        for text in ["a", "b", "c"] {
            let input = Input::Command(text.to_owned());
            let before = state(&mut often);
            often.push(input.clone());
            once.push(input);
            assert_ne!(state(&mut often), before);
        }
        assert_eq!(state(&mut often), state(&mut once));
        let other = [Input::Command("a".to_owned()), Input::Command("bc".to_owned()), Input::Begin];
        let mut third = Inbox::default();
        other.into_iter().for_each(|input| third.push(input));
        assert_ne!(state(&mut third), state(&mut once));
    }

    #[test]
    fn what_was_taken_is_no_longer_part_of_it() {
        let (mut inbox, mut empty) = (Inbox::default(), Inbox::default());
        inbox.push(Input::Begin);
        let _ = state(&mut inbox);
        assert_eq!(inbox.take(), [Input::Begin]);
        assert_eq!(state(&mut inbox), state(&mut empty));
    }
}
