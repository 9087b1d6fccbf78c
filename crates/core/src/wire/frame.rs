//! A frame: one object with an operation, its workspace and its agent.

use std::borrow::Cow;

use serde::Deserialize;

use super::call::{Call, Watch};
use super::fast_call;
use super::fault::Fault;
use super::fields::{FIELDS_MAX, Fields, Value};
use super::operations::{Effect, Operation, operation};
use crate::command::{Command, Mutation, Query};
use crate::history::At;
use crate::json::scan::{blank_end, plain_end, value_end};
use crate::limits;
use crate::numbers::Token;

/// A request that was parsed but not interpreted yet.
#[derive(Clone, Debug, Default)]
pub struct Frame<'a> {
    /// The caller's number for it, under which it is answered.
    pub id: Option<u64>,
    /// The workspace.
    pub workspace: Option<Cow<'a, str>>,
    /// The acting agent.
    pub agent: Option<Cow<'a, str>>,
    /// The acting agent where `agent` is a field of the operation and names another one.
    pub caller: Option<Cow<'a, str>>,
    /// The acting agent according to the surroundings of the frame, such as a header.
    acting: Option<Cow<'a, str>>,
    /// The idempotency key.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// The requested form of the reply.
    returns: Option<Cow<'a, str>>,
    command: Option<Cow<'a, str>>,
    fields: Fields<'a>,
}

impl<'a> Frame<'a> {
    /// Parses an object. Every value in it is scanned on the way.
    pub fn parse(text: &'a str) -> Result<Self, Fault> {
        let mut frame = Self { fields: Fields(Vec::with_capacity(8)), ..Self::default() };
        members(text, |name, value| {
            let slot = match name.as_ref() {
                // A string is not the id of a request: it is the id of what is to be created.
                "id" if value.starts_with('"') => {
                    frame.fields.0.push((name, Value::Json(value)));
                    return Ok(());
                }
                "id" => {
                    let id = value.parse().map_err(|_| bad_id())?;
                    return match frame.id.replace(id) {
                        None => Ok(()),
                        Some(_) => Err(Fault::DuplicateField { field: "id".to_owned() }),
                    };
                }
                "workspace" => &mut frame.workspace,
                "agent" => &mut frame.agent,
                "caller" => &mut frame.caller,
                "idempotency_key" => &mut frame.idempotency_key,
                "return" => &mut frame.returns,
                "command" => &mut frame.command,
                _ => {
                    frame.fields.0.push((name, Value::Json(value)));
                    return Ok(());
                }
            };
            // `null` counts as absent for an agent, a caller, a key or a workspace.
            if value == "null" {
                return Ok(());
            }
            let text = string(value).ok_or_else(|| Fault::field(&name, "it must be a string"))?;
            match slot.replace(text) {
                None => Ok(()),
                Some(_) => Err(Fault::DuplicateField { field: name.into_owned() }),
            }
        })?;
        Ok(frame)
    }

    /// The id of an invalid frame, if it can be found: it lets the caller match the refusal to its
    /// request.
    pub fn number(text: &str) -> Option<u64> {
        let mut numbers = Vec::new();
        let _ = members(text, |name, value| {
            if name == "id" {
                let end = value.as_ptr().addr() - text.as_ptr().addr() + value.len();
                let next = text.as_bytes().get(blank_end(text.as_bytes(), end));
                // A number at the end of a truncated frame may be incomplete.
                let is_whole = matches!(next, Some(b',' | b'}'));
                numbers.push(value.parse().ok().filter(|_| is_whole));
            }
            Ok(())
        });
        // Two ids are ambiguous.
        if let [number] = numbers[..] { number } else { None }
    }

    /// Why it has no number.
    pub fn numberless(&self) -> Fault {
        if self.fields.0.iter().any(|(name, _)| name == "id") {
            return bad_id();
        }
        Fault::MissingField { field: "id".to_owned() }
    }

    /// The call.
    pub fn call(mut self) -> Result<Call, Fault> {
        let is_minimal = self.is_minimal()?;
        let call = self.whole_call()?;
        if !is_minimal {
            return Ok(call);
        }
        call.into_minimal().ok_or_else(|| Fault::field("return", "only a write takes it"))
    }

    /// Whether the minimal form of the reply was requested.
    fn is_minimal(&mut self) -> Result<bool, Fault> {
        match self.returns.take().as_deref() {
            None | Some("representation") => Ok(false),
            Some("minimal") => Ok(true),
            Some(_) => Err(Fault::field("return", "it must be `minimal` or `representation`")),
        }
    }

    /// The call, answered with the whole reply.
    fn whole_call(mut self) -> Result<Call, Fault> {
        if self.caller.is_some() && !self.is_about_agent() {
            return Err(unknown("caller"));
        }
        let missing = || Fault::MissingField { field: "command".to_owned() };
        let command = self.command.take().ok_or_else(missing)?;
        match command.as_ref() {
            "transaction" => Ok(Call::Transaction(transaction(&self.fields)?)),
            "watch" => Ok(Call::Watch(self.fields.to::<Watch>()?)),
            "unwatch" => Ok(Call::Unwatch { watch: one_number(&self.fields, "watch")? }),
            "ping" => match self.fields.0.first() {
                Some((name, _)) => Err(unknown(name)),
                None => Ok(Call::Ping),
            },
            name => match operation(name) {
                Some(operation) => self.operation(operation),
                None => Err(Fault::UnknownCommand { command: name.to_owned() }),
            },
        }
    }

    /// The call, where it must be a transaction.
    pub fn transaction(mut self) -> Result<Call, Fault> {
        if self.command.is_some() {
            return Err(serde::de::Error::unknown_field("command", &["require", "commands"]));
        }
        let is_minimal = self.is_minimal()?;
        let mutation = transaction(&self.fields)?;
        Ok(Call::Transaction(if is_minimal { mutation.into_minimal() } else { mutation }))
    }

    /// Whether `agent` is a field of its operation: then it may be another than the acting agent.
    pub fn is_about_agent(&self) -> bool {
        self.about_agent().is_some()
    }

    /// Whether it is a query with such a field, and names no other acting agent.
    pub fn asks_about_agent(&self) -> bool {
        let asks = |operation: &Operation| operation.effect == Effect::Asks;
        self.caller.is_none() && self.about_agent().is_some_and(asks)
    }

    /// The agent that acts according to the frame.
    pub fn acting(&self) -> Option<&str> {
        self.caller.as_deref().or(self.agent.as_deref())
    }

    fn about_agent(&self) -> Option<&'static Operation> {
        operation(self.command.as_deref()?).filter(|operation| operation.names_agent)
    }

    /// Sets the acting agent, if the frame does not name one.
    pub fn acts(&mut self, agent: &'a str) {
        self.acting = Some(Cow::Borrowed(agent));
    }

    /// Interprets the fields as those of an operation.
    fn operation(mut self, operation: &Operation) -> Result<Call, Fault> {
        // Listing does not filter by the acting agent.
        let acting = self.acting.take().filter(|_| !operation.narrows_by_agent);
        if operation.names_agent
            && let Some(agent) = self.agent.take().or(acting)
        {
            self.fields.text("agent", agent);
        }
        self.fields.operation(operation)
    }
}

impl Fields<'_> {
    /// Refuses every field: there should be none.
    pub fn none(&self) -> Result<(), Fault> {
        self.0.first().map_or(Ok(()), |(name, _)| Err(unknown(name)))
    }

    /// Interprets them as those of an operation.
    pub fn operation(&self, operation: &Operation) -> Result<Call, Fault> {
        if let Some(call) = fast_call::read(operation.name, self) {
            return Ok(call);
        }
        let is_fenced = operation.effect == Effect::Changes && !operation.names_token;
        let is_token = |(name, _): &&(Cow<'_, str>, Value<'_>)| name == "token";
        match self.0.iter().find(is_token).filter(|_| is_fenced) {
            Some((_, token)) => self.fenced(operation, token),
            None => self.any_operation(operation),
        }
    }

    /// Parses an operation that is executed only if a token is valid.
    fn fenced(&self, operation: &Operation, token: &Value<'_>) -> Result<Call, Fault> {
        let text = match token {
            Value::Json(text) => text,
            Value::Text(text) => text.as_ref(),
        };
        let token = text.parse().map_err(|_| Fault::field("token", "it must be a number"))?;
        let rest = self.0.iter().filter(|(name, _)| name != "token").cloned().collect();
        let fields = Fields(rest);
        if fields.0.len() + 1 < self.0.len() {
            return Err(Fault::DuplicateField { field: "token".to_owned() });
        }
        match fields.any_operation(operation)? {
            Call::Command(command) => {
                let command = Box::new(command);
                Ok(Call::Transaction(Mutation::Fenced { token: Token(token), command }))
            }
            call => Ok(call),
        }
    }

    pub(super) fn any_operation(&self, operation: &Operation) -> Result<Call, Fault> {
        let (primitive, variant) = operation.parts();
        Ok(match operation.effect {
            Effect::Changes => Call::Command(self.variant(primitive, variant)?),
            Effect::Asks => Call::Query(self.asked(operation)?),
        })
    }

    /// Parses a query, about the present or about the point in history that `at` names.
    fn asked(&self, operation: &Operation) -> Result<Query, Fault> {
        let (primitive, variant) = operation.parts();
        let is_moment = |(name, _): &&(Cow<'_, str>, Value<'_>)| name == "at";
        let Some((_, moment)) =
            self.0.iter().find(is_moment).filter(|_| !operation.is_about_the_past)
        else {
            return self.variant(primitive, variant);
        };
        let rest = Self(self.0.iter().filter(|(name, _)| name != "at").cloned().collect());
        if rest.0.len() + 1 < self.0.len() {
            return Err(Fault::DuplicateField { field: "at".to_owned() });
        }
        let query: Query = rest.variant(primitive, variant)?;
        let moment = Option::<At>::deserialize(moment).map_err(|fault| fault.within("at"))?;
        let Some(moment) = moment else { return Ok(query) };
        let reason = "this query has its own fields for the past";
        query.at(moment).ok_or_else(|| Fault::field("at", reason))
    }
}

fn bad_id() -> Fault {
    Fault::field("id", "it must be an integer from 0 to 2^64 - 1")
}

fn unknown(name: &str) -> Fault {
    serde::de::Error::unknown_field(name, &[])
}

fn one_number(fields: &Fields<'_>, name: &'static str) -> Result<u64, Fault> {
    let mut found = None;
    for (field, value) in &fields.0 {
        match value {
            Value::Json(text) if field == name && found.is_none() => {
                found = Some(text.parse().map_err(|_| Fault::field(name, "it must be a number"))?);
            }
            Value::Json(_) | Value::Text(_) => return Err(unknown(field)),
        }
    }
    found.ok_or_else(|| Fault::MissingField { field: name.to_owned() })
}

/// Parses `require` and `commands`.
fn transaction(fields: &Fields<'_>) -> Result<Mutation, Fault> {
    let (mut require, mut commands) = (None, None);
    for (name, value) in &fields.0 {
        let Value::Json(text) = value else { return Err(unknown(name)) };
        let twice = match name.as_ref() {
            "require" => {
                let given = serde_json::from_str(text);
                let refuse = |error| <Fault as serde::de::Error>::custom(error).within("require");
                require.replace(given.map_err(refuse)?).is_some()
            }
            "commands" => commands.replace(commands_of(text)?).is_some(),
            _ => {
                return Err(serde::de::Error::unknown_field(name, &["require", "commands"]));
            }
        };
        if twice {
            return Err(Fault::DuplicateField { field: name.clone().into_owned() });
        }
    }
    let missing = || Fault::MissingField { field: "commands".to_owned() };
    let (commands, optional) = commands.ok_or_else(missing)?;
    let require = require.unwrap_or_default();
    Ok(Mutation::Transaction { require, commands, optional })
}

/// The commands of a transaction, and which of them may have no effect.
fn commands_of(text: &str) -> Result<(Vec<Command>, Vec<usize>), Fault> {
    let (mut commands, mut optional) = (Vec::new(), Vec::new());
    elements(text, |item| {
        let index = commands.len();
        let max = limits::TRANSACTION_COMMANDS_MAX;
        if index == max {
            return Err(Fault::TooLarge { what: "commands", given: max + 1, max });
        }
        let refused = |cause: Fault| {
            let cause_code = cause.code();
            Fault::InTransaction { index, cause_code, cause: Box::new(cause) }
        };
        let mut frame = Frame::parse(item).map_err(refused)?;
        if frame.fields.take_flag("optional").map_err(refused)? {
            optional.push(index);
        }
        commands.push(frame.command().map_err(refused)?);
        Ok(())
    })
    .map_err(|fault| fault.within("commands"))?;
    Ok((commands, optional))
}

/// One command of a reaction.
pub(crate) fn command_of(text: &str) -> Result<Command, Fault> {
    Frame::parse(text)?.command()
}

impl Frame<'_> {
    /// One command of a transaction or a reaction.
    fn command(self) -> Result<Command, Fault> {
        let is_named = self.command.as_deref().and_then(operation).is_some_and(|it| it.names_agent);
        let outside = [
            ("id", self.id.is_some()),
            ("workspace", self.workspace.is_some()),
            ("agent", self.agent.is_some() && !is_named),
            ("caller", self.caller.is_some()),
            ("idempotency_key", self.idempotency_key.is_some()),
            ("return", self.returns.is_some()),
        ];
        if let Some((name, _)) = outside.into_iter().find(|(_, given)| *given) {
            let reason = "it belongs to the whole request, and not to one command in it";
            return Err(Fault::field(name, reason));
        }
        let name = self.command.clone().unwrap_or_default().into_owned();
        if name == "transaction" {
            return Err(Fault::field("command", "a transaction cannot contain another"));
        }
        match self.call()? {
            Call::Command(command) => Ok(command),
            Call::Transaction(Mutation::Fenced { .. }) => {
                Err(Fault::field("token", "give it in `require` of the transaction"))
            }
            Call::Query(_)
            | Call::Transaction(_)
            | Call::Watch(_)
            | Call::Unwatch { .. }
            | Call::Ping => Err(Fault::field("command", format!("`{name}` changes nothing"))),
        }
    }
}

impl Fields<'_> {
    /// Takes out a field that is true or false; `false` if it is not given.
    fn take_flag(&mut self, name: &str) -> Result<bool, Fault> {
        let Some(place) = self.0.iter().position(|(field, _)| field == name) else {
            return Ok(false);
        };
        match self.0.remove(place).1 {
            Value::Json("true") => Ok(true),
            Value::Json("false") => Ok(false),
            Value::Json(_) | Value::Text(_) => Err(Fault::field(name, "it must be true or false")),
        }
    }
}

/// A JSON string's text.
fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        return serde_json::from_str(value).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn malformed(reason: &str) -> Fault {
    Fault::Malformed { reason: reason.to_owned() }
}

/// The end of a string without escapes; nearly all names and many values are such.
#[inline]
fn plain_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = plain_end(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then_some(end + 1)
}

/// The end of the value that starts here, and its text.
fn scanned(text: &str, at: usize) -> Result<(&str, usize), Fault> {
    let end = match plain_string_end(text.as_bytes(), at) {
        Some(end) => end,
        None => value_end(text.as_bytes(), at).map_err(Fault::Json)?,
    };
    Ok((&text[at..end], end))
}

/// Reads the text after a member or an item: another one follows, or the end.
fn goes_on(text: &str, at: usize, closing: u8) -> Result<(bool, usize), Fault> {
    let bytes = text.as_bytes();
    let at = blank_end(bytes, at);
    match bytes.get(at) {
        Some(b',') => Ok((true, blank_end(bytes, at + 1))),
        Some(byte) if *byte == closing => {
            let end = blank_end(bytes, at + 1);
            if end < bytes.len() {
                return Err(malformed("there is something after the value"));
            }
            Ok((false, end))
        }
        Some(_) | None => Err(not_json(text)),
    }
}

/// The error message of the parser.
fn not_json(text: &str) -> Fault {
    match crate::json::Json::parse(text) {
        Err(error) => Fault::Json(error),
        Ok(_) => malformed("it is of another shape"),
    }
}

/// Iterates over the members of an object. Values are scanned, names unescaped.
pub(super) fn members<'a>(
    text: &'a str,
    mut each: impl FnMut(Cow<'a, str>, &'a str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let mut at = blank_end(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return match not_json(text) {
            Fault::Malformed { .. } => Err(malformed("it must be an object")),
            fault => Err(fault),
        };
    }
    at = blank_end(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return goes_on(text, at, b'}').map(|_| ());
    }
    let mut count = 0;
    loop {
        let (name, end) = scanned(text, at)?;
        let name = string(name).ok_or_else(|| not_json(text))?;
        at = blank_end(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return Err(not_json(text));
        }
        let (value, end) = scanned(text, blank_end(bytes, at + 1))?;
        count += 1;
        if count > FIELDS_MAX {
            return Err(Fault::TooLarge { what: "fields", given: count, max: FIELDS_MAX });
        }
        each(name, value)?;
        match goes_on(text, end, b'}')? {
            (true, next) => at = next,
            (false, _) => return Ok(()),
        }
    }
}

/// Iterates over the items of a list, which are scanned.
pub fn elements<'a>(
    text: &'a str,
    mut each: impl FnMut(&'a str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let mut at = blank_end(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return Err(Fault::field("", "it must be a list"));
    }
    at = blank_end(bytes, at + 1);
    if bytes.get(at) == Some(&b']') {
        return goes_on(text, at, b']').map(|_| ());
    }
    loop {
        let (item, end) = scanned(text, at)?;
        each(item)?;
        match goes_on(text, end, b']')? {
            (true, next) => at = next,
            (false, _) => return Ok(()),
        }
    }
}
