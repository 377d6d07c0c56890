#!/bin/bash
# install_packages.sh SECTION…: installs what packages.txt lists in these sections and dpkg does not have.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v dpkg-query >/dev/null; then
  echo "note: no dpkg here; packages.txt lists what the build needs under its Debian names" >&2
  exit 0
fi

wanted=()
section=
while read -r line; do
  line=${line%%#*}
  line=${line//[[:space:]]/}
  case $line in
    '') ;;
    '['*']') section=${line:1:-1} ;;
    *) [[ " $* " == *" $section "* ]] && wanted+=("$line") ;;
  esac
done <packages.txt

# dpkg-query fails if it has never heard of one of them; what it prints about the others still counts.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  # Node from elsewhere brings npm along, and does not go together with Debian's.
  if [[ $package == npm ]] && command -v npm >/dev/null; then continue; fi
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  as_root=(sudo)
  # Without a terminal sudo cannot ask for a password.
  if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; }; then
    echo "missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    exit 1
  fi
fi

echo "installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
"${apt[@]}" update >/dev/null || echo "note: apt-get update failed; trying with the package lists at hand" >&2
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; then
  echo "apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
