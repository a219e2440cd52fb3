#!/bin/sh
# longhaul launcher: starts @NAME@ for the machine that it runs on.
# The first session replaces this file by a link to that executable.
#
# It uses builtins and absolute paths only, so that neither PATH nor the current folder decides what is started. It does
# not try one executable after the other: some shells interpret an executable of another machine as a script.

# Some shells import functions from the environment.
unset -f echo read true 2>/dev/null

give_up() {
    trap - EXIT
    if [ -n "$target" ] && [ -f "$program.gz" ]; then
        why="the executable @NAME@ cannot be unpacked, so the plugin does nothing: that needs gzip in /usr/bin or /bin, and a folder of the plugin that can be written to"
    elif [ -n "$target" ]; then
        why="the executable @NAME@ for $target is missing or cannot be run, so the plugin does nothing. Install the plugin again"
    else
        why="the plugin has no executables for this machine ($system $machine), so it does nothing. Install it from source with cargo xtask install, or remove it with claude plugin uninstall longhaul@longhaul"
    fi
@GIVE_UP@
}

# The folder of this file. If it was not started by a path, the folder is unknown.
case $0 in
/*) bin=${0%/*} ;;
*/*) bin=./${0%/*} ;;
*) bin= ;;
esac

system= machine= target=
if [ -r /proc/sys/kernel/ostype ]; then
    read -r system </proc/sys/kernel/ostype
    if [ -r /proc/sys/kernel/arch ]; then
        read -r machine </proc/sys/kernel/arch
    else
        # Linux before 6.1: the dynamic loader shows it, unless there are those of both.
        x86= arm=
        if [ -e /lib64/ld-linux-x86-64.so.2 ] || [ -e /lib/ld-musl-x86_64.so.1 ]; then x86=yes; fi
        if [ -e /lib/ld-linux-aarch64.so.1 ] || [ -e /lib/ld-musl-aarch64.so.1 ]; then arm=yes; fi
        case $x86-$arm in
        yes-) machine=x86_64 ;;
        -yes) machine=aarch64 ;;
        esac
    fi
fi
if [ -z "$machine" ]; then
    # No builtin knows the processor on macOS, or on Linux without /proc.
    for uname in /usr/bin/uname /bin/uname; do
        if [ -x "$uname" ]; then
            machine=$("$uname" -sm)
            system=${machine%% *} machine=${machine##* }
            break
        fi
    done
fi
# Both become part of a message in JSON.
case $system$machine in
'' | *[!A-Za-z0-9_.-]*) system=unknown machine=machine ;;
esac

case $system-$machine in
@TARGETS@
esac
program=$bin/$target/@NAME@
# The executables for this machine are unpacked once, and again after an update in place, such as a git pull. Each appears when it is
# complete, whoever is killed meanwhile. All of them: what is started here starts others, and another launcher may have unpacked only
# the first.
is_older() {
    [ ! -e "$1" ] || [ "$2" -nt "$1" ]
}
if [ -n "$bin" ] && [ -n "$target" ] && [ -f "$program.gz" ]; then
    for tools in /usr/bin /bin; do
        [ ! -x "$tools/gzip" ] || break
    done
    for packed in "$bin/$target"/*.gz; do
        new=${packed%.gz}
        if is_older "$new" "$packed"; then
            "$tools/gzip" -dc "$packed" >"$new.$$" && /bin/chmod 755 "$new.$$" && /bin/mv -f "$new.$$" "$new" || /bin/rm -f "$new.$$"
        fi
    done 2>/dev/null
fi
if [ -n "$bin" ] && [ -n "$target" ] && [ -f "$program" ] && [ -x "$program" ]; then
    # In most shells, the trap is run if the executable cannot be started.
    trap 'give_up "$@"' EXIT
    exec "$program" "$@"
fi
give_up "$@"
