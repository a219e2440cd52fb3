mod json;
mod strip;
