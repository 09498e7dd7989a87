//! What a model is shown for an agent: the tools that are sent, and the prompt sections that go with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{News, Registered, Registration, Registry, RegistryError, State};
use crate::gates::contain;
use crate::ids::{ScopeId, ToolName};
use crate::tool::{Definition, ToolSchema};

/// How tools are presented to a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Every visible tool is sent.
    #[default]
    Native,
    /// Only `run_code` is sent; programs call the tools.
    Code,
    /// Every visible tool and `run_code`.
    Both,
}

impl Mode {
    /// The mode as it is written in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Code => "code",
            Self::Both => "both",
        }
    }
}

/// One section of the system prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromptSection {
    /// The section's id, such as `tools:sdk`.
    pub id: &'static str,
    /// What it says; a section that has nothing to say in this mode is empty.
    pub text: Arc<str>,
}

/// Id of the section that says that only `run_code` can be called; it comes before what is said of single tools.
pub const CODE_ONLY_SECTION: &str = "tools:code-only";

/// Id of the section that declares the tools for programs.
pub const SDK_SECTION: &str = "tools:sdk";

const CODE_ONLY_TEXT: &str = "The only tool that you can call is `run_code`. Every other tool is a function that your \
                              program calls from inside `run_code`; a direct call of it is refused.";

/// Writes the declarations of tools in the language of a code runtime.
///
/// The text must depend on the tools alone, so that it is the same, byte for byte, as long as they are.
pub trait SdkRenderer: Send + Sync {
    /// The language as the runtime names it.
    fn language(&self) -> &str;

    /// Declares these tools with their arguments and outputs. They come in the order in which the model is shown them;
    /// `run_code` is not among them.
    fn render(&self, tools: &[Definition]) -> String;
}

/// What a model is shown for an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Presentation {
    /// Exactly the tools that are sent, in canonical order.
    pub tools: Vec<ToolSchema>,
    /// The sections that the system prompt has to have, in order; none in native mode.
    pub sections: Vec<PromptSection>,
}

/// The code-mode transport and the language of the runtime behind it.
pub(super) struct Transport {
    pub(super) registered: Arc<Registered>,
    language: Arc<str>,
}

/// The renderers that are mounted, by language.
pub(super) type Renderers = BTreeMap<Arc<str>, (u64, Arc<dyn SdkRenderer>)>;

impl Registry {
    /// Mounts the code-mode transport under its reserved name, with the language that its programs are written in.
    ///
    /// # Errors
    /// Another transport is mounted, or a change observer failed.
    pub fn mount_transport(
        &self,
        definition: Definition,
        language: impl Into<Arc<str>>,
    ) -> Result<Registration, RegistryError> {
        let mut state = self.write();
        if state.transport.is_some() {
            return Err(RegistryError::TransportMounted);
        }
        let serial = state.next();
        let registered = Arc::new(Registered { serial, definition });
        state.transport = Some(Transport { registered, language: language.into() });
        drop(state);
        self.announced(move |state| {
            if state.transport.as_ref().is_some_and(|transport| transport.registered.serial == serial) {
                state.transport = None;
            }
        })
    }

    /// Mounts the renderer for one language.
    ///
    /// # Errors
    /// The language has a renderer.
    pub fn mount_sdk_renderer(&self, renderer: Arc<dyn SdkRenderer>) -> Result<Registration, RegistryError> {
        let language: Arc<str> = renderer.language().into();
        let mut state = self.write();
        if state.renderers.contains_key(&language) {
            return Err(RegistryError::DuplicateRenderer(language));
        }
        let serial = state.next();
        state.renderers.insert(Arc::clone(&language), (serial, renderer));
        drop(state);
        Ok(self.registration(News::Silent, move |state| {
            if state.renderers.get(&language).is_some_and(|(known, _)| *known == serial) {
                state.renderers.remove(&language);
            }
        }))
    }

    /// Sets the mode of agents that no scope declares one for.
    pub fn set_default_mode(&self, mode: Mode) {
        self.write().mode = mode;
    }

    /// Sets which tools come first in every list, `run_code` included; the rest follows by name.
    pub fn set_tool_order(&self, first: Vec<ToolName>) {
        self.write().order = first;
    }

    /// The mode in which an agent is shown its tools: the nearest scope that declares one, else the default.
    pub fn mode_of(&self, agent: Option<ScopeId>) -> Mode {
        let state = self.read();
        state.mode_of(&state.chain(agent))
    }

    /// The tools that an agent can call, in canonical order, without `run_code`.
    pub fn visible(&self, agent: Option<ScopeId>) -> Vec<Definition> {
        let state = self.read();
        state.shown(&state.chain(agent))
    }

    /// Exactly what a model is sent for an agent, in canonical order; nothing where the tools cannot be
    /// assembled.
    pub fn wire_tools(&self, agent: Option<ScopeId>) -> Vec<ToolSchema> {
        self.assemble_tools(agent).unwrap_or_default()
    }

    /// Assembles the tools that a model is sent for an agent.
    ///
    /// # Errors
    /// As for [`Self::assemble`].
    pub fn assemble_tools(&self, agent: Option<ScopeId>) -> Result<Vec<ToolSchema>, RegistryError> {
        self.assemble(agent).map(|presentation| presentation.tools)
    }

    /// Assembles the prompt sections that go with an agent's tools: none in native mode, else `tools:code-only` and
    /// `tools:sdk`, the former without text where tools can also be called directly.
    ///
    /// # Errors
    /// As for [`Self::assemble`].
    pub fn prompt_sections(&self, agent: Option<ScopeId>) -> Result<Vec<PromptSection>, RegistryError> {
        self.assemble(agent).map(|presentation| presentation.sections)
    }

    /// Assembles all that a model is shown for an agent, from one state of the registry.
    ///
    /// # Errors
    /// The agent's mode needs code mode and it is not mounted, its language has no renderer, or the renderer panicked
    ///
    pub fn assemble(&self, agent: Option<ScopeId>) -> Result<Presentation, RegistryError> {
        let state = self.read();
        let chain = state.chain(agent);
        let (mode, visible) = (state.mode_of(&chain), state.shown(&chain));
        if mode == Mode::Native {
            let tools = visible.iter().map(Definition::schema).collect();
            return Ok(Presentation { tools, sections: Vec::new() });
        }
        let transport = state.transport.as_ref().ok_or(RegistryError::NoCodeRuntime(mode))?;
        let language = Arc::clone(&transport.language);
        let renderer = state.renderers.get(&language).map(|(_, renderer)| Arc::clone(renderer));
        let renderer = renderer.ok_or_else(|| RegistryError::NoSdkRenderer {
            language: Arc::clone(&language),
            known: state.renderers.keys().cloned().collect(),
        })?;
        let mut sent = vec![transport.registered.definition.clone()];
        if mode == Mode::Both {
            sent.extend(visible.iter().cloned());
        }
        state.put_in_order(&mut sent);
        drop(state);
        // Foreign code, and therefore outside of the lock.
        let sdk = contain(|| renderer.render(&visible))
            .map_err(|cause| RegistryError::SdkRendererPanicked { language, cause })?;
        let code_only = if mode == Mode::Code { CODE_ONLY_TEXT } else { "" };
        let sections = vec![
            PromptSection { id: CODE_ONLY_SECTION, text: code_only.into() },
            PromptSection { id: SDK_SECTION, text: sdk.into() },
        ];
        Ok(Presentation { tools: sent.iter().map(Definition::schema).collect(), sections })
    }
}

impl State {
    /// The mode for a chain of scopes, nearest first.
    pub(super) fn mode_of(&self, chain: &[ScopeId]) -> Mode {
        let declared = chain.iter().find_map(|scope| self.scopes.get(scope)?.mode);
        declared.map_or(self.mode, |(_, mode)| mode)
    }

    /// What a chain of scopes sees, in canonical order.
    fn shown(&self, chain: &[ScopeId]) -> Vec<Definition> {
        let seen = self.visible(chain).into_values();
        let mut shown: Vec<Definition> = seen.map(|registered| registered.definition.clone()).collect();
        self.put_in_order(&mut shown);
        shown
    }

    /// Those that the configuration puts first, then the others by name.
    fn put_in_order(&self, tools: &mut [Definition]) {
        let place = |name: &ToolName| self.order.iter().position(|first| first == name);
        tools.sort_by(|a, b| {
            let places = place(a.name()).unwrap_or(usize::MAX).cmp(&place(b.name()).unwrap_or(usize::MAX));
            places.then_with(|| a.name().cmp(b.name()))
        });
    }
}
