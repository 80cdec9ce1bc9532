#!/usr/bin/env python3
"""Finds lines of the pages' prose that are longer than 120 columns; --fix wraps their paragraphs anew.

Tables, headings, code and lines without a place to break may be longer.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 120
ITEM = re.compile(r"(\s*)((?:[-*+]|\d+[.)])\s+)?(.*)")
# What begins a block of its own: nothing, a heading, a table's row, HTML, a directive, a reference.
BLOCK = re.compile(r"\s*($|#{1,6} |\||<|@\w+|\[[^\]]+\]: |[-=]{3,}$)")
# A line that began with one of these words would be another block.
MARKER = re.compile(r"[-*+>|]|#{1,6}|\d+[.)]|=+|@\w*")


def paragraphs(lines):
    """(first line, line behind the last, indentation, mark of a list's item) of each paragraph."""
    fenced, index = False, 0
    while index < len(lines):
        line = lines[index]
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or line.lstrip().startswith(("```", ">")) or BLOCK.match(line):
            index += 1
            continue
        indent, mark, _ = ITEM.match(line).groups()
        end = index + 1
        while end < len(lines) and not BLOCK.match(lines[end]) and not lines[end].lstrip().startswith(("```", ">")) \
                and not ITEM.match(lines[end]).group(2):
            end += 1
        yield index, end, indent, mark or ""
        index = end


# Code and links stay on one line.
SPAN = re.compile(r"``[^`]+``|`[^`]{1,80}`|!?\[[^\]]{1,80}\]\(\S*\)")


def wrapped(text, indent, mark):
    words = SPAN.sub(lambda span: "\0".join(span.group().split()), " ".join(text.split())).split(" ")
    for index in range(len(words) - 1, 0, -1):
        if MARKER.fullmatch(words[index]):
            words[index - 1:index + 1] = [words[index - 1] + "\0" + words[index]]
    lines = textwrap.wrap(
        " ".join(words), WIDTH, initial_indent=indent + mark, subsequent_indent=indent + " " * len(mark),
        break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def pages():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in names]


def main(fix):
    faults = []
    for page in pages():
        lines = page.read_text().split("\n")
        result, done = [], 0
        for start, end, indent, mark in paragraphs(lines):
            result += lines[done:start]
            done = end
            old = lines[start:end]
            if max(map(len, old)) <= WIDTH:
                result += old
                continue
            text = " ".join(old)[len(indent + mark):]
            new = wrapped(text, indent, mark)
            if new != old:
                faults += [f"{page.relative_to(ROOT)}:{start + 1 + i}: {len(line)} columns" for i, line in enumerate(old) if len(line) > WIDTH]
            result += new
        result += lines[done:]
        if fix:
            page.write_text("\n".join(result))
    if faults and not fix:
        sys.exit("\n".join([*faults, f"Prose longer than {WIDTH} columns: ./scripts/lint --fix wraps it."]))


if __name__ == "__main__":
    main("--fix" in sys.argv[1:])
