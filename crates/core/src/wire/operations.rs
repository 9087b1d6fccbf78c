//! All operations by name: one row per operation, with everything that is declared about it.
//!
//! ```text
//!   primitives/lock/operations.rs ─┐                 ┌─▶ wire: a command by its name
//!   primitives/task/operations.rs ─┼─▶ OPERATIONS ───┼─▶ access: what a call needs
//!   …                             ─┘                 ├─▶ server: one route for each row
//!                                                    ├─▶ client: what gives a late grant back
//!                                                    └─▶ spec: openapi.json, operations.json
//! ```
//!
//! Invariants, checked by the tests:
//!
//! 1. A name occurs once, and so does a method with its path.
//! 2. The example of a row can be parsed, and is of that operation.
//! 3. The columns about waiting, tokens and the past agree with the command itself.

#[cfg(test)]
mod tests;

use crate::access::Permission;
use crate::minimal::MINIMAL_REPLIES;
use crate::{
    agent, artifact, barrier, checkpoint, context, contract, handoff, join, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, spend, state, stream, task, topic,
    user_event, wait, workspace,
};

/// Whether an operation changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is a command.
    Changes,
    /// It is a query.
    Asks,
}

/// The method of an operation's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "HTTP's own names")]
pub enum Method {
    Get,
    Put,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// The name as in an HTTP request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The source of the fields that are not in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The query.
    Query,
    /// The members of the body, which may be left out if none is needed.
    Body,
    /// The complete body is this field; the others are in the query.
    Whole(&'static str),
    /// The body is a patch in one of several forms.
    Patch,
}

/// How to release what a call was granted after its caller has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivesBack {
    /// The operation that releases it.
    pub operation: &'static str,
    /// Its fields: each a JSON pointer into the result of the call, or a literal.
    pub fields: &'static [(&'static str, &'static str)],
}

/// The reply of an operation with further fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherReply {
    /// The fields that go with it.
    pub fields: &'static [&'static str],
    /// The content with which it is sent, as a phrase after "with".
    pub when: &'static str,
    /// The name of the reply.
    pub reply: &'static str,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a name")]
pub struct Operation {
    /// The primitive, a dot, and the verb.
    pub name: &'static str,
    /// Whether it changes something.
    pub effect: Effect,
    /// The name of its reply.
    pub reply: &'static str,
    /// The method of its route.
    pub method: Method,
    /// The path of its route below that of the workspace. A field in it that begins with `*` takes
    /// the rest of the path.
    pub path: &'static str,
    /// The source of the other fields of a request.
    pub rest: Rest,
    /// The permission that it needs.
    pub needs: Permission,
    /// The field with the maximum wait, if it can wait.
    pub waits: Option<&'static str>,
    /// Whether `agent` is one of its fields, and not only the acting agent.
    pub names_agent: bool,
    /// Whether that field filters a list, and is optional.
    pub narrows_by_agent: bool,
    /// Whether the agent in the path is the acting agent, unless a header names another.
    pub acts_as_agent: bool,
    /// Whether `token` is one of its fields. Elsewhere it is the fencing token of the request,
    /// which is refused if it is stale.
    pub names_token: bool,
    /// Whether it is always about the past. Every other query may be about a point in history, with
    /// the field `at`.
    pub is_about_the_past: bool,
    /// Whether it is about one entry, whose version is its `ETag`.
    pub has_version: bool,
    /// An alternative name for a field in the query: that name, and the field.
    pub alias: Option<(&'static str, &'static str)>,
    /// How to release what it grants.
    pub gives_back: Option<GivesBack>,
    /// The reply with further fields, if they change it.
    pub other_reply: Option<OtherReply>,
    /// When its reply is `null`, as a clause after "if". Required where the type of the reply
    /// allows `null`, unless it never is.
    pub null_when: Option<&'static str>,
    /// Whether its reply is never `null`, although the type of the reply allows it.
    pub never_null: bool,
    /// Side effects beyond the summary, as sentences; empty if there are none.
    pub side_effects: &'static str,
    /// The effect, in a few words.
    pub summary: &'static str,
    /// An example of its fields, as JSON.
    pub example: &'static str,
}

impl Operation {
    /// An operation without optional columns.
    pub(crate) const fn new(
        (name, effect, reply): (&'static str, Effect, &'static str),
        (method, path, rest): (Method, &'static str, Rest),
        needs: Permission,
        (summary, example): (&'static str, &'static str),
    ) -> Self {
        Self {
            name,
            effect,
            reply,
            method,
            path,
            rest,
            needs,
            waits: None,
            names_agent: false,
            narrows_by_agent: false,
            acts_as_agent: false,
            names_token: false,
            is_about_the_past: false,
            has_version: false,
            alias: None,
            gives_back: None,
            other_reply: None,
            null_when: None,
            never_null: false,
            side_effects: "",
            summary,
            example,
        }
    }

    pub(crate) const fn waits(self, field: &'static str) -> Self {
        Self { waits: Some(field), ..self }
    }

    pub(crate) const fn names_agent(self) -> Self {
        Self { names_agent: true, ..self }
    }

    pub(crate) const fn narrows_by_agent(self) -> Self {
        Self { names_agent: true, narrows_by_agent: true, ..self }
    }

    pub(crate) const fn acts_as_agent(self) -> Self {
        Self { acts_as_agent: true, ..self }
    }

    pub(crate) const fn names_token(self) -> Self {
        Self { names_token: true, ..self }
    }

    pub(crate) const fn is_about_the_past(self) -> Self {
        Self { is_about_the_past: true, ..self }
    }

    pub(crate) const fn has_version(self) -> Self {
        Self { has_version: true, ..self }
    }

    pub(crate) const fn alias(self, name: &'static str, field: &'static str) -> Self {
        Self { alias: Some((name, field)), ..self }
    }

    pub(crate) const fn gives_back(
        self,
        operation: &'static str,
        fields: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { gives_back: Some(GivesBack { operation, fields }), ..self }
    }

    pub(crate) const fn other_reply(
        self,
        fields: &'static [&'static str],
        when: &'static str,
        reply: &'static str,
    ) -> Self {
        Self { other_reply: Some(OtherReply { fields, when, reply }), ..self }
    }

    pub(crate) const fn null_when(self, clause: &'static str) -> Self {
        Self { null_when: Some(clause), ..self }
    }

    pub(crate) const fn never_null(self) -> Self {
        Self { never_null: true, ..self }
    }

    pub(crate) const fn side_effects(self, sentences: &'static str) -> Self {
        Self { side_effects: sentences, ..self }
    }

    /// Whether `return: minimal` makes its answer shorter.
    pub fn returns_minimal(&self) -> bool {
        let reply = (self.parts().0, self.reply);
        self.effect == Effect::Changes && MINIMAL_REPLIES.contains(&reply)
    }

    /// The primitive and the verb. An operation that belongs to another primitive is listed there
    /// by its full name.
    pub fn parts(&self) -> (&'static str, &'static str) {
        let (noun, verb) =
            self.name.split_once('.').expect("every operation has a dot in its name");
        match noun {
            "agent" if verb == "next" => ("wait", self.name),
            "task" | "handoff" if verb == "wait" => ("wait", self.name),
            "inbox" | "handler" => ("message", self.name),
            noun => (noun, verb),
        }
    }
}

/// A command or a query of one primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<C, Q> {
    /// A command.
    Command(C),
    /// A query.
    Query(Q),
}

/// Declares the operations of a primitive, one row each:
///
/// ```text
///   Command::Variant = "name" -> "reply", Method "path" Rest, Verb, optional columns:
///       "Summary", {"an": "example of its fields"};
/// ```
///
/// A command without a row is made of more than its fields, such as an upload, and sent by the
/// engine or the server.
macro_rules! operations {
    (@effect Command) => { $crate::wire::Effect::Changes };
    (@effect Query) => { $crate::wire::Effect::Asks };
    ($(
        $kind:ident::$variant:ident = $name:literal -> $reply:literal,
        $method:ident $path:literal $rest:ident $(($field:literal))?,
        $needs:ident $(, $fact:ident $(($($value:tt)*))?)*:
        $summary:literal, $example:tt;
    )*) => {
        /// In the order of the documentation.
        pub(crate) static OPERATIONS: &[$crate::wire::Operation] = &[$(
            $crate::wire::Operation::new(
                ($name, $crate::wire::operations!(@effect $kind), $reply),
                ($crate::wire::Method::$method, $path, $crate::wire::Rest::$rest $(($field))?),
                $crate::access::Permission::$needs,
                ($summary, stringify!($example)),
            )$(.$fact($($($value)*)?))*
        ),*];

        /// The operation of a command or query, if it has one.
        pub(crate) fn operation(
            wanted: $crate::wire::Wanted<&Command, &Query>,
        ) -> Option<&'static $crate::wire::Operation> {
            enum Row { $($variant),* }
            $(if let $crate::wire::Wanted::$kind($kind::$variant { .. }) = wanted {
                return Some(&OPERATIONS[Row::$variant as usize]);
            })*
            None
        }
    };
}
pub(crate) use operations;

/// The operations of each primitive, in the order of the documentation.
const TABLES: [&[Operation]; 24] = [
    state::operations::OPERATIONS,
    namespace::operations::OPERATIONS,
    agent::operations::OPERATIONS,
    message::operations::OPERATIONS,
    topic::operations::OPERATIONS,
    stream::operations::OPERATIONS,
    rule::operations::OPERATIONS,
    user_event::operations::OPERATIONS,
    reaction::operations::OPERATIONS,
    contract::operations::OPERATIONS,
    context::operations::OPERATIONS,
    lock::operations::OPERATIONS,
    semaphore::operations::OPERATIONS,
    task::operations::OPERATIONS,
    spend::operations::OPERATIONS,
    barrier::operations::OPERATIONS,
    join::operations::OPERATIONS,
    pipeline::operations::OPERATIONS,
    checkpoint::operations::OPERATIONS,
    artifact::operations::OPERATIONS,
    secret::operations::OPERATIONS,
    handoff::operations::OPERATIONS,
    wait::operations::OPERATIONS,
    workspace::operations::OPERATIONS,
];

const COUNT: usize = {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

/// All operations. Only operations in this list can be called from outside.
pub static OPERATIONS: [&Operation; COUNT] = {
    let mut all = [&TABLES[0][0]; COUNT];
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            all[count] = &TABLES[table][row];
            (count, row) = (count + 1, row + 1);
        }
        table += 1;
    }
    all
};

/// Slots of the index by name: several for each operation, so that most are found at once.
const SLOTS: usize = 1_024;

/// The same by name: each is in the first free slot after that of its name.
static BY_NAME: [Option<&Operation>; SLOTS] = {
    let mut slots: [Option<&Operation>; SLOTS] = [None; SLOTS];
    let mut place = 0;
    while place < COUNT {
        let mut slot = slot_of(OPERATIONS[place].name);
        while slots[slot].is_some() {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = Some(OPERATIONS[place]);
        place += 1;
    }
    slots
};

/// FNV-1a.
const fn slot_of(name: &str) -> usize {
    let (bytes, mut hash, mut place) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
    while place < bytes.len() {
        hash = (hash ^ bytes[place] as u32).wrapping_mul(0x0100_0193);
        place += 1;
    }
    (hash ^ (hash >> 16)) as usize % SLOTS
}

/// The operation of that name.
pub fn operation(name: &str) -> Option<&'static Operation> {
    let slots = (slot_of(name)..).map(|slot| BY_NAME[slot % SLOTS]);
    slots.map_while(|there| there).find(|operation| operation.name == name)
}
