//! All events, as a sum over the primitives.

use serde::{Deserialize, Serialize};

use super::list::primitives;
use crate::numbers::{Token, WaitId};
use crate::pattern::Pattern;
use crate::primitive::Event as _;
use crate::space::receipt::Receipt;
use crate::waiting::wait::{Keyed, Step};
use crate::{namespace, primitive, state};

macro_rules! event {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// A fact. Past tense and self-contained: applying it needs nothing but the space.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Event {
            $(
                $(#[$doc])*
                #[serde(rename = $wire)]
                $variant(crate::$module::Event),
            )*
            /// A stored answer, returned if the request is repeated.
            Receipt(Receipt),
            /// A call waits; a repeated request replaces it.
            Awaited(Keyed),
        }

        impl Event {
            /// The properties of an event, as its primitive defines them. Receipts and keyed waits
            /// define theirs below.
            #[inline]
            fn properties(&self) -> &dyn primitive::Event {
                match self {
                    $(Self::$variant(event) => event,)*
                    Self::Receipt(receipt) => receipt,
                    Self::Awaited(keyed) => keyed,
                }
            }

            /// Its effect on a waiting call.
            #[inline]
            pub fn wait(&self) -> Option<Step> {
                match self {
                    $(Self::$variant(event) => event.wait(),)*
                    Self::Receipt(_) | Self::Awaited(_) => None,
                }
            }

            /// The token that it grants.
            #[inline]
            pub fn token(&self) -> Option<Token> {
                match self {
                    $(Self::$variant(event) => event.token(),)*
                    Self::Receipt(_) | Self::Awaited(_) => None,
                }
            }
        }

        $(
            impl From<crate::$module::Event> for Event {
                fn from(event: crate::$module::Event) -> Self {
                    Self::$variant(event)
                }
            }
        )*
    };
}
primitives!(event);

impl Event {
    /// The event's type, as watchers and history know it: `state.set`, `agent.lost`.
    pub fn kind(&self) -> &str {
        self.properties().kind()
    }

    /// Whether its field `token` is live, so that notices leave it out.
    pub(crate) fn has_live_token(&self) -> bool {
        self.properties().has_live_token()
    }

    /// The primitive and the variant of an event type: the inverse of `kind`.
    pub(crate) fn parts(kind: &str) -> Option<(&str, &str)> {
        let (primitive, variant) = kind.split_once('.')?;
        let variant = if primitive == "state" { state::Event::variant(variant) } else { variant };
        Some((primitive, variant))
    }

    /// The parts whose concatenation is the subject, so that it can be hashed without a copy.
    pub fn subject_parts(&self) -> [&str; 4] {
        self.properties().subject_parts()
    }

    /// The subject of the event: `state/shared/plan`, `agents/ada`.
    pub fn subject(&self) -> String {
        self.subject_parts().concat()
    }

    /// Whether a watch of this pattern receives the event with this subject.
    pub fn concerns(&self, pattern: &Pattern, subject: &str) -> bool {
        if pattern.matches(subject) {
            return true;
        }
        #[cfg(feature = "planted")]
        if crate::planted::is("event.namespace_unseen") {
            return false;
        }
        // Deleting a namespace deletes its entries, so watches of its entries receive it.
        if let Self::Namespace(namespace::Event::Deleted { name }) = self {
            return pattern.reaches(&format!("state/{name}/"));
        }
        false
    }

    /// Whether it is only delivered to watches, and is in no log.
    pub fn is_live(&self) -> bool {
        self.properties().is_live()
    }

    /// Whether watches receive it. Receipts are internal to the engine.
    pub fn is_public(&self) -> bool {
        self.properties().is_public()
    }

    /// Whether it is only about a waiting call: watches receive it if they ask for that.
    pub fn is_about_waiting(&self) -> bool {
        self.properties().is_about_waiting()
    }

    /// The keyed waiting call, if this is about it.
    pub(crate) fn begun(&self, wait: WaitId) -> Option<&Keyed> {
        if let Self::Awaited(keyed) = self {
            Some(keyed).filter(|it| it.wait == wait)
        } else {
            None
        }
    }

    /// An upper bound of its size in the log, in bytes: what does not fit into the log must be
    /// refused before it is decided.
    pub fn weight(&self) -> usize {
        // Names of fields and variants, numbers, times, and the lengths of texts.
        const FRAME: usize = 128;
        let properties = self.properties();
        let subject: usize = properties.subject_parts().iter().map(|part| part.len()).sum();
        FRAME + subject + properties.load()
    }
}

impl primitive::Event for Receipt {
    fn kind(&self) -> &'static str {
        "receipt.kept"
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["receipts/", self.key.as_str(), "", ""]
    }

    fn load(&self) -> usize {
        self.answer.bytes() + self.agent.as_ref().map_or(0, |agent| agent.as_str().len())
    }

    fn is_public(&self) -> bool {
        false
    }
}

impl primitive::Event for Keyed {
    fn kind(&self) -> &'static str {
        "receipt.awaited"
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["receipts/", self.key.as_str(), "", ""]
    }

    fn load(&self) -> usize {
        self.agent.as_str().len()
    }

    fn is_public(&self) -> bool {
        false
    }
}
