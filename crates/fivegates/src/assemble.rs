//! The composition root: the one place where tools, plugins, record and pipeline meet.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::json::{Json, compact};
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::{Approver, Record};
use fivegates_core::registry::{Registration, Registry, Scope};
use fivegates_plugins::{deadline, deny_tools, permission};
use fivegates_process::Runner;
use fivegates_session::journal::{Entry, Journal, SessionJournal, types};
use fivegates_session::repair::{Live, repair_abandoned};
use fivegates_session::{NewSession, OpenOptions, SessionId, Store};

use crate::error::CliError;
use crate::settings::Settings;

/// How long calls that are still under way may take when the program ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Everything that a command which runs calls works with.
pub(crate) struct Host {
    pub(crate) registry: Registry,
    pub(crate) pipeline: Pipeline,
    pub(crate) scope: Scope,
    pub(crate) journal: Arc<SessionJournal>,
    pub(crate) session: SessionId,
    pub(crate) source: CancelSource,
    pub(crate) cancel: Cancel,
    mounted: Vec<Registration>,
    store: Store,
    /// Says that this session has a living writer.
    live: Live,
}

/// Who answers asks.
pub(crate) enum Asking {
    /// The terminal, where there is one; else nobody.
    Terminal(crate::approvals::Stdin),
    /// Somebody that the command brings along.
    Other(Arc<dyn Approver>),
}

/// What kind of session it is, and who answers.
pub(crate) struct Purpose {
    pub(crate) kind: &'static str,
    pub(crate) asking: Asking,
}

/// Opens the record for writing. It blocks on files, so it is called before the runtime is busy.
pub(crate) fn open_record(settings: &Settings) -> Result<Store, CliError> {
    let path = settings.record_path()?;
    let options = OpenOptions {
        sync: settings.record_sync(),
        event_bytes_max: settings.event_bytes_max(),
        ..OpenOptions::default()
    };
    Store::open(&path, &options).map_err(CliError::record)
}

/// Puts everything together, and begins the session on record with the policy in force.
pub(crate) async fn assemble(settings: &Settings, store: Store, purpose: Purpose) -> Result<Host, CliError> {
    let workspace = settings.workspace();
    let repaired = repair_abandoned(&store).await.map_err(CliError::record)?;
    for closed in repaired.iter().filter(|closed| closed.results > 0) {
        let (session, results) = (closed.session, closed.results);
        crate::say(&format!(
            "session {session} ended with {results} calls open; each is closed on record now"
        ));
    }
    let session = SessionId::generate().map_err(CliError::record)?;
    let live = Live::hold(store.path(), session).map_err(CliError::record)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = NewSession {
        id: session,
        created_at_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        kind: purpose.kind.to_owned(),
        cwd: Some(workspace.display().to_string()),
        meta: compact(&Json::object([
            ("version", Json::from(env!("CARGO_PKG_VERSION"))),
            ("intents", Json::from(true)),
        ])),
    };
    let journal = Arc::new(SessionJournal::new(store.begin(header).map_err(CliError::record)?));
    record_policy(&journal, settings).await?;

    let registry = Registry::new();
    let scope = registry.scope(purpose.kind, None);
    let mounted = mount(&registry, settings, Some(session))?;
    let asking: Arc<dyn Approver> = match purpose.asking {
        Asking::Terminal(input) => crate::approvals::terminal_or_nobody(input),
        Asking::Other(approver) => approver,
    };
    let approver = crate::approvals::Recorded::new(asking, Arc::clone(&journal) as Arc<dyn Journal>);
    let pipeline = Pipeline::builder(registry.clone())
        .approver(Arc::new(approver))
        .waits(settings.waits())
        .arguments_bytes_max(settings.arguments_bytes_max())
        .on_warning(|text| crate::say(&crate::escape::line(text, 2_000)))
        .build();
    let (source, cancel) = CancelSource::new();
    Ok(Host { registry, pipeline, scope, journal, session, source, cancel, mounted, store, live })
}

/// Mounts tools and plugins: one line each.
pub(crate) fn mount(
    registry: &Registry,
    settings: &Settings,
    session: Option<SessionId>,
) -> Result<Vec<Registration>, CliError> {
    let runner = Runner::new().map_err(CliError::failed)?;
    let tools = settings.tools(session.map(|session| session.to_string()));
    let mut mounted = fivegates_tools::register(registry, None, tools, runner).map_err(CliError::failed)?;
    mounted.extend(permission::mount(registry, permission::Config { mode: settings.permission() }));
    mounted.extend(deadline::mount(registry, settings.deadline()).map_err(CliError::usage)?);
    mounted.extend(deny_tools::mount(registry, settings.guards()).map_err(CliError::usage)?);
    Ok(mounted)
}

/// Says on record what was allowed and that commands were not confined (invariant 9).
async fn record_policy(journal: &SessionJournal, settings: &Settings) -> Result<(), CliError> {
    let preset = Json::object([
        ("preset", Json::from(settings.permission().as_str())),
        ("origin", Json::from(settings.permission_origin().to_string())),
        ("confined", Json::from(false)),
    ]);
    journal.append(Entry::new(types::PERMISSION_PRESET, preset)).await.map(|_| ()).map_err(CliError::record)
}

impl Host {
    /// The record, as the scheduler wants it.
    pub(crate) fn record(&self) -> Arc<dyn Record> {
        Arc::clone(&self.journal) as Arc<dyn Record>
    }

    /// Waits for dropped calls, unmounts everything and closes the record.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        let open = self.pipeline.drained(DRAIN).await;
        if open > 0 {
            crate::say(&format!(
                "{open} calls did not come to their end; the record closes them when it is next used"
            ));
        }
        drop(self.mounted);
        drop(self.journal);
        let closed = self.store.close().await.map_err(CliError::record);
        if open == 0 {
            drop(self.live);
        } else {
            // Calls that did not come to their end are closed by whoever opens the record next.
            self.live.leave();
        }
        closed
    }
}
