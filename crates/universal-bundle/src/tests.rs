mod checksums;
mod launcher;
mod links;
mod location;
mod machine;
