#!/bin/bash
# configure.sh [--once] PRESET [CMAKE OPTIONS…]: configures build/PRESET; --once: unless that was done already.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/../.."
once=
if [[ $1 == --once ]]; then once=yes && shift; fi
preset=$1
shift

# A tree that was copied or moved together with its build folder would go on building the old place.
fresh=()
cache=build/$preset/CMakeCache.txt
if [[ -f $cache ]]; then
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  if [[ ! $home -ef . ]]; then
    fresh=(--fresh)
  elif [[ $once && -f build/$preset/build.ninja ]]; then
    exit 0
  fi
fi
exec cmake --preset "$preset" "${fresh[@]}" "$@" --log-level=WARNING
