#!/usr/bin/env python3
"""Prints a filter for the tests that failed by a report in the format of JUnit.

Usage: failed_tests.py REPORT MOST

It prints nothing where there is no report, none failed or more than MOST did. A test of Swift is TARGET.SUITE/FUNCTION.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree


def main(report: str, most: str) -> None:
    try:
        cases = ElementTree.fromstring(Path(report).read_bytes()).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return
    names = [f"{case.get('classname')}/{case.get('name')}" for case in cases if case.find("failure") is not None]
    if len(names) <= int(most):
        print("|".join(re.sub(r"[^A-Za-z0-9_/]", ".", name) for name in names))


main(*sys.argv[1:])
