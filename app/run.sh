#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs what is missing, builds, and runs the quick-start study: in the window where there is a display, else
# without one. The study is written to ./driftscope-quickstart and kept: running this again shows it again.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../resources/setup/install.sh
source "$(dirname "$0")/../resources/setup/install.sh"

bin=$root/build/release/bin
study=driftscope-quickstart

hasDisplay() {
    [[ -n ${WAYLAND_DISPLAY:-} && -S ${XDG_RUNTIME_DIR:-}/$WAYLAND_DISPLAY ]] ||
        { [[ -n ${DISPLAY:-} ]] && timeout 10 xdpyinfo >/dev/null 2>&1; }
}

runInWindow() {
    if [[ -e $study ]]; then
        say "Opening the study in ./$study; delete the folder to run it afresh"
        "$bin/driftscope" "$study"
    else
        say "Opening the window on the quick-start study, which goes to ./$study"
        "$bin/driftscope" --run quickstart -o "$study"
    fi
}

runHeadless() {
    local status=0 resume=() view format
    say "No display: running the quick-start study without a window, into ./$study"
    if [[ -e $study ]]; then
        say "Keeping what ./$study already holds; delete the folder to run it afresh"
        resume=(--resume)
    fi
    "$bin/driftscope-cli" run quickstart -o "$study" "${resume[@]}" || status=$?
    ((status == 0 || status == 3)) || return "$status" # 3: some runs failed, and the report says which and why
    "$bin/driftscope-cli" report "$study"
    say "Plots:"
    for view in curves heatmap; do
        for format in png pdf; do
            "$bin/driftscope" --view "$view" --export "$study/$view.$format" "$study"
            echo "   $PWD/$study/$view.$format"
        done
    done
    return "$status"
}

installPackages build run
preferOpenmpBlas
build driftscope driftscope-cli driftscope-worker
if hasDisplay; then runInWindow; else runHeadless; fi
