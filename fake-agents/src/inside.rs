//! The seat inside an agent: hosts the strategies that sit at the tool boundary, the ask layer and the model stream.
