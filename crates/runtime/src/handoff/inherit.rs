//! Which session is inherited, provisionally at the start and for good at the first prompt.

use longhaul_core::{Env, SessionId};
use longhaul_handoff::{Baton, Client, NoBaton, Offer, Taker, Trigger, choose, newest_unmerged, predecessor};
use longhaul_store::{Session, Store};

use super::catch_up;
use crate::{Deadline, Error, process};

/// The session that starts or prompts.
pub struct Heir<'a> {
    /// Its row.
    pub session: &'a Session,
    /// Clock and environment.
    pub env: &'a Env,
}

/// What there is to inherit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inheritance {
    /// A session, and by what way: a baton's trigger, or `fallback`.
    From { session: SessionId, by: &'static str },
    /// Nothing, and why.
    Nothing(&'static str),
}

impl Heir<'_> {
    /// Finds whom the session inherits: by a baton, or after a `/clear` without one the project's newest.
    pub fn find(&self, store: &Store, cleared: bool) -> Result<Inheritance, Error> {
        match self.baton(store)? {
            Ok(baton) => self.judge(store, &baton.session, baton.trigger.as_str()),
            Err(NoBaton::None) if cleared && !self.env.no_auto_handoff => self.fall_back(store),
            Err(none) => Ok(Inheritance::Nothing(none.as_str())),
        }
    }

    fn fall_back(&self, store: &Store) -> Result<Inheritance, Error> {
        let sessions = store.sessions_of(&self.session.project_key)?;
        // A session that nobody ever prompted has nothing to hand over.
        let prompted: Vec<&Session> = sessions.iter().filter(|session| session.prompts > 0).collect();
        let own_pid = self.env.client_pid.unwrap_or_default();
        let rows = |own: bool| -> Vec<_> {
            let wanted = |session: &&&Session| !own || session.client_pid == own_pid;
            prompted.iter().filter(wanted).map(|session| self.row(session)).collect()
        };
        let heir = self.row(self.session);
        // What was in this window goes before what was in any other.
        let own = newest_unmerged(&heir, &rows(own_pid != 0)).cloned();
        match own.or_else(|| newest_unmerged(&heir, &rows(false)).cloned()) {
            Some(session) => self.judge(store, &session.id, "fallback"),
            None => Ok(Inheritance::Nothing(NoBaton::None.as_str())),
        }
    }

    /// Judges whether `wanted` may be inherited.
    pub fn judge(&self, store: &Store, wanted: &str, by: &'static str) -> Result<Inheritance, Error> {
        let mut failure = None;
        let find = |id: &str| {
            let found = store.session(id).map_err(|error| failure = Some(error)).ok().flatten();
            found.map(|session| self.row(&session))
        };
        let found = predecessor(&self.row(self.session), wanted, find);
        if let Some(error) = failure {
            return Err(error.into());
        }
        Ok(match found {
            Ok(session) => SessionId::new(&session.id)
                .map_or(Inheritance::Nothing("predecessor_not_found"), |session| Inheritance::From { session, by }),
            Err(refusal) => Inheritance::Nothing(refusal.as_str()),
        })
    }

    /// Chooses the baton that the session may take; drops those that have waited too long.
    fn baton(&self, store: &Store) -> Result<Result<Baton, NoBaton>, Error> {
        let project = &self.session.project_path;
        let offer = |(session, client_pid, trigger, at): longhaul_store::StoredBaton| {
            let trigger = Trigger::from_stored(&trigger)?;
            Some(Offer { baton: Baton { session, client_pid, trigger, at }, client: client(client_pid) })
        };
        let offers: Vec<Offer> = store.batons(project)?.into_iter().filter_map(offer).collect();
        let taker = Taker {
            session: &self.session.session,
            client_pid: self.env.client_pid.unwrap_or_default(),
            now: self.env.now,
        };
        let pick = choose(&offers, taker);
        for expired in pick.expired.iter().filter_map(|index| offers.get(*index)) {
            store.drop_batons(project, Some(&expired.baton.session))?;
        }
        Ok(pick.taken.map(|index| offers[index].baton.clone()))
    }

    fn row(&self, session: &Session) -> longhaul_handoff::Session {
        let (own, other) = (self.env.client_pid.unwrap_or_default(), session.client_pid);
        longhaul_handoff::Session {
            id: session.session.clone(),
            created: session.created_at,
            merged_into: session.merged_into.clone(),
            live_elsewhere: other != 0 && other != own && process::is_alive(other),
        }
    }

    /// Takes in what the predecessor's transcript still holds.
    pub(crate) fn complete(&self, store: &mut Store, predecessor: &SessionId, deadline: Deadline) -> Result<(), Error> {
        match store.session(predecessor.as_str())? {
            Some(session) => catch_up(store, &session, self.env.now, u64::MAX, Some(deadline)).map(drop),
            None => Ok(()),
        }
    }
}

fn client(pid: u32) -> Client {
    match pid {
        0 => Client::Unknown,
        pid if process::is_alive(pid) => Client::Alive,
        _ => Client::Gone,
    }
}
