//! Where a server listens, and what it says about that, in the words of each release.
//!
//! Invariant: on a stage only the address is said, and the port is one of the stage's own.

use super::args::Args;
use super::release::{Dialect, Release};
use rehang_os::os::{CannotStart, Fd, Listen, Os};
use std::net::Ipv4Addr;

/// The port that is tried first if none is asked for (`server.ts`: 4096, else a free one).
const FIRST_PORT: u16 = 4_096;
/// If it is set, clients must authenticate; a server without it says so.
const PASSWORD_ENV: &str = "OPENCODE_SERVER_PASSWORD";

/// A server's socket and the lines that it prints.
pub(super) struct Listening {
    /// The listening socket.
    pub socket: Fd,
    /// What `serve` says before the address, on stdout.
    pub warning: &'static str,
    /// The line with the address: `opencode server listening on http://…`.
    pub line: String,
}

/// Listens on the address of the command line.
///
/// # Errors
/// What the release says on stderr before it exits with 1.
pub(super) fn listen(os: &mut dyn Os, args: &Args, release: &Release) -> Result<Listening, CannotStart> {
    let host = if args.hostname.is_empty() { "127.0.0.1" } else { &args.hostname };
    let address = match host {
        "localhost" => Some(Ipv4Addr::LOCALHOST),
        other => other.parse().ok(),
    };
    let failed = |port: u16| {
        let header = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mUnexpected error\n\n";
        CannotStart::new(match release.dialect {
            Dialect::V1_0 => format!("{header}error: Failed to start server. Is port {port} in use?\n"),
            Dialect::V1_2 => format!("{header}Failed to start server on port {port}\n"),
            Dialect::V1_18 => format!("{header}ServeError\n"),
        })
    };
    let address = address.ok_or_else(|| failed(args.port))?;
    let first = if args.port == 0 { FIRST_PORT } else { args.port };
    let listened = match os.listen_at(Listen { address, port: first }) {
        Err(_) if args.port == 0 => os.listen_at(Listen { address, port: 0 }),
        other => other,
    };
    let (socket, port) = listened.map_err(|_| failed(first))?;
    let warns = release.dialect > Dialect::V1_0 && os.is_alone() && os.env(PASSWORD_ENV).is_none_or(|it| it.is_empty());
    Ok(Listening {
        socket,
        warning: if warns { "Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.\n" } else { "" },
        line: format!("opencode server listening on http://{host}:{port}"),
    })
}
