"""Turns Debian's package lists into JSON lines: data.py debian|files LISTS_FOLDER. Called by data.sh."""

import hashlib
import json
import os
import re
import subprocess
import sys

FILES = 3_000_000


def cat(path):
    """The lines of a list, whatever its compression."""
    return subprocess.Popen(["/usr/lib/apt/apt-helper", "cat-file", path], stdout=subprocess.PIPE).stdout


def stanzas(lines):
    """The paragraphs of a Debian control file as maps; continued lines keep their line breaks."""
    paragraph, key = {}, None
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        if not line:
            if paragraph:
                yield paragraph
            paragraph, key = {}, None
        elif line[0] in " \t":
            if key:
                paragraph[key] += "\n" + line
        else:
            key, _, value = line.partition(":")
            paragraph[key] = value.strip()
    if paragraph:
        yield paragraph


def write(record):
    sys.stdout.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def long_descriptions(lists):
    found = {}
    for name in sorted(os.listdir(lists)):
        if "Translation-en" in name:
            for item in stanzas(cat(os.path.join(lists, name))):
                lines = [line.strip() for line in item.get("Description-en", "").split("\n")[1:]]
                text = " ".join("\n" if line == "." else line for line in lines)
                found[item["Description-md5"]] = re.sub(r" ?\n ?", "\n", text)
    return found


def debian(lists):
    described = long_descriptions(lists)
    seen = set()
    dump = subprocess.Popen(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for item in stanzas(dump):
        name = item.get("Package")
        if not name or name in seen:
            continue
        seen.add(name)
        maintainer = item.get("Maintainer", "")
        write({
            "objectID": name,
            "name": name,
            "summary": item.get("Description", ""),
            "description": described.get(item.get("Description-md5", ""), ""),
            "section": item.get("Section", ""),
            "priority": item.get("Priority", ""),
            "maintainer": maintainer.split("<")[0].strip().strip('"') or maintainer,
            "architecture": item.get("Architecture", ""),
            "tags": [tag.strip() for tag in item.get("Tag", "").replace("\n", " ").split(",") if tag.strip()],
            "size": int(item.get("Size", 0)),
            "installed_size": int(item.get("Installed-Size", 0)),
            "version": item.get("Version", ""),
            "homepage": item.get("Homepage", ""),
        })


def files(lists):
    """A sample of all file names that is the same each time, with a made-up number of downloads each."""
    number = 0
    for name in sorted(os.listdir(lists)):
        if not re.search(r"Contents-(all|amd64)", name):
            continue
        for raw in cat(os.path.join(lists, name)):
            digest = hashlib.blake2b(raw, digest_size=16).digest()
            if int.from_bytes(digest[:8], "little") / 2**64 >= 0.4111:
                continue
            path, _, places = raw.decode("utf-8", "replace").rstrip("\n").rpartition(" ")
            section, _, package = places.split(",")[0].rpartition("/")
            folder, _, base = path.rstrip().rpartition("/")
            if not base or not package:
                continue
            extension = base.rsplit(".", 1)[1].lower() if "." in base[1:] else ""
            share = (int.from_bytes(digest[8:], "little") + 1) / 2**64
            number += 1
            write({
                "objectID": f"f{number}",
                "name": base,
                "path": folder,
                "package": package,
                "section": section or "misc",
                "ext": extension if len(extension) <= 6 else "",
                "downloads": min(int(20 * share**-1.15), 500_000_000),
            })
            if number == FILES:
                return


if __name__ == "__main__":
    {"debian": debian, "files": files}[sys.argv[1]](sys.argv[2])
