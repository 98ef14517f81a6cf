#!/usr/bin/env bash
# Puts Emscripten 3.1.69, or library sources, into the project's .toolchain from Debian 13's packages, on Debian 12 or newer,
# without touching the system: no package sources are changed and nothing is installed.
#
#   from-debian.sh emscripten   .toolchain/emscripten: needs LLVM 19 (apt-get install clang-19 lld-19 llvm-19 python3)
#   from-debian.sh sources      .toolchain/src/{highway,eigen,doctest,nlohmann-json}
#
# Debian 12's own Emscripten is too old and its Highway, too. Each part is made beside its place and renamed when it is
# whole, so an interrupted run leaves nothing half done and the next one goes on from what apt has already downloaded.
set -euo pipefail
suite=trixie
recipe=$(realpath "$0")
toolchain=$(dirname "$(dirname "$(dirname "$recipe")")")/.toolchain
download=$toolchain/download
# SHA-512 of the one npm package, as a package-lock.json would pin it; apt checks Debian's own.
acorn=725ebaf670894d906c2fdece178914426e60e610b6ba2864d0dc58dd610d002d1361d20b5640321f29809ed8311a497b2beb7471722b1f9b22cb94b85e417270

fail() { printf '%s\n' "$*" >&2; exit 1; }

# A private apt: the mirror and the keys that the system's apt uses already, the suite that it does not.
prepare_apt() {
  local keys mirror
  keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -n 1)
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 'Component: main' |
    sort -u | head -n 1)
  # Without downloaded lists, as in a container image, apt still tells what it would download.
  [ -n "$mirror" ] || mirror=$(apt-get update --print-uris |
    sed -n "s#^'\(.*/debian\)/*/dists/[a-z]*/InRelease'.*#\1#p" | head -n 1)
  [ -n "$keys" ] && [ -n "$mirror" ] || fail "this works on Debian only"
  mkdir -p "$download/lists/partial" "$download/archives/partial"
  printf '%s [signed-by=%s] %s %s main\n' deb "$keys" "$mirror" $suite deb-src "$keys" "$mirror" $suite \
    >"$download/sources.list"
  private=(-qq -o Dir::Etc::SourceList="$download/sources.list" -o Dir::Etc::SourceParts=/nonexistent
    -o Dir::State::Lists="$download/lists" -o Dir::Cache="$download" -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o Acquire::Retries=3)
  apt-get "${private[@]}" update
}

# unpack FOLDER PACKAGE... -- TAR OPTIONS: the packages' files, less what the options exclude.
unpack() {
  local folder=$1 packages=()
  shift
  while [ "$1" != -- ]; do packages+=("$1"); shift; done
  shift
  mkdir -p "$folder" "$download/debs"
  (cd "$download/debs" && apt-get "${private[@]}" download "${packages[@]}")
  local package deb
  for package in "${packages[@]}"; do
    deb=$(find "$download/debs" -name "${package%%=*}_*.deb" | sort -V | tail -n 1)
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder" "$@"
  done
}

# The stamp tells the set-up step which recipe made the folder.
finish() {
  sha256sum <"$recipe" | cut -d ' ' -f 1 >"$toolchain/$1.part/stamp"
  rm -rf "${toolchain:?}/$1"
  mv "$toolchain/$1.part" "$toolchain/$1"
}

emscripten() {
  local part=$toolchain/emscripten.part
  rm -rf "$part"
  # Position-independent and LTO variants, sanitizers, tracing of allocations and wasmfs are 1.4 GB that nothing links.
  unpack "$part/root" 'emscripten=3.1.69*' binaryen libc6 libstdc++6 libgcc-s1 -- \
    --wildcards --exclude='*/wasm32-emscripten/*pic' --exclude='*/wasm32-emscripten/lto*' \
    --exclude='*san*_rt*' --exclude='*-asan*' --exclude='*/libwasmfs*' --exclude='*-tracing.a' \
    --exclude='./usr/share/emscripten/test' --exclude='./usr/share/doc*' --exclude='./usr/share/man' \
    --exclude='./usr/share/locale' --exclude='./usr/lib/*/gconv'

  # Binaryen's programs want a newer libc than Debian 12 has: they run under the loader that they were made with.
  local lib tool
  lib=$(cd "$part/root" && echo usr/lib/*-linux-gnu*)
  mkdir -p "$part/binaryen/bin"
  for tool in "$part"/root/usr/bin/wasm*; do
    tool=${tool##*/}
    printf '#!/bin/sh\nroot=$(dirname "$0")/../../root\nexec "$root"/%s/ld-linux-*.so.* --library-path "$root/%s" %s "$@"\n' \
      "$lib" "$lib" "\"\$root/usr/bin/$tool\"" >"$part/binaryen/bin/$tool"
    chmod +x "$part/binaryen/bin/$tool"
  done

  local em=$part/root/usr/share/emscripten
  npm pack --silent --pack-destination "$download" acorn@8.14.0 >/dev/null
  (cd "$download" && sha512sum --check --quiet <<<"$acorn  acorn-8.14.0.tgz") || fail "acorn 8.14.0 is not what it was"
  mkdir -p "$em/node_modules/acorn"
  tar -x -C "$em/node_modules/acorn" --strip-components=1 -f "$download/acorn-8.14.0.tgz"
  # Its scripts are not modules, whatever the project's own package.json says.
  [ -e "$em/package.json" ] || echo '{ "type": "commonjs" }' >"$em/package.json"
  cat >"$em/.emscripten" <<'CONFIG'
# Found from Emscripten's own place, so that the project's folder can be moved.
import shutil
from tools.utils import path_from_root
LLVM_ROOT = '/usr/lib/llvm-19/bin'
BINARYEN_ROOT = path_from_root('..', '..', '..', '..', 'binaryen')
NODE_JS = shutil.which('node')
CACHE = path_from_root('cache')
FROZEN_CACHE = True
CONFIG
  "$em/em++" --version | head -n 1
  finish emscripten
}

sources() {
  local part=$toolchain/src.part
  rm -rf "$part"
  # Header-only libraries from their packages; Highway as source, since it is compiled for each target.
  unpack "$part/root" libeigen3-dev doctest-dev nlohmann-json3-dev -- --wildcards --exclude='./usr/share/doc*'
  mkdir -p "$part/doctest" "$part/nlohmann-json/include" "$part/highway"
  mv "$part/root/usr/include/eigen3" "$part/eigen"
  mv "$part/root/usr/include/doctest" "$part/doctest/doctest"
  mv "$part/root/usr/include/nlohmann" "$part/nlohmann-json/include/nlohmann"
  (cd "$download" && apt-get "${private[@]}" source --only-source --download-only highway)
  tar -x -C "$part/highway" --strip-components=1 -f "$(find "$download" -maxdepth 1 -name 'highway_1.2.0.orig.tar.*' | head -n 1)"
  rm -rf "$part/root"
  finish src
}

case ${1-} in
  emscripten | sources) ;;
  *) fail "usage: from-debian.sh emscripten|sources" ;;
esac
prepare_apt
"$1"
rm -rf "$download"
