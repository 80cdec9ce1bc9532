#!/usr/bin/env python3
"""Tells which targets of the package changed, by a hash of each target's files and of the files of all targets below it.

Usage: targets.py changed RECORD [TARGET...]   the targets, otherwise all test targets, whose hash is not the one in RECORD, a line each
       targets.py record RECORD TARGET...      writes the hashes of the targets into RECORD
       targets.py stale BUILD                  removes build products that a debug build in the folder BUILD wrongly kept, and prints
                                               their targets

Why `stale`: the incremental build compiles a file again when the interface of a module that it imports changed, but a private stored
property is no part of that interface, although the size of the type depends on it. Code that was compiled for the old size crashes. So
the modules' contents are compared with those of the last build here: an object file that is older than a module below it with new
contents is removed with its target's other products. Such a build has to run again.
"""

import hashlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What all targets depend on.
SHARED = ("Package.swift", "Package.resolved")
# What a plugin makes a target's sources of.
BUNDLED = {"WebFiles": ("Sources/Web", "Sources/PageBundle", "scripts/bundle_page.py")}

# The suffixes of what the compiler writes beside an object file.
COMPILED = {".o", ".d", ".dia", ".swiftdeps", ".priors"}


@cache
def manifest():
    """The targets of the package by their names."""
    dump = subprocess.run(["swift", "package", "--ignore-lock", "dump-package"], cwd=ROOT, check=True, capture_output=True).stdout
    return {target["name"]: target for target in json.loads(dump)["targets"]}


def folder(name):
    target = manifest()[name]
    root = "Tests" if target["type"] == "test" else "Sources"
    return ROOT / (target.get("path") or f"{root}/{name}")


def dependencies(name):
    """The targets of this package that a target names."""
    named = (dependency.get("byName") or dependency.get("target") for dependency in manifest()[name]["dependencies"])
    return [entry[0] for entry in named if entry and entry[0] in manifest()]


@cache
def below(name):
    """All targets below one, itself excluded."""
    found = set()
    for other in dependencies(name):
        found |= {other} | below(other)
    return found


@cache
def own_hash(name):
    digest = hashlib.sha256(json.dumps(manifest()[name], sort_keys=True).encode())
    for path in files(folder(name)):
        add(digest, path)
        if path.suffix == ".c":
            # A file that the compiler embeds is as much a source of the target as the one that names it.
            for embedded in re.findall(r'^#embed "(.+)"', path.read_text(), re.MULTILINE):
                add(digest, path.parent / embedded)
    for bundled in BUNDLED.get(name, ()):
        for path in files(ROOT / bundled):
            add(digest, path)
    return digest.digest()


def files(place):
    """The files of a folder, or the one file."""
    return sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]


def add(digest, path):
    digest.update(f"{path.resolve().relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")


@cache
def shared_hash():
    digest = hashlib.sha256(subprocess.run(["swift", "--version"], check=True, capture_output=True).stdout)
    for name in SHARED:
        if (ROOT / name).exists():
            add(digest, ROOT / name)
    return digest.digest()


def full_hash(name):
    digest = hashlib.sha256(shared_hash())
    for other in sorted(below(name) | {name}):
        digest.update(other.encode() + own_hash(other))
    return digest.hexdigest()


def read(record):
    try:
        return json.loads(Path(record).read_text())
    except (OSError, ValueError):
        return {}


def changed(record, *names):
    old = read(record)
    names = names or [name for name, target in manifest().items() if target["type"] == "test"]
    for name in names:
        if old.get(name) != full_hash(name):
            print(name)


def record(path, *names):
    Path(path).write_text(json.dumps(read(path) | {name: full_hash(name) for name in names}, indent=1))


def stale(build):
    products = Path(build) / "debug"
    record = products / "module-contents.json"
    old = read(record)
    modules = {name: products / "Modules" / f"{name}.swiftmodule" for name in manifest()}
    modules = {name: path for name, path in modules.items() if path.exists()}
    contents = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in modules.items()}
    # When a module of other contents was written, for those that are known from the build before.
    renewed = {name: modules[name].stat().st_mtime for name in contents if old.get(name, contents[name]) != contents[name]}
    for name in modules:
        newest = max((renewed[other] for other in below(name) & renewed.keys()), default=0)
        objects = products / f"{name}.build"
        if any(path.stat().st_mtime < newest for path in objects.rglob("*.o")):
            # The rest stays: SwiftPM writes it while it plans, and where no file of the package is new or gone it does not plan again.
            for path in files(objects):
                if path.suffix in COMPILED:
                    path.unlink()
            print(name)
    record.write_text(json.dumps(contents))


match sys.argv[1:]:
    case ["changed", path, *names]:
        changed(path, *names)
    case ["record", path, *names] if names:
        record(path, *names)
    case ["stale", build]:
        stale(build)
    case _:
        sys.exit(__doc__)
