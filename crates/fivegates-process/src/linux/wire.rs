//! What passes between the runner and its supervisor, over a socket of their own.
//!
//! The runner sends one [`Order`] and then single bytes, each a [`Request`]. The supervisor answers with [`Event`]s of a fixed size.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::fence::Fence;
use crate::confinement::{Network, ProcessLimits, UnixSockets};

/// More than any system lets a program be started with.
pub(super) const ORDER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The size of an event.
pub(super) const EVENT_BYTES: usize = 9;

/// What the supervisor is to start. Its working directory is the one that it finds itself in, its streams are its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The process id of the runner's process.
    pub(super) host: i32,
    pub(super) path: PathBuf,
    pub(super) arg0: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) fence: Option<Fence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Term,
    Kill,
}

impl Request {
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Term => b'T',
            Self::Kill => b'K',
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The program was executed.
    Started { pid: i32 },
    /// It was not; an error code as [`super::child_setup::Step`] makes them. The last event.
    Failed { raw: i32 },
    /// The program exited.
    Exited { code: i32 },
    /// A signal ended the program.
    Signalled { signal: i32 },
    /// No descendant is left. The last event.
    Gone { killed: i32 },
}

impl Event {
    pub(super) fn encode(self) -> [u8; EVENT_BYTES] {
        let (kind, value) = match self {
            Self::Started { pid } => (1, pid),
            Self::Failed { raw } => (2, raw),
            Self::Exited { code } => (3, code),
            Self::Signalled { signal } => (4, signal),
            Self::Gone { killed } => (5, killed),
        };
        let mut bytes = [0; EVENT_BYTES];
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    /// `None` for anything that `encode` does not make.
    pub(super) fn decode(bytes: [u8; EVENT_BYTES]) -> Option<Self> {
        let [kind, a, b, c, d, 0, 0, 0, 0] = bytes else {
            return None;
        };
        let value = i32::from_le_bytes([a, b, c, d]);
        match kind {
            1 => Some(Self::Started { pid: value }),
            2 => Some(Self::Failed { raw: value }),
            3 => Some(Self::Exited { code: value }),
            4 => Some(Self::Signalled { signal: value }),
            5 => Some(Self::Gone { killed: value }),
            _ => None,
        }
    }
}

impl Order {
    /// The order behind its length. `None` beyond [`ORDER_BYTES_MAX`].
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut writer = Writer(vec![0; 4]);
        writer.number(self.host.cast_unsigned());
        writer.text(self.path.as_os_str());
        writer.text(&self.arg0);
        writer.number(u32::try_from(self.args.len()).ok()?);
        self.args.iter().for_each(|arg| writer.text(arg));
        writer.number(u32::try_from(self.env.len()).ok()?);
        self.env.iter().for_each(|(name, value)| {
            writer.text(name);
            writer.text(value);
        });
        writer.fence(self.fence.as_ref())?;
        let mut bytes = writer.0;
        let length = bytes.len() - 4;
        if length > ORDER_BYTES_MAX {
            return None;
        }
        bytes[..4].copy_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
        Some(bytes)
    }

    /// What follows the length. `None` for anything that `encode` does not make.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let host = reader.number()?.cast_signed();
        let path = reader.text()?.into();
        let arg0 = reader.text()?;
        let args = reader.many(Reader::text)?;
        let env = reader.many(|reader| Some((reader.text()?, reader.text()?)))?;
        let fence = reader.fence()?;
        reader.0.is_empty().then_some(Self { host, path, arg0, args, env, fence })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn fence(&mut self, fence: Option<&Fence>) -> Option<()> {
        self.number(u32::from(fence.is_some()));
        let Some(fence) = fence else {
            return Some(());
        };
        self.number(u32::try_from(fence.writable.len()).ok()?);
        fence.writable.iter().for_each(|root| self.text(root.as_os_str()));
        self.number(u32::from(fence.network == Network::On));
        self.number(u32::from(fence.unix_sockets == UnixSockets::On));
        self.number(fence.abi.cast_unsigned());
        let limits = &fence.limits;
        self.long(limits.core_bytes_max);
        self.long(limits.open_files_max);
        self.long(limits.file_bytes_max);
        self.number(u32::from(limits.address_space_bytes_max.is_some()));
        self.long(limits.address_space_bytes_max.unwrap_or_default());
        Some(())
    }

    /// A text beyond 4 GiB is cut, and the order is then refused for its length.
    fn text(&mut self, text: &OsStr) {
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn long(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn fence(&mut self) -> Option<Option<Fence>> {
        if !self.flag()? {
            return Some(None);
        }
        let writable = self.many(|reader| Some(reader.text()?.into()))?;
        let network = if self.flag()? { Network::On } else { Network::Off };
        let unix_sockets = if self.flag()? { UnixSockets::On } else { UnixSockets::Off };
        let abi = self.number()?.cast_signed();
        let (core_bytes_max, open_files_max, file_bytes_max) = (self.long()?, self.long()?, self.long()?);
        let (has_address_space, address_space) = (self.flag()?, self.long()?);
        let address_space_bytes_max = has_address_space.then_some(address_space);
        let limits =
            ProcessLimits { core_bytes_max, open_files_max, file_bytes_max, address_space_bytes_max };
        Some(Some(Fence { writable, network, unix_sockets, limits, abi }))
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }

    /// Grows with what is really there, never with what is announced.
    fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(one(self)?);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = OsString> {
        prop::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn an_order_survives_the_way(
            host in any::<i32>(),
            path in text(),
            args in prop::collection::vec(text(), 0..5),
            env in prop::collection::vec((text(), text()), 0..5),
            roots in prop::option::of(prop::collection::vec(text(), 0..3)),
            max in any::<Option<u64>>(),
        ) {
            let fence = roots.map(|roots| Fence {
                writable: roots.into_iter().map(Into::into).collect(),
                network: if host > 0 { Network::On } else { Network::Off },
                unix_sockets: if max.is_some() { UnixSockets::On } else { UnixSockets::Off },
                limits: ProcessLimits { address_space_bytes_max: max, ..ProcessLimits::default() },
                abi: host,
            });
            let order = Order { host, arg0: path.clone(), path: path.into(), args, env, fence };
            let bytes = order.encode().unwrap();
            prop_assert_eq!(bytes[..4].to_vec(), u32::try_from(bytes.len() - 4).unwrap().to_le_bytes());
            prop_assert_eq!(Order::decode(&bytes[4..]), Some(order));
            prop_assert_eq!(Order::decode(&bytes[4..bytes.len() - 1]), None);
        }

        #[test]
        fn nothing_read_is_trusted(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Order::decode(&bytes);
        }
    }

    #[test]
    fn events_survive_the_way() {
        let events = [
            Event::Started { pid: 7 },
            Event::Failed { raw: 0x0003_0002 },
            Event::Exited { code: 255 },
            Event::Signalled { signal: 9 },
            Event::Gone { killed: 3 },
        ];
        for event in events {
            assert_eq!(Event::decode(event.encode()), Some(event));
        }
        assert_eq!(Event::decode([0; EVENT_BYTES]), None);
        assert_eq!(Event::decode([1, 0, 0, 0, 0, 0, 0, 0, 1]), None);
    }

    #[test]
    fn a_giant_order_is_refused() {
        let arg0 = OsString::from("x".repeat(ORDER_BYTES_MAX));
        let order = Order { host: 1, path: "x".into(), arg0, args: Vec::new(), env: Vec::new(), fence: None };
        assert_eq!(order.encode(), None);
    }
}
