"""The shell commands of the documentation's pages, for tests that run them."""

import os
import re
import subprocess

from support.server import PROGRAM, ROOT

PAGES = ROOT / "Sources" / "Gateway" / "Gateway.docc"
AS_ROOT = "# As root"


def blocks(page):
    """[(heading, commands)] of the blocks of shell commands of a page, in their order."""
    found, heading, inside = [], "", None
    for line in (PAGES / page).read_text().splitlines():
        if inside is None and re.match(r"#+ ", line):
            heading = line.lstrip("# ")
        elif inside is None and line == "```sh":
            inside = []
        elif inside is not None and line == "```":
            found.append((heading, "\n".join(inside) + "\n"))
            inside = None
        elif inside is not None:
            inside.append(line)
    return found


def shell(commands, timeout=30, **variables):
    """Runs commands as a person would, and fails where one of them does. Returns what they print."""
    path = f"{os.path.dirname(os.path.abspath(PROGRAM))}:{os.environ['PATH']}:/usr/sbin:/sbin"
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands], capture_output=True, text=True, timeout=timeout, cwd=ROOT,
        env={**os.environ, "PATH": path, **{name: str(value) for name, value in variables.items()}})
    assert result.returncode == 0, f"{result.returncode} from\n{commands}\n{result.stdout}\n{result.stderr}"
    return result.stdout
