    # A file records that it was reported. If neither folder can be written to, every session reports it.
    reported=
    for folder in "$bin" "${CLAUDE_PLUGIN_DATA-}"; do
        [ ! -e "$folder/.no-executable-reported" ] || reported=yes
    done
    if [ -n "$reported" ]; then
        echo '{"continue":true}'
        exit 0
    fi
    umask 077
    # An existing file, or what a link leads to, is not overwritten.
    set -C
    for folder in "$bin" "${CLAUDE_PLUGIN_DATA-}"; do
        case $folder in
        /*) { true >"$folder/.no-executable-reported"; } 2>/dev/null && break ;;
        esac
    done
    echo "{\"continue\":true,\"systemMessage\":\"longhaul: $why\"}"
    exit 0
