//! Sessions from before the plugin was installed: transcripts as Claude Code writes them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, with};

/// A transcript that is being written.
pub(crate) struct Past {
    pub(crate) path: PathBuf,
    id: String,
    cwd: PathBuf,
    entries: usize,
    prompt_id: String,
}

impl Past {
    /// Begins a session in the sandbox's project.
    pub(crate) fn new(sandbox: &Sandbox, id: &str) -> Self {
        Self::within(sandbox, id, &sandbox.project())
    }

    /// Begins a session in a folder.
    pub(crate) fn within(sandbox: &Sandbox, id: &str, cwd: &Path) -> Self {
        let folder = cwd.to_string_lossy().replace(['/', '.'], "-");
        let path = sandbox.home().join(".claude/projects").join(folder).join(format!("{id}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"type\":\"mode\",\"mode\":\"normal\"}\n").unwrap();
        Self { path, id: id.to_owned(), cwd: cwd.to_owned(), entries: 0, prompt_id: String::new() }
    }

    /// Somebody asks.
    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.prompt_id = format!("{}-prompt-{}", self.id, self.entries);
        self.write("user", json!(text), json!({ "origin": { "kind": "human" } }))
    }

    /// A tool is used, and returns `output`; its own result is `result`.
    pub(crate) fn call(&mut self, tool: &str, input: Value, output: &str, result: Value) -> &mut Self {
        let id = format!("toolu_{}_{}", self.id, self.entries);
        self.write("assistant", json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]), json!({}));
        let is_error = result.as_str().is_some_and(|result| result.starts_with("Error"));
        let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error }]);
        self.write("user", content, json!({ "toolUseResult": result }))
    }

    /// A command is run.
    pub(crate) fn bash(&mut self, command: &str, stdout: &str) -> &mut Self {
        self.call("Bash", json!({ "command": command }), stdout, json!({ "stdout": stdout, "stderr": "" }))
    }

    /// A file is edited.
    pub(crate) fn edit(&mut self, file: &str, old: &str, new: &str) -> &mut Self {
        let path = self.cwd.join(file);
        let input = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("Edit", input, "The file has been updated.", json!({ "filePath": path }))
    }

    /// The model replies.
    pub(crate) fn reply(&mut self, text: &str) -> &mut Self {
        self.write("assistant", json!([{ "type": "text", "text": text }]), json!({}))
    }

    /// Writes an entry, with `more` in it.
    pub(crate) fn write(&mut self, kind: &str, content: Value, more: Value) -> &mut Self {
        let uuid = |number: usize| format!("{}-{number:06}", self.id);
        let entry = json!({
            "type": kind, "uuid": uuid(self.entries), "parentUuid": self.entries.checked_sub(1).map(uuid),
            "isSidechain": false, "sessionId": self.id, "cwd": self.cwd, "promptId": self.prompt_id,
            "timestamp": format!("2026-11-{:02}T{:02}:{:02}:00.000Z", 1 + self.entries / 1440, self.entries / 60 % 24, self.entries % 60),
            "message": { "role": kind, "content": content, "model": "claude-opus-5-5" },
        });
        let entry = with(entry, &more);
        let mut file = OpenOptions::new().append(true).open(&self.path).unwrap();
        writeln!(file, "{entry}").unwrap();
        self.entries += 1;
        self
    }
}

/// Returns the files below `dir` that hold `text`.
pub(crate) fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path)
            .unwrap()
            .windows(text.len())
            .any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        {
            found.push(path);
        }
    }
    found
}
