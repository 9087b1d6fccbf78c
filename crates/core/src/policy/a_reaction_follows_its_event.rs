//! A reaction follows an event that it is about, in the same commit.

use crate::event::Event;
use crate::names::ReactionName;
use crate::space::Space;

/// The reactions whose type and subject fit an event, by name, and which part of each. Whether
/// their condition holds is asked when it is their turn. Unlike other policies they do not say what
/// must follow, but what shall be tried: a reaction that is refused fails alone.
pub(crate) fn a_reaction_follows_its_event(
    space: &Space,
    event: &Event,
) -> Vec<(ReactionName, usize)> {
    // A reaction to reactions would answer to itself.
    if matches!(event, Event::Reaction(_)) || !event.is_public() {
        return Vec::new();
    }
    let subject = event.subject();
    let fitting = space.reaction.running().flat_map(|record| {
        let parts = record.parts.iter().enumerate();
        let fitting = parts.filter(|(_, part)| part.on.fits(event, &subject));
        fitting.map(|(part, _)| (record.name.clone(), part))
    });
    fitting.collect()
}
