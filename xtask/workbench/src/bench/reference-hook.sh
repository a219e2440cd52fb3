#!/usr/bin/env bash
# What a tracker written in bash does on PermissionRequest: changes a row, renders the counts, sets the tmux option.
# For comparison in `cargo xtask bench`; not shipped.
payload=$(cat)
session=$(printf '%s' "$payload" | sed -n 's/.*"session_id":"\([^"]*\)".*/\1/p')
db=$LONGHAUL_HOME/reference.db
changed=$(sqlite3 "$db" "UPDATE agents SET status='blocked', updated_at=$(date +%s) WHERE session_id='${session//\'/}' AND status='working'; SELECT changes();")
if [ "$changed" = 1 ]; then
  counts=$(sqlite3 -separator ' ' "$db" "SELECT sum(status='idle'), sum(status='working'), sum(status='completed'), sum(status='blocked') FROM agents;")
  read -r idle working completed blocked <<<"$counts"
  text="#[fg=black]${idle}.#[default] #[fg=black]${working}*#[default] #[fg=black]${completed}+#[default] #[fg=black]${blocked}!#[default]"
  printf '%s' "$text" >"$LONGHAUL_HOME/status.tmp" && mv "$LONGHAUL_HOME/status.tmp" "$LONGHAUL_HOME/status"
  tmux set -gq @reference-status "$text"
  tmux refresh-client -S 2>/dev/null
fi
echo '{"continue":true}'
