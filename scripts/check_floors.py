#!/usr/bin/env python3
"""Checks that the folders of each target form floors: no two use each other's types, not even through a third.

Swift has no folders within a module, so this goes by names: a folder uses another if one of its files names a type that is declared
there. A type of the same name in two folders counts for the first.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

DECLARATION = re.compile(
    r"^(?:@\w+ )*(?:(?:public|package|internal|private|fileprivate|final|nonisolated|indirect) )*"
    r"(?:struct|class|enum|protocol|typealias|actor) (\w+)",
    re.MULTILINE,
)


def code(path):
    """The file without comments and strings."""
    text = re.sub(r"//.*", "", path.read_text())
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def uses(target):
    """Each folder of the target with the folders that it uses, and by which type."""
    files = {path: code(path) for path in sorted(target.rglob("*.swift"))}
    homes = {}
    for path, text in files.items():
        for name in DECLARATION.findall(text):
            homes.setdefault(name, path.parent)
    edges = defaultdict(dict)
    for path, text in files.items():
        for name in set(re.findall(r"\b[A-Z]\w+", text)):
            home = homes.get(name)
            if home and home != path.parent:
                edges[path.parent].setdefault(home, f"{path.stem} uses {name}")
    return edges


def circle(edges):
    """The folders of one circle, in order; None if there is none."""
    done = set()

    def search(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return None
        for other in edges.get(folder, ()):
            found = search(other, way + [folder])
            if found:
                return found
        done.add(folder)
        return None

    for folder in list(edges):
        found = search(folder, [])
        if found:
            return found
    return None


def main():
    faults = 0
    for target in sorted(path for path in Path("Sources").iterdir() if path.is_dir()):
        edges = uses(target)
        found = circle(edges)
        if found:
            faults += 1
            for folder, other in zip(found, found[1:]):
                print(f"{target.name}: {folder} uses {other}: {edges[folder][other]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
