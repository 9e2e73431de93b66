//! The routes that say what a server is and has: `GET`s without an id, each with the first release that answers them.
//!
//! Invariant: `ALL` names each of them once (`each_path_is_one_route`), and a release has those whose `since` is not
//! above it. The boundaries are those between recorded releases: 1.0.185, 1.2.15, 1.2.27, 1.3.2, 1.18.33.

/// The three numbers of a version.
pub type Numbers = (u32, u32, u32);

const V1_0: Numbers = (1, 0, 0);
/// First recorded in 1.2.15.
const V1_1: Numbers = (1, 1, 0);
const V1_2_27: Numbers = (1, 2, 27);
/// First recorded in 1.18.33; taken for the boundary of the dialect.
const V1_14: Numbers = (1, 14, 0);

macro_rules! infos {
    ($($name:ident $path:literal $since:ident,)*) => {
        /// What a client asks for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Info {
            $($name,)*
        }

        impl Info {
            /// All of them, in this order.
            pub const ALL: &[Info] = &[$(Info::$name,)*];

            /// The path of the route.
            pub fn path(self) -> &'static str {
                match self {
                    $(Info::$name => $path,)*
                }
            }

            /// The first release that is known to have it.
            pub fn since(self) -> Numbers {
                match self {
                    $(Info::$name => $since,)*
                }
            }
        }
    };
}

infos! {
    Agents "/agent" V1_0,
    ApiAgents "/api/agent" V1_14,
    ApiActive "/api/session/active" V1_14,
    ApiCommands "/api/command" V1_14,
    ApiFiles "/api/fs/list" V1_14,
    ApiHealth "/api/health" V1_14,
    ApiIntegrations "/api/integration" V1_14,
    ApiLocation "/api/location" V1_14,
    ApiModels "/api/model" V1_14,
    ApiPermissions "/api/permission/request" V1_14,
    ApiProviders "/api/provider" V1_14,
    ApiPtys "/api/pty" V1_14,
    ApiQuestions "/api/question/request" V1_14,
    ApiReferences "/api/reference" V1_14,
    ApiSaved "/api/permission/saved" V1_14,
    ApiSessions "/api/session" V1_14,
    ApiSkills "/api/skill" V1_14,
    Capabilities "/experimental/capabilities" V1_14,
    Commands "/command" V1_0,
    Config "/config" V1_0,
    ConfigProviders "/config/providers" V1_0,
    Console "/experimental/console" V1_14,
    ConsoleOrgs "/experimental/console/orgs" V1_14,
    CurrentProject "/project/current" V1_0,
    EverySession "/experimental/session" V1_1,
    FileStatus "/file/status" V1_0,
    Formatters "/formatter" V1_0,
    GlobalConfig "/global/config" V1_1,
    Health "/global/health" V1_1,
    Lsp "/lsp" V1_0,
    Mcp "/mcp" V1_0,
    Path "/path" V1_0,
    Projects "/project" V1_0,
    ProviderAuth "/provider/auth" V1_0,
    Providers "/provider" V1_0,
    Ptys "/pty" V1_0,
    Resources "/experimental/resource" V1_1,
    Shells "/pty/shells" V1_14,
    Skills "/skill" V1_1,
    ToolIds "/experimental/tool/ids" V1_0,
    Vcs "/vcs" V1_0,
    VcsDiff "/vcs/diff/raw" V1_14,
    VcsStatus "/vcs/status" V1_14,
    WorkspaceAdapters "/experimental/workspace/adapter" V1_14,
    WorkspaceStatus "/experimental/workspace/status" V1_14,
    Workspaces "/experimental/workspace" V1_2_27,
    Worktrees "/experimental/worktree" V1_1,
}

impl Info {
    /// The one with these path segments.
    pub fn of(segments: &[&str]) -> Option<Info> {
        let is = |info: &Info| info.path().split('/').skip(1).eq(segments.iter().copied());
        Info::ALL.iter().copied().find(is)
    }
}

/// The parts of a session that are asked for over the second API (`/api/session/:id/…`), which releases of the newest
/// dialect have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ApiPart {
    Info,
    Context,
    History,
    Messages,
    Permissions,
    Questions,
}

impl ApiPart {
    /// All of them, in this order.
    pub const ALL: [ApiPart; 6] = {
        use ApiPart::*;
        [Info, Context, History, Messages, Permissions, Questions]
    };

    /// The segment after the session's id; empty for the session itself.
    pub fn segment(self) -> &'static str {
        match self {
            ApiPart::Info => "",
            ApiPart::Context => "context",
            ApiPart::History => "history",
            ApiPart::Messages => "message",
            ApiPart::Permissions => "permission",
            ApiPart::Questions => "question",
        }
    }

    /// The part of this segment.
    pub fn of(segment: &str) -> Option<ApiPart> {
        ApiPart::ALL.into_iter().find(|part| part.segment() == segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_one_route() {
        for info in Info::ALL {
            let segments: Vec<&str> = info.path().split('/').skip(1).collect();
            assert_eq!(Info::of(&segments), Some(*info));
        }
        assert_eq!(Info::of(&[]), None);
    }
}
