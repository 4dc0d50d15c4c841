#!/usr/bin/env bash
# Installs the library into an empty prefix, moves that elsewhere, and builds the examples from
# there: with make and pkg-config against the shared library, with CMake against the archive.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -s -C ../../ffi install DESTDIR="$work/stage" PREFIX=/opt/kubelease
mv "$work/stage/opt/kubelease" "$work/elsewhere"
(cd "$work/elsewhere" && find . -type f -o -type l | LC_ALL=C sort)

export PKG_CONFIG_PATH=$work/elsewhere/lib/pkgconfig
mkdir "$work/make"
make -s -C ../../examples/c INSTALLED=1 BIN="$work/make"
LD_LIBRARY_PATH=$work/elsewhere/lib "$work/make/by_hand" | tail -1

# -lkubelease is the shared one.
readelf -d "$work/make/by_hand" | grep 'NEEDED.*libkubelease.so.0.1'

cmake -S ../../examples/c -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/elsewhere" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/cmake" >"$work/log" || { cat "$work/log"; exit 1; }
"$work/cmake/by_hand" | tail -1
for version in 0.2 1.0; do # another minor version is another library
  mkdir "$work/$version"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(p C)' \
    "find_package(kubelease $version REQUIRED)" >"$work/$version/CMakeLists.txt"
  if cmake -S "$work/$version" -B "$work/$version/build" -DCMAKE_PREFIX_PATH="$work/elsewhere" \
    >/dev/null 2>&1; then echo "CMake takes version 0.1 for $version"; exit 1; fi
done
echo "installed, moved, and used by pkg-config, CMake and the shared library"
