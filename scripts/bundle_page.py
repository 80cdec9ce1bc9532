#!/usr/bin/env python3
"""Bundles, minifies and compresses the page's files for the program: `bundle_page.py FOLDER OUTPUT.swift`.

The plugin PageBundle calls it at every build after a change of a file. It needs esbuild, brotli and zopfli, and no network.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = ("esbuild", "brotli", "zopfli")
# The first script of each page. They share no file, so that each page needs few.
ENTRIES = ("start.js", "watch.js")
PAGES = ("index.html", "watch.html")
# In the pages themselves.
INLINE = "reload.js"
# For other sites: one file, whose name stays; the same one by a name with its digest, for pages that are made anew at each request, which find
# that name in MANIFEST; and its types.
MODULE, MANIFEST = "tessera.js", "tessera.json"
TYPES, TYPES_SOURCE = "tessera.d.ts", "module.d.ts"
ICON = "icon.svg"
ADDRESS = "/assets/"
# NAME.DIGEST.EXTENSION: browsers keep what has such a name, since its content never changes.
HASHED = re.compile(r"(.+)\.[0-9A-Z]{8}\.([a-z]+)")


def digest(content):
    return hashlib.sha256(content)


def esbuild(*arguments):
    subprocess.run(["esbuild", "--bundle", "--minify", "--charset=utf8", "--legal-comments=none", "--log-level=warning", *arguments], check=True)


def bundle(source, target):
    """Writes the scripts, the style sheet, the words and the icon."""
    with tempfile.TemporaryDirectory() as scratch:
        # The scripts import each other by their addresses.
        settings = Path(scratch, "tsconfig.json")
        settings.write_text(json.dumps({"compilerOptions": {"baseUrl": str(source), "paths": {f"{ADDRESS}*": ["./*"]}}}))
        hashed = [f"--{kind}-names=[name].[hash]" for kind in ("entry", "chunk", "asset")]
        for name in ENTRIES:
            esbuild(str(source / name), f"--tsconfig={settings}", "--splitting", "--format=esm", "--loader:.json=file",
                    f"--public-path={ADDRESS.rstrip('/')}", f"--outdir={target}", *hashed)
        esbuild(str(source / "style.css"), f"--outdir={target}", *hashed)
        esbuild(str(source / MODULE), f"--tsconfig={settings}", "--format=esm", f"--outfile={target / MODULE}")
    copy_hashed(target, ICON, (source / ICON).read_bytes())
    module = (target / MODULE).read_bytes()
    name = copy_hashed(target, MODULE, module)
    integrity = "sha384-" + base64.b64encode(hashlib.sha384(module).digest()).decode()
    (target / MANIFEST).write_text(json.dumps({"module": ADDRESS + name, "integrity": integrity, "types": ADDRESS + TYPES}))
    (target / TYPES).write_text((source / TYPES_SOURCE).read_text())


def copy_hashed(target, name, content):
    """Writes the content under the name with its digest, and returns that name."""
    stem, extension = name.split(".")
    hashed = f"{stem}.{digest(content).hexdigest()[:8].upper()}.{extension}"
    (target / hashed).write_bytes(content)
    return hashed


def imports(target, name):
    """The scripts that a script imports at once, and those that they import."""
    found = re.findall(rf'(?:from|import)"{ADDRESS}([^"]+)"', (target / name).read_text())
    return [each for one in found for each in [one, *imports(target, one)]]


def page(source, target, name):
    """The page with the names of the bundled files, and its own script in it."""
    names = {".".join(match.groups()): each.name for each in target.iterdir() if (match := HASHED.fullmatch(each.name))}
    html = re.sub(r"^ +", "", (source / name).read_text(), flags=re.M)
    html = re.sub(rf'"{ADDRESS}([^"]+)"', lambda match: f'"{ADDRESS}{names.get(match[1], match[1])}"', html)
    script = subprocess.run(["esbuild", "--minify", str(source / INLINE)], check=True, capture_output=True, text=True).stdout.strip()
    html = html.replace(f'<script src="{ADDRESS}{INLINE}"></script>', f"<script>(()=>{{{script}}})()</script>")
    # What the scripts import: a browser would find it only in them.
    scripts = re.findall(rf'<script type="module" src="{ADDRESS}([^"]+)"', html)
    first = {each: None for script in scripts for each in imports(target, script) if each not in scripts}
    preloads = "".join(f'<link rel="modulepreload" href="{ADDRESS}{each}">\n' for each in first)
    html = html.replace("</head>", f"{preloads}</head>")
    missing = [each for each in re.findall(rf'"{ADDRESS}([^"]+)"', html) if not (target / each).exists()]
    if missing:
        sys.exit(f"error: {name} mentions files that do not exist: {', '.join(missing)}")
    (target / name).write_text(html)


def swift(path):
    """The file as a value of Swift: its text as it is, and its compressed bytes in Base64, which the compiler takes at once."""
    content = path.read_bytes()
    text = content.decode()
    if "\r" in text or '"""####' in text:
        sys.exit(f"error: {path.name} has a carriage return or \"\"\"####, which the literal in Swift cannot have")
    scripts = [base64.b64encode(digest(script.encode()).digest()).decode() for script in re.findall(r"<script>(.*?)</script>", text, re.S)]
    brotli = subprocess.run(["brotli", "--quality=11", "--stdout", str(path)], check=True, capture_output=True).stdout
    gzip = subprocess.run(["zopfli", "-c", str(path)], check=True, capture_output=True).stdout
    return f'''        WebFile(
            name: "{path.name}", isHashed: {str(bool(HASHED.fullmatch(path.name))).lower()}, digest: "{digest(content).hexdigest()[:24]}",
            scriptDigests: {json.dumps(scripts)}, text: ####"""
{text}
"""####, brotli: "{base64.b64encode(brotli).decode()}", gzip: "{base64.b64encode(gzip).decode()}"),
'''


def main(source, output):
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        sys.exit(f"error: the page is bundled with {' and '.join(missing)}. Type: sudo apt-get install -y {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        bundle(source, target)
        for name in PAGES:
            page(source, target, name)
        files = "".join(swift(path) for path in sorted(target.iterdir()))
    output.write_text(f"// Written by scripts/bundle_page.py.\nextension WebFile {{\n    package static let all: [WebFile] = [\n{files}    ]\n}}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
