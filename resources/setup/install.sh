# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sourced by app/run.sh and tests/run.sh: installs the missing packages of packages.txt and builds Release.

setup=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$setup/../..")

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

aptGet() {
    local sudo=()
    ((EUID == 0)) || sudo=(sudo)
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# missingPackages RELEASE SECTION…
missingPackages() {
    dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' |
        awk -v release="$1" -v sections=" ${*:2} " '
            NR == FNR { if ($1 == "installed") installed[$2]; next }
            { sub(/#.*/, "") }
            /^\[/ { wanted = index(sections, " " substr($1, 2, length($1) - 2) " "); next }
            wanted && NF && !($1 in installed) && (NF == 1 || $2 == release) { print $1 }' - "$setup/packages.txt"
}

# installPackages SECTION…: asks for root only when something is missing.
installPackages() {
    local system missing
    # shellcheck source=/dev/null
    system=$(source /etc/os-release && echo "${ID:-} ${VERSION_ID:-} ${VERSION_CODENAME:-}") || system=unknown
    [[ $system =~ ^debian\ (12\ bookworm|13\ trixie)$ ]] ||
        die "this script knows Debian 12 and 13, and this system is \"$system\"." \
            "Install what $setup/packages.txt lists, then: cmake --preset release && cmake --build build/release"

    missing=$(missingPackages "${system##* }" "$@")
    [[ -n $missing ]] || return 0
    mapfile -t missing <<<"$missing"
    say "Installing ${#missing[@]} Debian packages and what they need: ${missing[*]}"
    ((EUID == 0)) || { command -v sudo >/dev/null && sudo true; } ||
        die "installing takes root, and sudo is missing or refused. As root:" \
            "apt-get install --no-install-recommends ${missing[*]}"
    aptGet update || say "Not every package list could be refreshed; going on with those there are."
    aptGet install --yes --no-install-recommends --download-only "${missing[@]}" ||
        die "the packages can't be downloaded; apt-get says why above." \
            "Is there a network, and do apt's sources name a Debian mirror?"
    aptGet install --yes --no-install-recommends "${missing[@]}" ||
        die "the packages were downloaded but can't be installed; apt-get says why above."
    freshPackages=yes
}

# OpenBLAS's pthread build ignores LibTorch's thread count, and Debian ranks it above the OpenMP build where both are
# installed. What is started from here then uses the OpenMP build, unless the user chose a BLAS by hand.
preferOpenmpBlas() {
    local openmp triplet status value
    openmp=$(dpkg --listfiles libopenblas0-openmp | grep '/libblas\.so\.3$')
    triplet=$(basename "${openmp%/*/*}")
    read -r status value <<<"$(update-alternatives --query "libblas.so.3-$triplet" |
        awk '/^(Status|Value):/ { printf "%s ", $2 }')"
    [[ $value != "$openmp" ]] || return 0
    if [[ $status == manual ]]; then
        say "BLAS: $value, chosen by hand with update-alternatives; it may ignore thread counts."
    else
        say "BLAS: $openmp instead of $value, which may ignore thread counts."
        export LD_LIBRARY_PATH=${openmp%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
}

# build TARGET…
build() (
    cd "$root" || exit
    jobs=$(awk -v cores="$(nproc)" '/^MemAvailable:/ { # a LibTorch source takes about 1.5 GiB
        jobs = int($2 / 2097152); print jobs < 1 ? 1 : jobs < cores ? jobs : cores }' /proc/meminfo)
    if [[ -n ${freshPackages:-} || ! -e build/release/build.ninja || CMakePresets.json -nt build/release/build.ninja ]]
    then
        say "Configuring build/release"
        cmake --preset release
    fi
    say "Building $* in build/release, $jobs at a time"
    cmake --build build/release --parallel "$jobs" --target "$@"
)
