#!/bin/sh
# The entry point for TPM (set -g @plugin '…/longhaul'), or for `run-shell …/longhaul.tmux` in tmux.conf.
# Shows the state of every session in the status line, and a menu of them behind prefix + a.

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

for longhaul in \
    "$(command -v longhaul)" \
    "$HOME/.local/bin/longhaul" \
    "$here/bin/longhaul" \
    "$here/target/release/longhaul" \
    "${CLAUDE_CONFIG_DIR:-$HOME/.claude}"/plugins/cache/*/longhaul*/*/bin/longhaul; do
    if [ -f "$longhaul" ] && [ -x "$longhaul" ]; then
        exec "$longhaul" tmux setup
    fi
done

tmux display-message "longhaul is not installed: run 'cargo xtask install' in $here, or put longhaul on the PATH"
