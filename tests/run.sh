#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs what is missing, builds everything and runs every test. Arguments go to ctest: tests/run.sh -R Divergence
# Screenshots and the like go to the folder that DRIFTSCOPE_ARTIFACTS names, artifacts/ by default.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../resources/setup/install.sh
source "$(dirname "$0")/../resources/setup/install.sh"

installPackages build run test
preferOpenmpBlas
build all

DRIFTSCOPE_ARTIFACTS=$(realpath -m "${DRIFTSCOPE_ARTIFACTS:-$root/artifacts}")
export DRIFTSCOPE_ARTIFACTS
mkdir -p "$DRIFTSCOPE_ARTIFACTS"
say "Testing; screenshots go to $DRIFTSCOPE_ARTIFACTS"
exec ctest --test-dir "$root/build/release" --output-on-failure --no-tests=error --timeout 60 -j2 "$@"
