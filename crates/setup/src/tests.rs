mod agents;
mod bundle;
mod settings;
