//! Makes this machine a member of a circle, after the circle and the key were checked.

use longhaul_runtime::{files, sync};
use longhaul_sync::{CircleId, HostId};

use super::CommandError;
use super::context::Context;

/// Records the circle, and lets hooks start exchanges. A machine that is a member already keeps its id.
pub(super) fn become_member(context: &Context, circle: CircleId, address: &str) -> Result<(), CommandError> {
    sync::write_address(&context.home, address)?;
    let host = HostId::random(files::random()?);
    let machine = sync::machine_id(&context.home);
    context.store.join_circle(circle, host, &Context::name(), &machine, longhaul_runtime::now(&context.env))?;
    Ok(sync::turn_on(&context.home)?)
}
