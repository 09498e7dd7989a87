//! Landlock, seccomp and process limits: what this kernel can enforce of a policy, and the enforcing.
//!
//! The runner plans, and refuses a policy that cannot hold. The supervisor builds everything before it forks; the child
//! restricts itself. Whatever fails on the way keeps the program from running.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::BpfProgram;

use super::child_setup::Step;
use super::{filter, sys};
use crate::confinement::{
    Backend, Confinement, Dimension, Enforced, Enforcement, Mode, Network, ProcessLimits, UnixSockets,
};
use crate::error::RunError;

/// Linux 6.2: from here on all that changes the content of a file is governed.
const ABI_MIN: i32 = 3;
/// Linux 6.12: signals and abstract Unix sockets.
const ABI_SCOPES: i32 = 6;
const CANNOT_CARVE: &str = "landlock can only allow: it cannot take a path out of what is allowed";

/// What the supervisor is told to enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) writable: Vec<PathBuf>,
    pub(super) network: Network,
    pub(super) unix_sockets: UnixSockets,
    pub(super) limits: ProcessLimits,
    /// The version of Landlock that the plan was made for.
    pub(super) abi: i32,
}

/// What this kernel will enforce of the policy; `None` for a fence that nobody asks for.
pub(super) fn plan(policy: &Confinement) -> Result<(Option<Fence>, Enforcement), RunError> {
    let abi = sys::landlock_abi();
    let unavailable = |detail: String| RunError::SandboxUnavailable { mode: policy.mode, detail };
    let enforcement = Enforcement {
        mode: policy.mode,
        backend: if policy.mode == Mode::DangerFullAccess { Backend::Unconfined } else { Backend::Landlock },
        dimensions: Dimension::ALL.into_iter().map(|one| (one, enforced(policy, one, abi))).collect(),
    };
    if policy.mode == Mode::DangerFullAccess {
        return Ok((None, enforcement));
    }
    if abi < ABI_MIN {
        return Err(unavailable(format!("landlock version {abi} is too old; this needs Linux 6.2 or later")));
    }
    for (dimension, enforced) in &enforcement.dimensions {
        if let Enforced::No(reason) = enforced
            && policy.demands(*dimension)
            && !policy.accepted.contains(dimension)
        {
            let detail =
                format!("`{dimension}` cannot be enforced ({reason}); accept it with `accept_partial`");
            return Err(unavailable(detail));
        }
    }
    if let Some(root) = policy.roots.iter().find(|root| !root.is_absolute()) {
        return Err(unavailable(format!("the root `{}` is not an absolute path", root.display())));
    }
    let fence = Fence {
        writable: policy.roots.clone(),
        network: policy.network,
        unix_sockets: policy.unix_sockets,
        limits: policy.limits,
        abi,
    };
    Ok((Some(fence), enforcement))
}

fn enforced(policy: &Confinement, dimension: Dimension, abi: i32) -> Enforced {
    let asked = |asked: bool, then: Enforced| if asked { then } else { Enforced::NotAsked };
    if policy.mode == Mode::DangerFullAccess {
        return Enforced::NotAsked;
    }
    match dimension {
        Dimension::WriteOutside | Dimension::Ptrace | Dimension::KernelSurface | Dimension::Limits => {
            Enforced::Yes
        }
        Dimension::AttributesOutside => {
            Enforced::No("landlock does not govern the mode, owner, times and attributes of files")
        }
        Dimension::ProtectedNames => asked(policy.demands(dimension), Enforced::No(CANNOT_CARVE)),
        Dimension::DeniedReads => asked(policy.demands(dimension), Enforced::No(CANNOT_CARVE)),
        Dimension::Tcp | Dimension::Udp => asked(policy.network == Network::Off, Enforced::Yes),
        Dimension::UnixSockets => asked(policy.unix_sockets == UnixSockets::Off, Enforced::Yes),
        Dimension::Signals if abi >= ABI_SCOPES => Enforced::Yes,
        Dimension::Signals => Enforced::No("landlock governs signals from Linux 6.12 on"),
        Dimension::Processes => Enforced::No("hiding processes needs a namespace of their own"),
        Dimension::PrivateTmp => {
            Enforced::No("a private /tmp needs a namespace of its own; name a directory in TMPDIR")
        }
        Dimension::ProcessCount => Enforced::No("a limit for a whole tree needs a control group"),
    }
}

/// Everything that the child needs to restrict itself, made before the fork.
#[derive(Debug)]
pub(super) struct Prepared {
    ruleset: Option<RulesetCreated>,
    filters: [BpfProgram; 2],
    limits: ProcessLimits,
}

impl Prepared {
    pub(super) fn new(fence: &Fence) -> io::Result<Self> {
        let failed = |_| Step::Fence.failed(Errno::NOTSUP);
        Ok(Self {
            ruleset: Some(ruleset(fence)?),
            filters: filter::build(fence.network, fence.unix_sockets).map_err(failed)?,
            limits: fence.limits,
        })
    }

    /// In the child, which is a copy of a process with a single thread. Once at most.
    pub(super) fn apply(&mut self) -> io::Result<()> {
        limit(&self.limits).map_err(|errno| Step::Limits.failed(errno))?;
        let unenforced = || Step::Landlock.failed(Errno::NOTSUP);
        let status = self.ruleset.take().ok_or_else(unenforced)?.restrict_self().map_err(|_| unenforced())?;
        if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
            return Err(unenforced());
        }
        give_up_powers().map_err(|errno| Step::Capabilities.failed(errno))?;
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(|_| Step::Seccomp.failed(Errno::NOTSUP))?;
        }
        Ok(())
    }
}

fn ruleset(fence: &Fence) -> io::Result<RulesetCreated> {
    let abi = match fence.abi {
        6.. => ABI::V6,
        5 => ABI::V5,
        4 => ABI::V4,
        _ => ABI::V3,
    };
    let writes = AccessFs::from_write(abi);
    let build = || {
        let mut ruleset =
            Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(writes)?;
        if fence.network == Network::Off && fence.abi >= 4 {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
        }
        if fence.abi >= ABI_SCOPES {
            ruleset = ruleset.scope(match fence.unix_sockets {
                UnixSockets::Off => Scope::from_all(abi),
                UnixSockets::On => Scope::Signal.into(),
            })?;
        }
        ruleset.create()
    };
    let mut created = build().map_err(|_| Step::Fence.failed(Errno::NOTSUP))?;
    // A device that it made itself would reach around every path.
    let granted = writes & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for root in &fence.writable {
        created = grant(created, root, granted)?;
    }
    grant(created, Path::new("/dev/null"), granted)
}

fn grant(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    let fd = PathFd::new(path).map_err(|_| Step::Root.failed(Errno::NOENT))?;
    let stat = fstat(fd.as_fd()).map_err(|errno| Step::Root.failed(errno))?;
    let access = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => access,
        _ => access & (AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev),
    };
    ruleset.add_rule(PathBeneath::new(fd, access)).map_err(|_| Step::Fence.failed(Errno::NOTSUP))
}

/// What root needs to work with files, users and ports of its own. Everything else reaches around the fence: who may trace or
/// measure the system reads the environment of any process whatever Landlock says.
const POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// For good: since it may gain no privileges, an execution as root does not bring them back.
fn give_up_powers() -> Result<(), Errno> {
    let mut sets = capabilities(None)?;
    sets.effective &= POWERS;
    sets.permitted &= POWERS;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)
}

/// A limit that is lower already stays as it is.
fn limit(limits: &ProcessLimits) -> Result<(), Errno> {
    let all = [
        (Resource::Core, Some(limits.core_bytes_max)),
        (Resource::Nofile, Some(limits.open_files_max)),
        (Resource::Fsize, Some(limits.file_bytes_max)),
        (Resource::As, limits.address_space_bytes_max),
    ];
    for (resource, max) in all {
        let Some(max) = max else { continue };
        let old = rustix::process::getrlimit(resource).maximum;
        let max = old.map_or(max, |old| old.min(max));
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    Ok(())
}
