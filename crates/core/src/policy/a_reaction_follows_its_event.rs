//! A reaction runs in the commit of the event that triggers it.

use crate::event::Event;
use crate::names::ReactionName;
use crate::space::Space;

/// The reactions whose type and subject match an event, by name, with the matching part of each.
/// Their conditions are evaluated when they run. Unlike other policies, this one does not return
/// commands that must succeed: a reaction that is refused fails alone. Those that a limit has
/// stopped are left out.
pub(crate) fn a_reaction_follows_its_event(
    space: &Space,
    event: &Event,
    is_stopped: impl Fn(&ReactionName) -> bool,
) -> Vec<(ReactionName, usize)> {
    // A reaction to events of reactions could trigger itself.
    if matches!(event, Event::Reaction(_)) || !event.is_public() {
        return Vec::new();
    }
    let subject = event.subject();
    let fitting = space.reaction.running().flat_map(|record| {
        let parts = record.parts.iter().enumerate();
        let fitting =
            parts.filter(|(_, part)| part.on.fits(event, &subject) && !is_stopped(&record.name));
        fitting.map(|(part, _)| (record.name.clone(), part))
    });
    fitting.collect()
}
