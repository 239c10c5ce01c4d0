#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Proves README's two commands on a pristine Debian that has only git: makes one with debootstrap, clones this
# repository into it, runs app/run.sh twice and tests/run.sh once, and says how long each took. Needs root, debootstrap,
# a network and 10 GB. Everything mounted lives in a mount namespace of its own, so it is gone when the script is.
set -euo pipefail

usage='usage: tests/fresh-machine.sh bookworm|trixie [WORKDIR] [--base DIR] [--working-tree] [--keep]
  WORKDIR         where to make the machine (default: /tmp)
  --base DIR      copy this pristine debootstrap instead of making one
  --working-tree  copy the files as they are now, not the last commit
  --keep          leave the machine there afterwards'
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

arguments=() base='' workingTree='' keep=''
while (($#)); do
    case $1 in
    --base) base=${2:?$usage} && shift ;;
    --working-tree) workingTree=yes ;;
    --keep) keep=yes ;;
    -*) die "$usage" ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
suite=${arguments[0]:-} work=${arguments[1]:-/tmp}
[[ $suite == bookworm || $suite == trixie ]] || die "$usage"
((EUID == 0)) || die "making a machine takes root."

root=$(realpath "$(dirname "$0")/..")
machine=$(mktemp --directory --tmpdir="$work" "driftscope-$suite.XXXX")
chmod 755 "$machine"
if [[ -n $keep ]]; then
    trap 'echo "The machine is in $machine"' EXIT
else
    trap 'rm -rf --one-file-system "$machine"' EXIT
fi

echo "== A pristine $suite in $machine"
if [[ -n $base ]]; then
    cp -a "$base/." "$machine"
    cp -L /etc/resolv.conf "$machine/etc/resolv.conf"
else
    command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
    unshare --mount debootstrap --variant=minbase "$suite" "$machine" http://deb.debian.org/debian >"$machine.log" ||
        die "debootstrap failed: see $machine.log"
    rm "$machine.log"
fi

# inside COMMAND…: on the machine, in the clean environment of its root user, without a display.
inside() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --pid --fork --kill-child -- bash -euc '
        machine=$1
        mount -t proc proc "$machine/proc"
        mount -t sysfs -o ro sysfs "$machine/sys"
        mount -t tmpfs tmpfs "$machine/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$machine/dev/pts"
        exec chroot "$machine" env -i HOME=/root LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"' inside "$machine" "$@" </dev/null
}

timed() {
    local start=$SECONDS
    echo "== $*"
    inside env --chdir=/root/driftscope "$@" || die "$suite: '$*' failed after $((SECONDS - start)) s"
    times+=("$(printf '%-28s %5d s' "$*" $((SECONDS - start)))")
}

inside apt-get -qq update
inside env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends git ca-certificates >/dev/null
mkdir "$machine/root/driftscope"
if [[ -n $workingTree ]]; then
    git -C "$root" ls-files -z --cached --others --exclude-standard |
        (cd "$root" && tar --create --null --files-from=- --ignore-failed-read) |
        tar --extract --no-same-owner --directory "$machine/root/driftscope"
else
    git clone --quiet "file://$root" "$machine/root/driftscope"
fi

times=()
timed bash app/run.sh
timed bash app/run.sh # nothing has changed: quick
timed bash tests/run.sh
printf '%s\n' "== $suite, both commands passed:" "${times[@]}"
