//! Files in memory: what a process reads and writes whose other ends nobody serves meanwhile.

use std::fs::File;
use std::io::{self, Seek, Write};

/// An empty one; its name is for those who look at descriptors.
///
/// # Errors
/// There is no memory, or no descriptor.
pub fn file(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// One that holds these bytes, to be read from its beginning.
///
/// # Errors
/// There is no memory, or no descriptor.
pub fn holding(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = file(name)?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
