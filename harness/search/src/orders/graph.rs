//! The states of a cell at its ties, and what follows from each choice.
//!
//! Invariant: every choice of a state leads to one thing: another state, or an end.

/// A state at a tie: its place in [`Graph`], from 0.
pub type Node = usize;

/// What follows a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another tie.
    Tie(Node),
    /// The cell's end, and whether it is a hang.
    End {
        /// Whether the cell hangs.
        hangs: bool,
    },
}

/// All that was seen of a cell's ties.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: usize,
    edges: Vec<(Node, Next)>,
}

impl Graph {
    /// A state that was not seen before.
    pub fn add(&mut self) -> Node {
        self.nodes += 1;
        self.nodes - 1
    }

    /// Something follows a state.
    pub fn follows(&mut self, from: Node, next: Next) {
        self.edges.push((from, next));
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Whether there is no tie at all.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// For each state whether some continuation of it does not hang. Only meaningful if every choice was followed.
    pub fn escapes(&self) -> Vec<bool> {
        let mut before: Vec<Vec<Node>> = vec![Vec::new(); self.nodes];
        let (mut escapes, mut open) = (vec![false; self.nodes], Vec::new());
        for &(from, next) in &self.edges {
            match next {
                Next::Tie(to) => before[to].push(from),
                Next::End { hangs: false } => open.push(from),
                Next::End { hangs: true } => {}
            }
        }
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut escapes[node], true) {
                open.extend(&before[node]);
            }
        }
        escapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_escapes_if_one_continuation_does() {
        let mut graph = Graph::default();
        let [a, b, c, d] = std::array::from_fn(|_| graph.add());
        graph.follows(a, Next::Tie(b));
        graph.follows(a, Next::Tie(c));
        graph.follows(b, Next::End { hangs: true });
        graph.follows(b, Next::Tie(d));
        graph.follows(c, Next::End { hangs: false });
        graph.follows(d, Next::Tie(b));
        graph.follows(d, Next::End { hangs: true });
        assert_eq!(graph.escapes(), [true, false, true, false]);
        assert_eq!((graph.len(), graph.is_empty()), (4, false));
    }
}
