#!/usr/bin/env python3
"""Checks what the compiler does not of values that stand for an enum, and of joins.

`ErrorCode` and `Access` are values that targets add to, so their `allCases` are lists by hand: each has every value that is declared. And only
those who have looked at a client's claims make an admitted join, or let one in without a proof.
"""

import re
import sys
from pathlib import Path

VALUES = ("ErrorCode", "Access")
# What makes an admitted join, and the files that may: the value itself, the authorizer, an input, the ticket of a seat.
ADMITTERS = {
    r"\bAdmittedJoin\(": {"AdmittedJoin.swift", "JoinAuthorizer.swift", "InputService.swift", "SeatService.swift"},
    # A session whose token was looked at when it began.
    r"\badmitUnproven\(": {"JoinAuthorizer.swift", "WHIPEndpoint.swift"},
    r"\badmitAdministrator\(": {"JoinAuthorizer.swift", "JoinService.swift"},
}


def faults(sources):
    for name in VALUES:
        declared = {case for text in sources.values() for case in re.findall(rf"static let (\w+) = {name}\(", text)}
        listed = set()
        for text in sources.values():
            for body in re.findall(rf"static let (?:allCases|ofServer): \[{name}\] =(.*?)\]", text, re.DOTALL):
                listed.update(re.findall(r"\.(\w+)", body))
        for case in sorted(declared ^ listed):
            yield f"{name}.{case} is not in both: its declaration, and allCases"
    for what, files in ADMITTERS.items():
        for path, text in sources.items():
            if path.name not in files and re.search(what, text):
                yield f"{path} lets somebody in by {what[2:-2]}: that is for {', '.join(sorted(files))}"


def main():
    found = list(faults({path: path.read_text() for path in sorted(Path("Sources").rglob("*.swift"))}))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
