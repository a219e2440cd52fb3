mod call;
mod cap;
mod json;
mod redact;
mod skip;
mod strip;
