#!/bin/sh
# Installs what FlashCL builds with and runs on, on Debian and its kin: sh tools/packages.sh [extra package...]
# Does nothing where everything is there.
set -eu
packages="gcc libc6-dev meson ninja-build pkgconf python3 opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd clinfo
libxxhash-dev libpopt-dev libjansson-dev libcmocka-dev $*"
missing=
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
