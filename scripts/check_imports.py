#!/usr/bin/env python3
"""Checks that each target of Package.swift names the modules that its files import, and no others.

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


def main():
    manifest = json.loads(subprocess.run(["swift", "package", "--ignore-lock", "dump-package"], check=True, capture_output=True).stdout)
    faults = []
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
        for module in sorted(imported.keys() - named - TOOLCHAIN - {target["name"]}):
            faults.append(f"{imported[module]} imports {module}, which the dependencies of {target['name']} do not name")
        for module in sorted(named - imported.keys()):
            faults.append(f"{target['name']} names {module} in Package.swift, and no file of it imports that")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
