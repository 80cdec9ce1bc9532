#!/usr/bin/env python3
"""Checks that each target of Package.swift names the modules that its files import, and no others; and that they keep the rules of CONTRIBUTING.md:
its table has every target, each depends on targets below it only, and siblings do not know each other.

SwiftPM's own check (--explicit-target-dependency-import-check) lets pass what another dependency brings along.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# The compiler and the toolchain bring them.
TOOLCHAIN = {"Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Swift", "Synchronization", "Testing"}
IMPORT = re.compile(
    r"^(?:@\w+(?:\(\w+\))? )*(?:(?:public|package|internal|fileprivate|private) )?"
    r"import (?:(?:struct|class|enum|protocol|typealias|func|var|let|actor) )?(\w+)",
    re.MULTILINE,
)

# Each serves another kind of clients: what two of them need lies below.
SIBLINGS = {"Management", "Signalling", "AppEndpoints", "Outbound", "ClusterGateway"}


def breaches(targets):
    """The rules that targets break, by the table of CONTRIBUTING.md.

    targets: what each target of the package depends on, without those of C and of tests."""
    page = Path("CONTRIBUTING.md").read_text()
    table = page[page.index("| target | content |"):].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    for name in sorted(targets.keys() ^ set(rows)):
        yield f"CONTRIBUTING.md's table and Package.swift differ by {name}"
    for name in set(rows) & targets.keys():
        for other in sorted(targets[name] & set(rows)):
            if rows.index(other) < rows.index(name):
                yield f"{name} depends on {other}, which CONTRIBUTING.md has above it"
            if {name, other} <= SIBLINGS:
                yield f"{name} depends on {other}, its sibling"


def main():
    manifest = json.loads(subprocess.run(["swift", "package", "--ignore-lock", "dump-package"], check=True, capture_output=True).stdout)
    faults = []
    own = {}
    for target in manifest["targets"]:
        if target["type"] in ("system", "plugin"):
            continue
        tests = target["type"] == "test"
        folder = Path(target.get("path") or Path("Tests" if tests else "Sources", target["name"]))
        imported = {}
        for file in sorted(folder.rglob("*.swift")):
            for module in IMPORT.findall(file.read_text()):
                imported.setdefault(module, file)
        named = {next(iter(each.values()))[0] for each in target["dependencies"]}
        if folder.parts[0] == "Sources" and imported:
            own[target["name"]] = named
        for module in sorted(imported.keys() - named - TOOLCHAIN - {target["name"]}):
            faults.append(f"{imported[module]} imports {module}, which the dependencies of {target['name']} do not name")
        for module in sorted(named - imported.keys()):
            faults.append(f"{target['name']} names {module} in Package.swift, and no file of it imports that")
    faults += breaches(own)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
