//! Real agents as data: where a release is had, how it is installed, run and read.
