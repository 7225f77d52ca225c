#!/usr/bin/env bash
# Installs the system packages that RocksDB's build needs, where they are missing (Debian and its relatives).
set -euo pipefail

missing=()
command -v cc >/dev/null || missing+=(build-essential)
command -v cmake >/dev/null || missing+=(cmake)
command -v clang >/dev/null || missing+=(clang)
compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || compgen -G '/usr/lib/*/libclang*.so*' >/dev/null || missing+=(libclang-dev)
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]}. Install them with your package manager and run the command again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "missing: ${missing[*]}. Install them as root and run the command again." >&2; exit 1; }
    as_root=(sudo)
fi
echo "installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
