//! Claims the session that a new one inherits from: provisionally at its start, finally at its first prompt. Which one is
//! decided in `handoff/src/baton.rs` and `predecessor.rs`.

use longhaul_core::{Env, SessionId};
use longhaul_handoff::{
    Baton, BatonOffer, BatonTaker, BatonTrigger, ClientProcess, FallbackSession, NoBaton, Refusal, choose, fall_back,
    predecessor,
};
use longhaul_store::{NewInjection, Session, Store, StoredBaton};

use crate::{Error, process};

/// The session that starts or submits a prompt.
pub struct Heir<'a> {
    /// Its row.
    pub session: &'a Session,
    /// Clock and environment.
    pub env: &'a Env,
}

/// The session that another one inherits from. The claim is provisional until the first prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The predecessor.
    pub session: SessionId,
    /// What left the baton; `None` if there was no baton.
    pub trigger: Option<BatonTrigger>,
}

impl Claim {
    /// Returns the source of the claim, as `longhaul handoff log` shows it.
    pub fn by(&self) -> &'static str {
        self.trigger.map_or("fallback", BatonTrigger::as_str)
    }
}

impl Heir<'_> {
    /// Claims the predecessor of the session: by a baton, or after a `/clear` without a baton the newest session of the
    /// project.
    ///
    /// Runs in one immediate transaction. The claim is recorded; expired and refused batons are deleted; each of these
    /// is logged. The claimed baton stays until the first prompt, so that a session without a prompt does not use it
    /// up.
    pub fn claim(&self, store: &Store, cleared: bool) -> Result<Option<Claim>, Error> {
        // Usually there is no baton, and reading is cheaper than a write transaction.
        if !cleared && store.batons(&self.session.project_path)?.is_empty() {
            return Ok(None);
        }
        store.transaction("claim the handoff", |store| {
            let claim = self.find(store, cleared)?;
            if let Some(claim) = &claim {
                store.set_heir(&self.session.session, Some(claim.session.as_str()))?;
            }
            Ok(claim)
        })
    }

    fn find(&self, store: &Store, cleared: bool) -> Result<Option<Claim>, Error> {
        let offers = self.offers(store)?;
        let mut taker = BatonTaker::new(&self.session.session, self.env.now);
        taker.client_pid = self.env.client_pid.unwrap_or_default();
        taker.only_on_purpose = self.env.no_auto_handoff;
        let pick = choose(&offers, taker);
        for expired in pick.expired.iter().filter_map(|index| offers.get(*index)) {
            self.discard(store, &expired.baton, "discarded", NoBaton::Expired.as_str())?;
        }
        let order = match pick.taken {
            Ok(order) => order,
            Err(NoBaton::None | NoBaton::Expired) if cleared && !self.env.no_auto_handoff => {
                return self.fall_back(store);
            }
            // This was logged for each baton that was discarded.
            Err(NoBaton::Expired) => return Ok(None),
            Err(none) => {
                if cleared || none != NoBaton::None {
                    self.note(store, "refused", None, none.as_str())?;
                }
                return Ok(None);
            }
        };
        for baton in order.iter().filter_map(|index| offers.get(*index)).map(|offer| &offer.baton) {
            match self.judge(store, &baton.session)? {
                Ok(session) => return Ok(Some(Claim { session, trigger: Some(baton.trigger) })),
                // It would be refused every time, and would hide other batons until it expires.
                Err(refusal) => self.discard(store, baton, "refused", refusal.as_str())?,
            }
        }
        Ok(None)
    }

    /// Deletes a baton, with a line in the handoff log.
    fn discard(&self, store: &Store, baton: &Baton, event: &str, reason: &str) -> Result<(), Error> {
        store.drop_baton(&self.session.project_path, baton.client_pid)?;
        self.note(store, event, Some(&baton.session), reason)
    }

    /// Writes a decision to the handoff log.
    pub(crate) fn note(
        &self,
        store: &Store,
        event: &str,
        predecessor: Option<&str>,
        reason: &str,
    ) -> Result<(), Error> {
        let session = &self.session.session;
        let new = NewInjection { session, event, predecessor, reason: Some(reason), ..NewInjection::default() };
        Ok(store.log_injection(&new, self.env.now)?)
    }

    fn fall_back(&self, store: &Store) -> Result<Option<Claim>, Error> {
        let sessions = store.sessions_of(&self.session.project_key)?;
        let own_pid = self.env.client_pid.unwrap_or_default();
        let mut candidates = Vec::with_capacity(sessions.len());
        for session in &sessions {
            candidates.push(FallbackSession {
                session: self.row(session),
                is_of_own_client: own_pid != 0 && session.client_pid == own_pid,
                has_turns: session.prompts > 0 || store.has_turns(&session.session)?,
            });
        }
        match fall_back(&self.row(self.session), &candidates) {
            Ok(session) => Ok(SessionId::new(&session.id).map(|session| Claim { session, trigger: None })),
            Err(missing) => {
                self.note(store, "refused", None, missing.as_str())?;
                Ok(None)
            }
        }
    }

    /// Checks whether `wanted` may be inherited from. Returns the session that it means now, or the reason why not.
    pub(crate) fn judge(&self, store: &Store, wanted: &str) -> Result<Result<SessionId, Refusal>, Error> {
        let mut failure = None;
        let find = |id: &str| {
            let found = store.session(id).map_err(|error| failure = Some(error)).ok().flatten();
            found.map(|session| self.row(&session))
        };
        let found = predecessor(&self.row(self.session), wanted, find);
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(found.and_then(|session| SessionId::new(&session.id).ok_or(Refusal::NotFound))),
        }
    }

    /// Returns the batons of the project, each with the state of its client process.
    fn offers(&self, store: &Store) -> Result<Vec<BatonOffer>, Error> {
        let offer = |StoredBaton { session, client_pid, trigger, at }: StoredBaton| {
            let trigger = BatonTrigger::from_name(&trigger)?;
            let mut baton = Baton::new(session, trigger, at);
            baton.client_pid = client_pid;
            Some(BatonOffer { baton, client: client(client_pid) })
        };
        Ok(store.batons(&self.session.project_path)?.into_iter().filter_map(offer).collect())
    }

    fn row(&self, session: &Session) -> longhaul_handoff::ChainSession {
        let (own, other) = (self.env.client_pid.unwrap_or_default(), session.client_pid);
        let mut row = longhaul_handoff::ChainSession::new(&session.session, session.created_at);
        row.merged_into.clone_from(&session.merged_into);
        row.live_elsewhere = other != 0 && other != own && process::is_alive(other);
        row
    }
}

fn client(pid: u32) -> ClientProcess {
    match pid {
        0 => ClientProcess::Unknown,
        pid if process::is_alive(pid) => ClientProcess::Alive,
        _ => ClientProcess::Gone,
    }
}
