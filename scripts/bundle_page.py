#!/usr/bin/env python3
"""Bundles, minifies and compresses the page's files for the program: `bundle_page.py FOLDER OUTPUT.swift`.

The plugin PageBundle calls it at every build after a change of a file. It needs esbuild, brotli and zopfli, and no network.
"""

import base64
import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from urllib.parse import quote

TOOLS = ("esbuild", "brotli", "zopfli")
# The first script of each page. They share no file, so that each page needs few.
ENTRIES = ("start.js", "watch.js", "library.js")
PAGES = ("index.html", "watch.html", "library.html")
# In the pages themselves: this script, and first scripts of so few bytes.
INLINE, SMALL = "reload.js", 2000
BLOCK = "(?:aside|body|dialog|div|fieldset|form|h1|h2|header|label|legend|main|nav|ol|p|section|ul)"
# What a `data:` address may have beside letters and digits.
SAFE = " ='/:.,-"
# For other sites: one file, whose name stays; the same one by a name with its digest, for pages that are made anew at each request, which find
# that name in MODULE_MANIFEST; and its types.
MODULE, MODULE_MANIFEST = "tessera.js", "tessera.json"
TYPES, TYPES_SOURCE = "tessera.d.ts", "module.d.ts"
ICON = "icon.svg"
# The sides of the pictures that are made of the icon, for systems that install the page as an app.
SIDES = (192, 512)
# Such a system cuts any shape out of the picture that has the middle 80 % of it; the tiles' corners are within that.
SHRUNK = 0.8
MANIFEST = "app.webmanifest"
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
            esbuild(str(source / name), f"--tsconfig={settings}", "--splitting", "--format=esm", "--loader:.json=file", "--loader:.html=text",
                    f"--public-path={ADDRESS.rstrip('/')}", f"--outdir={target}", *hashed)
        esbuild(str(source / "style.css"), f"--outdir={target}", *hashed)
        esbuild(str(source / MODULE), f"--tsconfig={settings}", "--format=esm", f"--outfile={target / MODULE}")
    icon = (source / ICON).read_bytes()
    keep(target, ICON, icon)
    for side in SIDES:
        keep(target, f"icon-{side}.png", picture(icon.decode(), side))
    keep(target, MANIFEST, hashed_names(target, (source / MANIFEST).read_text()).encode())
    module = (target / MODULE).read_bytes()
    name = keep(target, MODULE, module)
    integrity = "sha384-" + base64.b64encode(hashlib.sha384(module).digest()).decode()
    (target / MODULE_MANIFEST).write_text(json.dumps({"module": ADDRESS + name, "integrity": integrity, "types": ADDRESS + TYPES}))
    (target / TYPES).write_text((source / TYPES_SOURCE).read_text())


def keep(target, name, content):
    """Writes the content under the name with its digest, and returns that name."""
    stem, extension = name.split(".")
    hashed = f"{stem}.{digest(content).hexdigest()[:8].upper()}.{extension}"
    (target / hashed).write_bytes(content)
    return hashed


def picture(icon, side):
    """The icon as a PNG: its ground over the whole picture, and its other rectangles, with rounded corners, in the middle."""
    box = float(re.search(r'viewBox="0 0 (\S+) ', icon)[1])
    rectangles = [dict(re.findall(r'(\w+)="([^"]*)"', one)) for one in re.findall(r"<rect [^>]*>", icon)]
    ground, *tiles = ([int(one["fill"][at:at + 2], 16) for at in (1, 3, 5)] for one in rectangles)
    rows = [bytearray(bytes(ground) * side) for _ in range(side)]
    for one, colour in zip(rectangles[1:], tiles, strict=True):
        scale = side / box * SHRUNK
        left, top = (side / 2 + (float(one[at]) - box / 2) * scale for at in "xy")
        width, height, radius = (float(one[at]) * scale for at in ("width", "height", "rx"))
        for y in range(int(top), min(side, int(top + height) + 1)):
            for x in range(int(left), min(side, int(left + width) + 1)):
                # The distance of the pixel's middle from the edge.
                across = abs(x + 0.5 - left - width / 2) - width / 2 + radius
                down = abs(y + 0.5 - top - height / 2) - height / 2 + radius
                distance = (max(across, 0) ** 2 + max(down, 0) ** 2) ** 0.5 + min(max(across, down), 0) - radius
                part = min(1, max(0, 0.5 - distance))
                for channel in range(3):
                    at = 3 * x + channel
                    rows[y][at] += round((colour[channel] - rows[y][at]) * part)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    # 8 bits each of red, green and blue; no filter.
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def hashed_names(target, text):
    """A text with the names of the bundled files in place of those of the sources."""
    names = {".".join(match.groups()): each.name for each in target.iterdir() if (match := HASHED.fullmatch(each.name))}
    return re.sub(rf'"{ADDRESS}([^"]+)"', lambda match: f'"{ADDRESS}{names.get(match[1], match[1])}"', text)


def imports(target, name):
    """The scripts that a script imports at once, and those that they import."""
    found = re.findall(rf'(?:from|import)"{ADDRESS}([^"]+)"', (target / name).read_text())
    return [each for one in found for each in [one, *imports(target, one)]]


def page(source, target, name):
    """The page with the names of the bundled files, and its own script in it."""
    html = hashed_names(target, re.sub(r"^ +", "", (source / name).read_text(), flags=re.M))
    script = subprocess.run(["esbuild", "--bundle", "--format=iife", "--minify", str(source / INLINE)], check=True, capture_output=True, text=True).stdout.strip()
    html = html.replace(f'<script src="{ADDRESS}{INLINE}"></script>', f"<script>{script}</script>")
    # So is the icon, and the first script where it is small: a request takes a kilobyte of the line.
    icon = quote((source / ICON).read_text().strip().replace('"', "'"), safe=SAFE)
    html = re.sub(rf'"{ADDRESS}icon\.\w+\.svg"', f'"data:image/svg+xml,{icon}"', html)
    # What the scripts import: a browser would find it only in them.
    scripts = re.findall(rf'<script type="module" src="{ADDRESS}([^"]+)"', html)
    first = {each: None for script in scripts for each in imports(target, script) if each not in scripts}
    for each in scripts:
        text = (target / each).read_text().strip()
        if len(text) <= SMALL:
            html = html.replace(f'<script type="module" src="{ADDRESS}{each}">', f'<script type="module">{text}')
            (target / each).unlink()
    preloads = "".join(f'<link rel="modulepreload" href="{ADDRESS}{each}">\n' for each in first)
    html = html.replace("</head>", f"{preloads}</head>")
    # Where nothing is shown, lines end nothing.
    html = re.sub(r"<head>.*?</head>|<svg class=\"icons\".*?</svg>", lambda part: part[0].replace(">\n<", "><"), html, flags=re.S)
    # So it is beside blocks.
    html = re.sub(rf"\n+(?=</?{BLOCK}\b)", "", re.sub(rf"(</?{BLOCK}\b[^>]*>)\n+", r"\1", html))
    missing = [each for each in re.findall(rf'"{ADDRESS}([^"]+)"', html) if not (target / each).exists()]
    if missing:
        sys.exit(f"error: {name} mentions files that do not exist: {', '.join(missing)}")
    (target / name).write_text(html)


def swift(path):
    """The file as a value of Swift: its text as it is, and its compressed bytes in Base64, which the compiler takes at once."""
    content = path.read_bytes()
    if path.suffix == ".png":
        return f'''        WebFile(
            name: "{path.name}", isHashed: true, digest: "{digest(content).hexdigest()[:24]}", base64: "{base64.b64encode(content).decode()}"),
'''
    text = content.decode()
    if "\r" in text or '"""####' in text:
        sys.exit(f"error: {path.name} has a carriage return or \"\"\"####, which the literal in Swift cannot have")
    scripts = [base64.b64encode(digest(script.encode()).digest()).decode() for script in re.findall(r"<script[^>]*>(.+?)</script>", text, re.S)]
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
