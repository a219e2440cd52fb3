mod baton;
mod choose;
mod middle;
mod moment;
mod predecessor;
mod render;
mod skeleton;
