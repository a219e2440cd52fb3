#!/bin/sh
# The entry point for TPM (set -g @plugin 'OWNER/REPO#marketplace'), or for `run-shell …/longhaul.tmux` in tmux.conf.
# Shows the state of every session in the status line, and a menu of them behind prefix + a.

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# Prints the newest of its arguments: Claude Code keeps the previous version of a plugin for a while.
newest() {
    ls -t -- "$@" 2>/dev/null | head -n 1
}

for longhaul in \
    "$(command -v longhaul)" \
    "$HOME/.local/bin/longhaul" \
    "$here/bin/longhaul" \
    "$here/longhaul/bin/longhaul" \
    "$here/target/release/longhaul" \
    "$(newest "${CLAUDE_CONFIG_DIR:-$HOME/.claude}"/plugins/cache/*/longhaul*/*/bin/longhaul)"; do
    # A launcher without an executable for this machine is skipped.
    if [ -f "$longhaul" ] && [ -x "$longhaul" ] && "$longhaul" --version >/dev/null 2>&1; then
        case $longhaul in
        */.local/bin/longhaul | "$(command -v longhaul)") ;;
        # Not in a shell: `longhaul install` changes that, and the plugin of Claude Code comes with it. A # would be expanded.
        *'#'*) ;;
        *) tmux display-message "longhaul works in tmux. To use it in a shell and in Claude Code, run: '$longhaul' install" ;;
        esac
        exec "$longhaul" tmux setup
    fi
done

# The text contains no path, because tmux expands it. status-right shows it, too, because no client can show a message
# while the server starts.
tmux set-option -gF status-right '#{?#{m:*longhaul*,#{status-right}},,#[reverse]longhaul is not installed#[default] }#{status-right}'
tmux display-message 'longhaul is not installed: run cargo xtask install in a clone of its repository'
