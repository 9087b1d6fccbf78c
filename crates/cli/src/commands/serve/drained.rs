//! Whether an operator has drained this server. The log knows it of a server by its id; this one
//! has another id each time it joins, and remains drained until the process ends.

use baton_cluster::View;

/// The request of an operator that this server has no shards.
#[derive(Default)]
pub(super) struct Drained {
    is_wished: bool,
    /// Views from before this time do not include the request: it was recorded then.
    since_ms: u64,
}

impl Drained {
    /// Whether it is to have no shards.
    pub(super) fn is_wished(&self) -> bool {
        self.is_wished
    }

    /// The request was recorded again at this time, for the id under which the server has joined.
    pub(super) fn recorded(&mut self, now_ms: u64) {
        self.since_ms = now_ms;
    }

    /// Whether a view is older than the record of the request, so that shards must not be taken
    /// because of it.
    pub(super) fn is_too_old(&self, view: &View) -> bool {
        view.looked_at_ms < self.since_ms
    }

    /// Reads the request from the record of this server in the log. The wish, if it has changed.
    pub(super) fn see(&mut self, view: &View) -> Option<bool> {
        if view.is_gone || self.is_too_old(view) {
            return None;
        }
        let me = view.servers.iter().find(|server| server.id == view.me)?;
        // A server that leaves drains itself; whether an operator wishes it, too, is not known.
        if me.is_leaving || me.is_draining == self.is_wished {
            return None;
        }
        self.is_wished = me.is_draining;
        Some(self.is_wished)
    }
}

#[cfg(test)]
mod tests {
    use baton_cluster::ServerRow;

    use super::*;

    fn view(looked_at_ms: u64, is_draining: bool, is_leaving: bool) -> View {
        let me = "me".to_owned();
        let row = ServerRow {
            id: me.clone(),
            address: String::new(),
            version: String::new(),
            beat: 1,
            is_draining,
            is_leaving,
            age_ms: 0,
        };
        View { me, looked_at_ms, servers: vec![row], ..View::default() }
    }

    #[test]
    fn a_drain_is_remembered_until_it_is_undone() {
        let mut drained = Drained::default();
        assert_eq!(drained.see(&view(1, false, false)), None);
        assert_eq!(drained.see(&view(2, true, false)), Some(true));
        assert_eq!(drained.see(&view(3, true, false)), None);
        let gone = View { is_gone: true, ..View::default() };
        assert_eq!(drained.see(&gone), None);
        assert!(drained.is_wished(), "it joins again, and is still drained");
        assert_eq!(drained.see(&view(4, false, false)), Some(false));
        assert!(!drained.is_wished());
    }

    #[test]
    fn an_older_view_does_not_undo_a_recorded_drain() {
        let mut drained = Drained::default();
        drained.see(&view(2, true, false));
        drained.recorded(10);
        assert!(drained.is_too_old(&view(9, false, false)));
        assert_eq!(drained.see(&view(9, false, false)), None);
        assert!(drained.is_wished());
        assert_eq!(drained.see(&view(10, true, false)), None);
        assert_eq!(drained.see(&view(11, false, false)), Some(false));
    }

    #[test]
    fn a_server_that_leaves_was_not_drained_by_an_operator() {
        let mut drained = Drained::default();
        assert_eq!(drained.see(&view(1, true, true)), None);
        assert!(!drained.is_wished());
    }
}
