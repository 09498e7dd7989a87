//! What a program may do beyond its own memory: the policy as data, and what of it is really enforced.
//!
//! | dimension | Landlock and seccomp |
//! |---|---|
//! | `write-outside` | yes, from Linux 6.2 on (Landlock 3) |
//! | `attributes-outside` | no: mode, owner, times and attributes are not governed |
//! | `protected-names` | no: Landlock cannot take a path out of an allowed one |
//! | `denied-reads` | no: for the same reason |
//! | `tcp`, `udp` | yes, on or off: seccomp for every socket, Landlock for TCP as well; no choice of hosts |
//! | `unix-sockets` | yes, on or off: seccomp, abstract ones by Landlock as well |
//! | `signals` | yes, from Linux 6.12 on (Landlock 6) |
//! | `ptrace` | yes: also `/proc/PID/mem` and `environ` of processes outside |
//! | `processes`, `private-tmp` | no: they need namespaces |
//! | `kernel-surface`, `limits` | yes: seccomp, process limits |
//! | `process-count` | no: it needs a control group |

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// How far a program may reach (spec §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Reads anywhere, writes to `/dev/null` alone.
    ReadOnly,
    /// Writes below the roots as well.
    WorkspaceWrite,
    /// Unconfined.
    DangerFullAccess,
}

impl Mode {
    /// The name in settings and texts, `workspace-write` for example.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a program may open network sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// None of any kind.
    Off,
    /// Internet sockets, to any address.
    On,
}

/// Whether a program may open Unix sockets, behind which other programs of this machine do things for whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnixSockets {
    /// None but connected pairs.
    Off,
    /// Any.
    On,
}

/// One thing that a confinement bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dimension {
    /// Content and names outside the roots: create, write, truncate, rename, link, remove.
    WriteOutside,
    /// Mode, owner, times and attributes of files outside the roots.
    AttributesOutside,
    /// Names inside a root that must not be written, also when they do not exist.
    ProtectedNames,
    /// Paths that must not be read.
    DeniedReads,
    /// TCP connections and listeners.
    Tcp,
    /// UDP and every other kind of network socket.
    Udp,
    /// Unix sockets, by path and abstract.
    UnixSockets,
    /// Signals to processes outside the confinement.
    Signals,
    /// Tracing, and reading or writing the memory, of processes outside the confinement.
    Ptrace,
    /// Seeing that other processes exist.
    Processes,
    /// A `/tmp` of its own.
    PrivateTmp,
    /// Calls that widen the reach or the attack surface: `io_uring`, namespaces, mounts, `bpf`, `userfaultfd`, kernel modules.
    KernelSurface,
    /// Limits for core dumps, open files and file sizes.
    Limits,
    /// The number of processes.
    ProcessCount,
}

impl Dimension {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::WriteOutside,
        Self::AttributesOutside,
        Self::ProtectedNames,
        Self::DeniedReads,
        Self::Tcp,
        Self::Udp,
        Self::UnixSockets,
        Self::Signals,
        Self::Ptrace,
        Self::Processes,
        Self::PrivateTmp,
        Self::KernelSurface,
        Self::Limits,
        Self::ProcessCount,
    ];

    /// The name in settings and texts, `write-outside` for example.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteOutside => "write-outside",
            Self::AttributesOutside => "attributes-outside",
            Self::ProtectedNames => "protected-names",
            Self::DeniedReads => "denied-reads",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::UnixSockets => "unix-sockets",
            Self::Signals => "signals",
            Self::Ptrace => "ptrace",
            Self::Processes => "processes",
            Self::PrivateTmp => "private-tmp",
            Self::KernelSurface => "kernel-surface",
            Self::Limits => "limits",
            Self::ProcessCount => "process-count",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What holds of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// The kernel enforces it.
    Yes,
    /// Nothing does, for this reason.
    No(&'static str),
    /// The policy allows it.
    NotAsked,
}

/// Which mechanism confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// None: the mode asks for none.
    Unconfined,
    /// Landlock and a seccomp filter.
    Landlock,
}

/// What was really enforced on a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enforcement {
    /// The mode that was asked for.
    pub mode: Mode,
    /// What enforced it.
    pub backend: Backend,
    /// Every dimension and what holds of it.
    pub dimensions: Vec<(Dimension, Enforced)>,
}

impl Enforcement {
    /// What holds of one dimension.
    pub fn of(&self, dimension: Dimension) -> Enforced {
        let found = self.dimensions.iter().find(|(listed, _)| *listed == dimension);
        found.map_or(Enforced::No("this back end does not know of it"), |(_, enforced)| *enforced)
    }
}

/// Limits of each process of a confined program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The size of a core dump, in bytes.
    pub core_bytes_max: u64,
    /// The number of open descriptors.
    pub open_files_max: u64,
    /// The size of a file that it writes, in bytes.
    pub file_bytes_max: u64,
    /// The address space, in bytes. Unlimited unless configured: many runtimes reserve far more than they use.
    pub address_space_bytes_max: Option<u64>,
}

impl Default for ProcessLimits {
    /// No core dumps, 4,096 descriptors, files of 16 GiB.
    fn default() -> Self {
        Self {
            core_bytes_max: 0,
            open_files_max: 4_096,
            file_bytes_max: 16 * 1024 * 1024 * 1024,
            address_space_bytes_max: None,
        }
    }
}

/// The policy under which a program runs.
///
/// A dimension that the policy demands and the back end cannot enforce keeps the program from running, unless
/// [`Confinement::accept_partial`] names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub(crate) mode: Mode,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) protected_names: Vec<PathBuf>,
    pub(crate) denied_reads: Vec<PathBuf>,
    pub(crate) network: Network,
    pub(crate) unix_sockets: UnixSockets,
    pub(crate) limits: ProcessLimits,
    pub(crate) demanded: BTreeSet<Dimension>,
    pub(crate) accepted: BTreeSet<Dimension>,
}

impl Confinement {
    /// Written nowhere but to `/dev/null`; no network, no Unix sockets.
    pub fn read_only() -> Self {
        Self {
            mode: Mode::ReadOnly,
            roots: Vec::new(),
            protected_names: Vec::new(),
            denied_reads: Vec::new(),
            network: Network::Off,
            unix_sockets: UnixSockets::Off,
            limits: ProcessLimits::default(),
            demanded: BTreeSet::new(),
            accepted: BTreeSet::new(),
        }
    }

    /// As [`Confinement::read_only`], and writes below these directories, which must be absolute. The names `.git/hooks`,
    /// `.git/config` and `.fivegates` in them are protected.
    pub fn workspace_write<P: Into<PathBuf>>(roots: impl IntoIterator<Item = P>) -> Self {
        Self {
            mode: Mode::WorkspaceWrite,
            roots: roots.into_iter().map(Into::into).collect(),
            protected_names: [".git/hooks", ".git/config", ".fivegates"].map(PathBuf::from).into(),
            ..Self::read_only()
        }
    }

    /// Nothing is confined, and no back end is needed.
    pub fn danger_full_access() -> Self {
        Self {
            mode: Mode::DangerFullAccess,
            network: Network::On,
            unix_sockets: UnixSockets::On,
            ..Self::read_only()
        }
    }

    /// Protects exactly these names, relative to each root, also when they do not exist.
    #[must_use]
    pub fn protected_names<P: Into<PathBuf>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.protected_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Denies reading these paths.
    #[must_use]
    pub fn denied_reads<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.denied_reads = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Decides over network sockets.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Decides over Unix sockets.
    #[must_use]
    pub fn unix_sockets(mut self, unix_sockets: UnixSockets) -> Self {
        self.unix_sockets = unix_sockets;
        self
    }

    /// Sets the limits of each process.
    #[must_use]
    pub fn limits(mut self, limits: ProcessLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Demands a dimension that the mode alone does not: [`Dimension::AttributesOutside`], [`Dimension::Processes`],
    /// [`Dimension::PrivateTmp`] or [`Dimension::ProcessCount`].
    #[must_use]
    pub fn demand(mut self, dimension: Dimension) -> Self {
        self.demanded.insert(dimension);
        self
    }

    /// Runs the program also when this dimension cannot be enforced. The answer still says that it was not.
    #[must_use]
    pub fn accept_partial(mut self, dimension: Dimension) -> Self {
        self.accepted.insert(dimension);
        self
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The directories that may be written below.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(PathBuf::as_path)
    }

    /// Whether the program must not run without this dimension.
    pub(crate) fn demands(&self, dimension: Dimension) -> bool {
        if self.mode == Mode::DangerFullAccess {
            return false;
        }
        self.demanded.contains(&dimension)
            || match dimension {
                Dimension::WriteOutside
                | Dimension::Signals
                | Dimension::Ptrace
                | Dimension::KernelSurface
                | Dimension::Limits => true,
                Dimension::ProtectedNames => !self.roots.is_empty() && !self.protected_names.is_empty(),
                Dimension::DeniedReads => !self.denied_reads.is_empty(),
                Dimension::Tcp | Dimension::Udp => self.network == Network::Off,
                Dimension::UnixSockets => self.unix_sockets == UnixSockets::Off,
                Dimension::AttributesOutside
                | Dimension::Processes
                | Dimension::PrivateTmp
                | Dimension::ProcessCount => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demanded(confinement: &Confinement) -> Vec<&'static str> {
        let demanded = Dimension::ALL.into_iter().filter(|dimension| confinement.demands(*dimension));
        demanded.map(Dimension::name).collect()
    }

    #[test]
    fn a_mode_demands_what_it_promises() {
        let basic =
            ["write-outside", "tcp", "udp", "unix-sockets", "signals", "ptrace", "kernel-surface", "limits"];
        assert_eq!(demanded(&Confinement::read_only()), basic);
        let open = Confinement::read_only().network(Network::On).unix_sockets(UnixSockets::On);
        assert_eq!(demanded(&open), ["write-outside", "signals", "ptrace", "kernel-surface", "limits"]);
        assert!(demanded(&Confinement::workspace_write(["/w"])).contains(&"protected-names"));
        let none: [&str; 0] = [];
        assert!(
            !demanded(&Confinement::workspace_write(["/w"]).protected_names(none))
                .contains(&"protected-names")
        );
        assert!(demanded(&Confinement::read_only().denied_reads(["/s"])).contains(&"denied-reads"));
        assert!(demanded(&Confinement::read_only().demand(Dimension::PrivateTmp)).contains(&"private-tmp"));
        assert_eq!(demanded(&Confinement::danger_full_access()), none);
    }
}
