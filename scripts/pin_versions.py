#!/usr/bin/env python3
"""Writes Package.resolved, so that every machine builds the versions of scripts/versions.txt: a line for each package, with its name, version
and URL. Nothing happens where it has them.

--check: only compares. --record: the other way round, after `swift package update`: writes scripts/versions.txt.

Package.resolved itself is not committed: it names commits, and a mirror that makes its own copies of the packages has others for the same tags.
The commit of a tag is looked up where git finds the package.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESOLVED = Path("Package.resolved")
VERSIONS = Path("scripts/versions.txt")


def resolved():
    """The versions and URLs of Package.resolved, by name."""
    if not RESOLVED.exists():
        return {}
    pins = json.loads(RESOLVED.read_text())["pins"]
    return {pin["identity"]: (pin["state"].get("version", "none"), pin["location"].removesuffix(".git")) for pin in pins}


def wanted():
    """The versions and URLs of versions.txt, by name."""
    lines = (line.split() for line in VERSIONS.read_text().splitlines() if line and not line.startswith("#"))
    return {name: (version, url) for name, version, url in lines}


def commit(url, version):
    """The commit of a version's tag, which may stand behind a `v`."""
    tags = [f"refs/tags/{prefix}{version}{suffix}" for prefix in ("", "v") for suffix in ("^{}", "")]
    answer = subprocess.run(["git", "ls-remote", url, *tags], capture_output=True, text=True)
    found = {tag: revision for revision, tag in (line.split("\t") for line in answer.stdout.splitlines())}
    for tag in tags:
        if tag in found:
            return found[tag]
    sys.exit(f"{url} has no version {version}, which {VERSIONS} names: {answer.stderr.strip() or 'no such tag'}")


def main():
    if sys.argv[1:] == ["--record"]:
        head = "# The versions that are built, of the packages of Package.swift and of theirs. See scripts/pin_versions.py.\n"
        VERSIONS.write_text(head + "".join(f"{name} {version} {url}\n" for name, (version, url) in sorted(resolved().items())))
        return
    want, have = wanted(), resolved()
    differing = [name for name in sorted(want | have) if want.get(name) != have.get(name)]
    if not differing:
        return
    if sys.argv[1:] == ["--check"]:
        for name in differing:
            print(f"{name}: Package.resolved has {have.get(name, ('none',))[0]}, {VERSIONS} {want.get(name, ('none',))[0]}")
        sys.exit("Run scripts/pin_versions.py, or with --record to take what was resolved.")
    with ThreadPoolExecutor(8) as pool:
        commits = dict(zip(want, pool.map(lambda name: commit(want[name][1], want[name][0]), want)))
    pins = [
        {
            "identity": name, "kind": "remoteSourceControl", "location": url,
            "state": {"revision": commits[name], "version": version},
        }
        for name, (version, url) in sorted(want.items())
    ]
    RESOLVED.write_text(json.dumps({"pins": pins, "version": 3}, indent=2) + "\n")


if __name__ == "__main__":
    main()
