//! The fakes against recordings of the releases, and the comparison itself.

mod claude;
mod claude_golden;
mod claude_sdk_golden;
mod claude_session;
mod codex_app_server_golden;
mod codex_golden;
mod gemini_golden;
mod golden;
mod limits;
mod opencode;
mod opencode_acp_golden;
mod opencode_golden;
mod opencode_routes;
mod opencode_run_golden;
mod released;
mod scenario_golden;
mod silence;
mod upstream_rows;
