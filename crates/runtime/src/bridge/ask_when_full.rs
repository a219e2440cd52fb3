//! Asks for a handoff when the context use becomes known only after the Stop event of the turn.

use longhaul_handoff::bridge::BridgeAction;
use longhaul_handoff::continuation::{Occasion, Plan, PlanAction, texts};
use longhaul_inject::Terminal;
use longhaul_store::{ChainUpdate, NewChain, Store};

use super::Desk;
use crate::continuation::nonce;
use crate::{Error, SessionRecord, client_records, usage};

/// Returns the name of the errand that asks `session` for a handoff if its context turns out to be nearly full.
pub(crate) fn measure(session: &str) -> String {
    format!("measure {session}")
}

impl Desk<'_> {
    /// Asks for a handoff if the context is nearly full, which was not known yet at the Stop event of the turn.
    pub(super) fn ask_when_full(&self, store: &Store) -> Result<Option<BridgeAction>, Error> {
        let fill = self.context().and_then(|context| usage::reported_fill(&context));
        let (Some(course), Some(session), Some(fill)) = (self.course(), &self.session, fill) else { return Ok(None) };
        let nonce = nonce()?;
        let occasion = Occasion::Measured { fill, nonce: &nonce };
        let now = self.env.now;
        let chain = self.chain(store)?;
        let plan = chain.as_ref().map_or_else(|| Plan::new(session.as_str(), now), |chain| chain.plan.clone());
        if course.meet(&plan, &occasion, &[], now).act == PlanAction::Nothing {
            return Ok(None);
        }
        let decide = |plan: &Plan, remaining: &[String]| course.meet(plan, &occasion, remaining, now);
        let met = match chain {
            Some(chain) => store.meet(chain.id, now, decide)?,
            None => {
                let (project, terminal_lock) = (self.project(), self.terminal_lock());
                let new = NewChain {
                    project_path: &project.path,
                    client_pid: self.client_pid,
                    terminal_lock: terminal_lock.as_deref(),
                };
                store.begin_chain(&new, &plan, now, decide)?
            }
        };
        match met {
            Some(ChainUpdate { act: PlanAction::Ask(_), chain, .. }) => self.step(store, &course, &chain),
            Some(ChainUpdate { act: PlanAction::Notify(message), .. }) => {
                Ok(Some(BridgeAction::Toast(texts::not_continued(&message))))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the lock name of the terminal; `None` inside another client, to which the terminal belongs.
    fn terminal_lock(&self) -> Option<String> {
        let record = self.session.as_ref().and_then(|session| SessionRecord::load(&self.home, session));
        let terminal = record.and_then(|record| record.terminal).or_else(|| Terminal::detect(self.env).ok());
        terminal.filter(|_| !client_records::is_nested(self.env, self.client_pid)).map(|terminal| terminal.lock_name())
    }
}
