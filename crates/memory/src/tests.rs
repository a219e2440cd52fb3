mod json;
mod redact;
mod strip;
