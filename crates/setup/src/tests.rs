mod agents;
mod settings;
