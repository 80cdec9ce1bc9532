#!/usr/bin/env python3
"""Finds broken links of the pages to files and to headings of Markdown files. Links to other sites are not checked.

DocC's own links (`<doc:Page>`) are dead text where the pages are read, on a code host: they stand in lists of topics only, which DocC wants so.
--fix makes links of the others that work in both; scripts/wrap_pages.py --fix then wraps the lines.
"""

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


DOCC = re.compile(r"<doc:(\w+)>")


def links(page, text):
    """The text with links to files in place of DocC's, but in lists of topics."""
    def link(match):
        target = page.parent / f"{match[1]}.md"
        if not target.exists():
            return match[0]
        title = re.search(r"^# `*([^`\n]+)", target.read_text(), re.MULTILINE)[1].strip()
        return f"[{title}]({target.name})"
    head, topics, rest = text.partition("\n## Topics\n")
    # Code shows links as they are.
    return "".join(part if part.startswith("`") else DOCC.sub(link, part) for part in re.split(r"(```.*?```|`[^`\n]+`)", head, flags=re.DOTALL)) + topics + rest


def faults(page):
    if links(page, page.read_text()) != page.read_text():
        yield f"{page.relative_to(ROOT)} has <doc:…> outside of its topics: scripts/check_links.py --fix makes links of them"
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        # DocC names a resource by its file name alone, and knows no folders.
        if page.parent.suffix == ".docc" and path.startswith("Resources/"):
            yield f"{page.relative_to(ROOT)}: {target} is written without its folder: {path.rpartition('/')[2]}"
            continue
        if not file.exists() and not (page.parent.suffix == ".docc" and (page.parent / "Resources" / path).exists()):
            yield f"{page.relative_to(ROOT)}: {target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{page.relative_to(ROOT)}: {target} names no heading"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    if "--fix" in sys.argv[1:]:
        for page in (ROOT / name for name in listed.stdout.split()):
            page.write_text(links(page, page.read_text()))
    found = [fault for name in listed.stdout.split() for fault in faults(ROOT / name)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
