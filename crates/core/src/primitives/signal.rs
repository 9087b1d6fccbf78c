//! Signals, as a sum over the primitives, and what follows from an event.
//!
//! | | sent by | answered |
//! |---|---|---|
//! | [`Command`] | a caller, or a policy that does what a caller could do | yes |
//! | [`Signal`] | the engine or a policy only | no |
//!
//! A signal has no form outside of this process: it is not in the vocabulary of the wire, access
//! control does not know it, and no quota applies to it.

use super::list::primitives;
use crate::command::Command;
use crate::names::AgentId;
use crate::primitive;

macro_rules! sums {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// A signal: what Baton causes itself.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Signal {
            $(
                $(#[$doc])*
                $variant(primitive::Signal<crate::$module::Signal>),
            )*
        }

        impl Signal {
            /// The signals that release everything that is bound to the session of an agent.
            pub(crate) fn let_go(agent: &AgentId) -> Vec<Self> {
                vec![$(Self::$variant(primitive::Signal::LetGo(agent.clone()))),*]
            }
        }

        $(
            impl From<crate::$module::Signal> for Consequence {
                fn from(signal: crate::$module::Signal) -> Self {
                    Self::Signal(Signal::$variant(primitive::Signal::Own(signal)))
                }
            }

            impl From<crate::$module::Command> for Consequence {
                fn from(command: crate::$module::Command) -> Self {
                    Self::Command(command.into())
                }
            }
        )*
    };
}
primitives!(sums);

/// The consequence of an event by a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Consequence {
    /// A command, on behalf of the caller.
    Command(Command),
    /// A signal.
    Signal(Signal),
}

impl From<Command> for Consequence {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

impl From<Signal> for Consequence {
    fn from(signal: Signal) -> Self {
        Self::Signal(signal)
    }
}
