//! Limits the memory of this process, because a server decides how long an answer is.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most memory that this process may have, several times what an exchange of a million records needs.
const BYTES: u64 = 512 << 20;

/// Makes the process end when it needs more memory than an exchange ever does.
///
/// A row is read whole before its size can be checked, and a server that lies can announce up to 2 GB. An exchange that ends in
/// this way has stored what it has taken in before, and the next one goes on there.
pub(crate) fn limit_memory() {
    let maximum = getrlimit(Resource::Data).maximum;
    // Where the limit cannot be set, the exchange works without it.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(maximum.map_or(BYTES, |most| most.min(BYTES))), maximum });
}
