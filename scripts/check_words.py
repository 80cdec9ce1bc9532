#!/usr/bin/env python3
"""Checks that comments and pages have one word for one thing: those that the glossary (CONTRIBUTING.md, *Words*) has no room for are named with the
word to use. Names in code, keys (`doors.directory`) and texts in backticks are not looked at, nor are the tables that the benchmarks print.
"""

import re
import subprocess
import sys
from pathlib import Path

# word, as a regular expression → what to write in its place
WORDS = {
    r"rubbish": "invalid bytes, an invalid answer",
    r"by and by": "one after the other, later",
    r"wish(?:es|ed)?": "request",
    r"doors?": "admission, the way in, or the endpoint by its name",
    r"haste|in a hurry": "at once",
    r"housekeeper|keeps? house": "cleans up",
    r"folks?|guys": "participants",
    r"magic(?:al|ally)?": "what happens, by its name",
    r"simply|obviously|of course": "nothing",
    r"stuff|things? like that": "what it is",
}
BANNED = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b", re.IGNORECASE)
# Printed by a benchmark, or other people's names.
PRINTED = {"Attacks.md", "CHANGELOG.md"}
CODE = re.compile(r"`[^`]*`|https?://\S+|<[^>]*>|\]\([^)]*\)|draft-[\w-]+")


def texts(path):
    """The lines of a file that are prose, with their numbers."""
    block = False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if path.suffix == ".md":
            if line.lstrip().startswith("```"):
                block = not block
            elif not block and not line.startswith("    "):
                yield number, line
        else:
            comment = re.search(r"(?:^|\s)///?\s(.*)", line)
            # A parameter's name is code.
            if comment:
                yield number, re.sub(r"^\s*- (?:Parameter )?\w+:", "", comment.group(1))


def main():
    files = subprocess.run(["git", "ls-files", "*.swift", "*.md"], check=True, capture_output=True, text=True).stdout.split()
    faults = []
    for path in map(Path, files):
        if path.name in PRINTED or not path.exists():
            continue
        for number, line in texts(path):
            for found in BANNED.findall(CODE.sub("", line)):
                better = next(use for word, use in WORDS.items() if re.fullmatch(word, found, re.IGNORECASE))
                faults.append(f"{path}:{number}: “{found}”: write {better}")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


sys.exit(main())
