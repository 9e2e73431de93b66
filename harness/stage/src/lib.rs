//! Where it runs: the simulated and the real kernel, and the clock both share.
