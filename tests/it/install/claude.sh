#!/bin/sh
# Behaves as `claude plugin` 2.1.325 was seen to, for one marketplace that is a folder. Its state lies in @STATE@.
set -eu
state=@STATE@
claude=${CLAUDE_CONFIG_DIR:-$HOME/.claude}
echo "$*" >> "$state/log"
version_in() { sed -n 's/.*"version":"\([^"]*\)".*/\1/p' "$1/longhaul/.claude-plugin/plugin.json"; }
copy() {
    mkdir -p "$claude/plugins/cache/longhaul/longhaul/$1/.claude-plugin"
    rm -f "$claude/plugins/cache/longhaul/longhaul/$1/.claude-plugin/plugin.json" # as the real client replaces the folder
    cp "$(cat "$state/marketplace")/longhaul/.claude-plugin/plugin.json" "$claude/plugins/cache/longhaul/longhaul/$1/.claude-plugin/"
    rm -f "$claude/plugins/cache/longhaul/longhaul/$1/.orphaned_at"
}
case "$*" in
"--version") cat "$state/version" 2>/dev/null || echo "2.1.325 (Claude Code)" ;;
"plugin list --json")
    [ -e "$state/plugin" ] || { echo '[]'; exit 0; }
    enabled=true; [ ! -e "$state/disabled" ] || enabled=false
    scope='"scope":"user"'
    # Enabled or not is what the settings of the current folder say.
    if [ -e "$state/project" ]; then
        [ "$PWD" = "$(cat "$state/project")" ] || enabled=false
        scope="\"scope\":\"project\",\"projectPath\":\"$(cat "$state/project")\""
    fi
    printf '[{"id":"longhaul@longhaul","version":"%s",%s,"enabled":%s,"readFromFolder":"%s/longhaul"}]\n' \
        "$(cat "$state/plugin")" "$scope" "$enabled" "$(cat "$state/marketplace")" ;;
"plugin marketplace list --json")
    [ -e "$state/marketplace" ] || { echo '[]'; exit 0; }
    printf '[{"name":"longhaul","source":"directory","path":"%s"}]\n' "$(cat "$state/marketplace")" ;;
"plugin marketplace add "*)
    [ -e "$4/.claude-plugin/marketplace.json" ] || { echo "no marketplace in $4" >&2; exit 1; }
    mkdir -p "$claude/plugins"
    [ -e "$claude/settings.json" ] || printf '{\n  "enabledPlugins": {},\n  "extraKnownMarketplaces": {}\n}\n' > "$claude/settings.json"
    printf %s "$4" > "$state/marketplace" ;;
"plugin install longhaul@longhaul")
    version=$(version_in "$(cat "$state/marketplace")")
    copy "$version"; printf %s "$version" > "$state/plugin"; rm -f "$state/disabled" ;;
"plugin update longhaul@longhaul")
    old=$(cat "$state/plugin"); version=$(version_in "$(cat "$state/marketplace")")
    [ "$old" = "$version" ] || touch "$claude/plugins/cache/longhaul/longhaul/$old/.orphaned_at"
    copy "$version"; printf %s "$version" > "$state/plugin" ;;
"plugin uninstall longhaul@longhaul --scope user")
    [ -e "$state/plugin" ] || { echo 'not found in installed plugins' >&2; exit 1; }
    touch "$claude/plugins/cache/longhaul/longhaul/$(cat "$state/plugin")/.orphaned_at"
    rm "$state/plugin" ;;
"plugin uninstall longhaul@longhaul --scope project")
    [ -e "$state/plugin" ] && [ "$PWD" = "$(cat "$state/project")" ] || { echo 'is not installed in project scope' >&2; exit 1; }
    rm "$state/plugin" ;;
"plugin marketplace remove longhaul")
    [ -e "$state/marketplace" ] || { echo "Marketplace 'longhaul' not found" >&2; exit 1; }
    rm "$state/marketplace" ;;
*)  echo "not known: $*" >&2; exit 2 ;;
esac
