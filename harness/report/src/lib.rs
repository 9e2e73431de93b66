//! Pictures: the HTML report, terminal recordings, summaries for CI jobs.
