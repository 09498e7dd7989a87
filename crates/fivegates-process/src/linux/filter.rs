//! The seccomp filters: what Landlock does not govern, decided by the number and the arguments of a system call.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::confinement::{Network, UnixSockets};

/// Calls that no confined program needs and that reach around the fence, or into parts of the kernel that are rarely guarded.
const DENIED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];
/// Not `CLONE_NEWTIME`, whose bit means something else to `clone`.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Two filters: what is denied, and what is answered as if the kernel did not have it.
pub(super) fn build(network: Network, unix_sockets: UnixSockets) -> Result<[BpfProgram; 2], Error> {
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    denied.insert(libc::SYS_socket, none_of(&families(network, unix_sockets))?);
    // Both ends of a pair are its own.
    denied.insert(libc::SYS_socketpair, none_of(&[libc::AF_UNIX])?);
    // The limits of another process.
    denied.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![compare(0, SeccompCmpOp::Ne, 0)?])?]);
    denied.insert(libc::SYS_clone, NAMESPACES.into_iter().map(has_flag).collect::<Result<_, _>>()?);
    // Its flags are in memory, where no filter sees them; the C library then uses `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([program(denied, libc::EPERM)?, program(absent, libc::ENOSYS)?])
}

/// The kinds of sockets that may be opened.
fn families(network: Network, unix_sockets: UnixSockets) -> Vec<i32> {
    let mut families = Vec::new();
    if network == Network::On {
        // Netlink tells which addresses and routes there are.
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if unix_sockets == UnixSockets::On {
        families.push(libc::AF_UNIX);
    }
    families
}

/// Matches a first argument that is not in the list. No rule at all matches every call.
fn none_of(values: &[i32]) -> Result<Vec<SeccompRule>, Error> {
    let different = |value: &i32| compare(0, SeccompCmpOp::Ne, u64::from(value.unsigned_abs()));
    let all: Vec<_> = values.iter().map(different).collect::<Result<_, _>>()?;
    if all.is_empty() { Ok(Vec::new()) } else { Ok(vec![SeccompRule::new(all)?]) }
}

fn has_flag(flag: i32) -> Result<SeccompRule, Error> {
    let flag = u64::from(flag.cast_unsigned());
    Ok(SeccompRule::new(vec![compare(0, SeccompCmpOp::MaskedEq(flag), flag)?])?)
}

fn compare(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?)
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let rules: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?;
    let mut program = foreign_numbers();
    program.extend(rules);
    Ok(program)
}

/// On x86-64 the same calls have second numbers (x32), by which the rules would be passed. They do not exist here.
fn foreign_numbers() -> BpfProgram {
    if cfg!(not(target_arch = "x86_64")) {
        return Vec::new();
    }
    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GE: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    // The architecture is looked at by the rules that follow; another one is killed whatever is said here.
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GE, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ERRNO | libc::ENOSYS.unsigned_abs() },
    ]
}
