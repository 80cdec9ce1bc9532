#!/usr/bin/env python3
"""Finds broken links of the pages to files and to headings of Markdown files. Links to other sites are not checked."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^()\s]+)\)")


def anchors(page):
    """The anchors that code hosts make of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        # DocC names a resource by its file name alone.
        if not file.exists() and not (page.parent.suffix == ".docc" and (page.parent / "Resources" / path).exists()):
            yield f"{page.relative_to(ROOT)}: {target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{page.relative_to(ROOT)}: {target} names no heading"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = [fault for name in listed.stdout.split() for fault in faults(ROOT / name)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
