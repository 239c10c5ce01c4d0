#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Opens the real window under Xvfb: the start page, then a small study run from the first step to the last, and
# photographs every view into $DRIFTSCOPE_ARTIFACTS, else into the folder given. Fails if the window does not end well or a picture is blank.
# Takes driftscope and driftscope-worker from DRIFTSCOPE and DRIFTSCOPE_WORKER. Exit 77: no Xvfb or its tools.
set -euo pipefail

for tool in Xvfb openbox xdotool import identify convert; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool" >&2; exit 77; }
done
: "${DRIFTSCOPE:?}" "${DRIFTSCOPE_WORKER:?}"
artifacts=${DRIFTSCOPE_ARTIFACTS:-${1:?}}
mkdir -p "$artifacts"
work=$(mktemp -d)
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_RUNTIME_DIR=$work OMP_WAIT_POLICY=passive
unset WAYLAND_DISPLAY QT_QPA_PLATFORM OMP_NUM_THREADS
pids=()
end() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# within SECONDS COMMAND…: until the command succeeds
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || fail "gave up waiting for: $*"
        sleep 0.1
    done
}

Xvfb -displayfd 3 -screen 0 1280x720x24 3>"$work/display" 2>/dev/null &
pids+=($!)
within 10 test -s "$work/display"
DISPLAY=:$(<"$work/display")
export DISPLAY
openbox 2>/dev/null &
pids+=($!)
within 10 xdotool get_num_desktops # a window that is mapped while the window manager starts may stay hidden

# open TITLE ARGUMENTS…: starts the window and fills the screen with it
open() {
    local title=$1
    shift
    "$DRIFTSCOPE" "$@" &
    window_pid=$!
    pids+=("$window_pid")
    within 20 xdotool search --onlyvisible --name "$title"
    window=$(xdotool search --onlyvisible --name "$title" | tail -1)
    xdotool windowactivate --sync "$window"
    xdotool windowmove "$window" 0 0 windowsize "$window" 1278 694
}

# photograph NAME: what is on the screen when it has stopped changing, and that is not nothing
photograph() {
    local file=$artifacts/window-$1.png previous=none current=
    for _ in {1..30}; do
        import -window root "$file"
        current=$(identify -format '%#' "$file")
        [[ $current == "$previous" || ${2:-} == live ]] && break
        previous=$current
        sleep 0.2
    done
    local colours
    colours=$(convert "$file" -gravity center -crop 60%x60%+0+0 -format %k info:)
    ((colours > 50)) || fail "$file is blank: $colours colours"
    echo "$file: $colours colours"
}

press() { xdotool key --clearmodifiers "$1"; sleep 0.3; }

# quit: closes the window and wants exit status 0
quit() {
    press ctrl+q
    within 10 bash -c "! kill -0 $window_pid"
    local status=0
    wait "$window_pid" || status=$?
    ((status == 0)) || fail "the window ended with status $status"
}

cat >"$work/small.toml" <<'END'
[study]
name = "small"
twin = "float64"
[model]
kind = "cifar_cnn"
[data]
kind = "synthetic"
shape = [3, 16, 16]
samples = 128
[train]
steps = 60
batch = 16
optimizer = "adam"
learning_rate = 1e-3
[axes]
accumulation = [1, 2, 4]
threads = [1, 2]
device = ["cpu", "cuda:0"]
END

open Driftscope
photograph start
press ctrl+n
photograph new-study
press Escape
quit

open small --run "$work/small.toml" -o "$work/small"
within 30 bash -c "(( \$(ls '$work/small/runs/'*.h5 | wc -l) >= 3 ))"
sleep 0.5
photograph curves-live live
within 60 test -s "$work/small/study.h5"
photograph curves
press ctrl+f # from the filter into the tree, and to acc 2 · thr 1 · cpu under the second heading
press Tab
for _ in {1..6}; do press Down; done
photograph findings
press ctrl+shift+d
photograph twins-in-tree
press ctrl+shift+d
press ctrl+shift+2
photograph curves-layers
press ctrl+2
photograph heatmap-layers-steps
press ctrl+shift+5
photograph heatmap-layers-runs
press ctrl+shift+6
photograph heatmap-settings
press ctrl+shift+F3
photograph heatmap-dark
press ctrl+1
photograph curves-dark
quit
