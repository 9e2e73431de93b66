//! Where rehang keeps what it needs again: downloaded agents, the evidence of ended runs, the last run.

use std::path::PathBuf;

/// The folder, which may not exist yet: `REHANG_CACHE`, else `$XDG_CACHE_HOME/rehang`, else `~/.cache/rehang`.
pub fn folder() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
}
