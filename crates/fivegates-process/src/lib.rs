//! Starts, bounds and kills every program that anything starts.
//!
//! [`Runner::run`] starts one program from a [`Spec`] and answers with [`Finished`]: exit, signal, deadline, cancellation,
//! kill and truncation are data, never text to be parsed (spec §6, §7.1). Every program
//!
//! - gets an allow-listed environment ([`EnvPolicy`]), no descriptor but its three standard streams, and no terminal,
//! - is the leader of its own session and process group, which is stopped as a whole: TERM, grace, KILL,
//! - has a bounded tail of each output stream kept byte-exactly, whatever it writes,
//! - is killed with its group when the future that runs it is dropped, and dies when this process is killed; what it
//!   started dies with this process only under a supervisor.
//!
//! With a supervisor ([`child_main`], [`Runner::with_helper`]) all descendants are found and killed, also those that left the
//! process group. Without one, a descendant that leaves the group (`setsid`) cannot pin a call, but survives it. [`Certainty`]
//! says what is known.
//!
//! A program is confined by a [`Confinement`]: where it writes, which sockets it opens, whom it signals. What the kernel cannot
//! enforce is told ([`Enforcement`]), and what the policy demands and cannot have keeps the program from running.
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use fivegates_process::{Program, Runner, Spec};
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let runner = Runner::new()?;
//! let spec = Spec::new(Program::new("cat")?, "/").stdin("hello");
//! let finished = runtime.block_on(runner.run(spec, std::future::pending()))?;
//! assert_eq!(finished.exit_code, Some(0));
//! assert_eq!(finished.stdout.text().text, "hello");
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
//!
//! Linux 5.11 or later. On other systems the crate compiles and [`Runner::new`] refuses.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "used by the runner, which is there on Linux alone")
)]

mod capture;
mod confinement;
mod env;
mod error;
mod finished;
mod signal;
mod spec;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use capture::{Captured, Text};
pub use confinement::{
    Backend, Confinement, Dimension, Enforced, Enforcement, Mode, Network, ProcessLimits, UnixSockets,
};
pub use env::EnvPolicy;
pub use error::RunError;
pub use finished::{Certainty, Finished, Stream};
#[cfg(target_os = "linux")]
pub use linux::{Runner, child_main};
pub use signal::Signal;
pub use spec::{Program, Spec};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Runner, child_main};
