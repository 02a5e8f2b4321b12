#!/usr/bin/env bash
# Makes the data of the bench from Debian 12's package lists: data.sh FOLDER [debian] [files]
#
#   debian.jsonl  some 63,000 packages: name, summary, description, section, maintainer, tags, sizes
#   files.jsonl   3,000,000 file names with their package
#
# Needs Debian 12 with Python 3. The lists go to a temporary folder; the machine's own apt state is left alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?folder}
shift
sets=("$@")
[ ${#sets[@]} -gt 0 ] || sets=(debian)
mkdir -p "$out"
out=$(cd "$out" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mirror=${DEBIAN_MIRROR:-$(sed -n 's/^URIs: *\([^ ]*debian\)\/\? *$/\1/p; s/^deb [^h]*\(http[^ ]*debian\)\/\? .*/\1/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1 || true)}
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,sources}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?no Debian mirror found; set DEBIAN_MIRROR} bookworm main" \
  >"$work/sources/debian.list"
cat >"$work/apt.conf" <<CONF
Dir::State "$work/state"; Dir::State::status "/dev/null"; Dir::Cache "$work/cache";
APT::Sandbox::User "root"; Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "$work/sources"; Dir::Etc::parts "/dev/null"; Dir::Etc::main "/dev/null";
APT::Architecture "amd64"; APT::Architectures { "amd64"; };
Acquire::Languages { "en"; };
Acquire::IndexTargets::deb::Contents-deb { MetaKey "\$(COMPONENT)/Contents-\$(ARCHITECTURE)"; ShortDescription "Contents"; Description "Contents"; KeepCompressed "true"; DefaultEnabled "true"; };
CONF
export APT_CONFIG="$work/apt.conf"
apt-get update -qq
for set in "${sets[@]}"; do
  python3 "$here/data.py" "$set" "$work/state/lists" >"$out/$set.jsonl.new"
  mv "$out/$set.jsonl.new" "$out/$set.jsonl"
  wc -l "$out/$set.jsonl"
done
