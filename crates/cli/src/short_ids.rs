//! Short ids on the command line: `t-7` for `t-0000000007`.
//!
//! ```text
//!   baton task get t-7 ──▶ parsed as t-0000000007 ──▶ is there also a task that is named `t-7`?
//!                                                       no ──▶ run
//!                                                      yes, or neither ──▶ parse it as it is
//!                                                      both ──▶ refuse, and name them
//!   baton task get :t-7 ──▶ the task that is named `t-7`
//! ```
//!
//! 1. Every argument that names a task, a hand-off, a checkpoint, a message or a join accepts them.
//! 2. Only tasks and joins can be created with a chosen id, so the server is queried only for
//!    these, and only if a short id was given.
//! 3. Scripts are not affected: an id as the server returns it is never changed.
//! 4. No id begins with a colon, so every object can be named, also if both exist.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use baton_client::Workspace;
use baton_core::Kind;
use baton_core::names::long;
use clap::builder::TypedValueParser;
use clap::{Arg, Command};

use crate::completion::Named;
use crate::context::Context;
use crate::failure::{Failure, Fault};

/// Before an id that is not short for another.
const EXACT: char = ':';

/// The short ids that were given, or those that are ids themselves.
pub(crate) type Names = BTreeSet<(Named, String)>;

/// The command with a parser for every argument that names an object by its id.
pub(crate) fn accepted(
    command: Command,
    noun: &str,
    own: &Arc<Names>,
    given: &Arc<Mutex<Names>>,
) -> Command {
    let (noun, of) = (noun.to_owned(), noun.to_owned());
    let (inner_own, inner_given) = (Arc::clone(own), Arc::clone(given));
    let (own, given) = (Arc::clone(own), Arc::clone(given));
    let command = command.mut_args(move |argument| match Named::of(&of, &argument) {
        Some(named) => parsed(argument, named, Arc::clone(&own), Arc::clone(&given)),
        None => argument,
    });
    command.mut_subcommands(move |inner| {
        let noun = if noun.is_empty() { inner.get_name().to_owned() } else { noun.clone() };
        accepted(inner, &noun, &inner_own, &inner_given)
    })
}

fn parsed(argument: Arg, named: Named, own: Arc<Names>, given: Arc<Mutex<Names>>) -> Arg {
    let parser = clap::builder::StringValueParser::new();
    argument.value_parser(parser.map(move |text: String| {
        let (kind, name) = match text.split_once('/') {
            Some((kind @ ("tasks" | "handoffs"), name)) => (kind, name),
            Some(_) | None => ("", text.as_str()),
        };
        let named = match kind {
            "tasks" => Named::Task,
            "handoffs" => Named::Handoff,
            _ if named == Named::Subject => return text,
            _ => named,
        };
        if let Some(exact) = name.strip_prefix(EXACT).filter(|_| can_be_chosen(named)) {
            return text.replacen(name, exact, 1);
        }
        let id = long(name);
        let short = (named, name.to_owned());
        if id == name || own.contains(&short) {
            return text;
        }
        given.lock().unwrap_or_else(PoisonError::into_inner).insert(short);
        if kind.is_empty() { id } else { format!("{kind}/{id}") }
    }))
}

/// Whether an object of this kind can be created with an id of one's own.
fn can_be_chosen(named: Named) -> bool {
    matches!(named, Named::Task | Named::Join)
}

/// The short ids that are to be used literally. Refused if one could mean two objects.
pub(crate) async fn ambiguous(context: &Context, given: Names) -> Result<Names, Failure> {
    let given: Names = given.into_iter().filter(|(named, _)| can_be_chosen(*named)).collect();
    let mut own = Names::new();
    if given.is_empty() {
        return Ok(own);
    }
    let workspace = context.workplace().await?;
    for (named, name) in given {
        let id = long(&name);
        match (exists(&workspace, named, &name).await?, exists(&workspace, named, &id).await?) {
            (true, true) => return Err(Fault::Ambiguous { name, id }.into()),
            // A name that means neither stays as it is: a thread of checkpoints can have any name.
            (true | false, false) => drop(own.insert((named, name))),
            (false, true) => {}
        }
    }
    Ok(own)
}

async fn exists(workspace: &Workspace, named: Named, id: &str) -> Result<bool, Failure> {
    let found = match named {
        Named::Join => workspace.joins().get(id).await.map(drop),
        Named::Task | Named::Handoff | Named::Checkpoint | Named::Message | Named::Subject => {
            workspace.tasks().get(id).await.map(drop)
        }
    };
    match found {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Kind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
