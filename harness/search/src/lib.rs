//! Searching for hangs and making them small: explore, shrink, tune.
