"""What scripts/targets.py does to the build products of a package of two targets."""

import os
import shutil
import subprocess

import pytest

from support import CLIENTS

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "pair",
    targets: [
        .target(name: "Lower"), .executableTarget(name: "Upper", dependencies: ["Lower"]),
        .testTarget(name: "UpperTests", dependencies: ["Upper"], resources: [.copy("Fixtures")]),
    ])
"""
LOWER = "public struct Size {{ {private}public var number = 7; public init() {{}} }}\n"
UPPER = "import Lower\n\nprint(MemoryLayout<Size>.size, Size().number)\n"


@pytest.mark.patient
def test_products_of_another_layout_are_built_again(tmp_path):
    """A private stored property is no part of an interface; what was compiled for the size without it goes, and the build goes on."""
    for name, text in {
        "Package.swift": MANIFEST, "Sources/Lower/Size.swift": LOWER.format(private=""), "Sources/Upper/main.swift": UPPER,
        "Tests/UpperTests/None.swift": "\n", "Tests/UpperTests/Fixtures/golden": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "scripts").mkdir()
    shutil.copy(CLIENTS.parents[1] / "scripts" / "targets.py", tmp_path / "scripts")

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.split()

    def build():
        run("swift", "build", "--build-tests")
        return run("scripts/targets.py", "stale", ".build")

    def program():
        return run(".build/debug/Upper")

    assert build() == [] and program() == ["8", "7"]
    # The second time SwiftPM has nothing to plan.
    assert build() == []
    (tmp_path / "Sources/Lower/Size.swift").write_text(LOWER.format(private="private let other = 1; "))
    run("swift", "build", "--build-tests")
    # As an incremental build leaves it that compiles nothing above the changed module.
    for target in ("Upper", "UpperTests"):
        for product in (tmp_path / f".build/debug/{target}.build").iterdir():
            os.utime(product, (1, 1))
    assert {"Upper", "UpperTests"} <= set(run("scripts/targets.py", "stale", ".build"))
    assert build() == [] and program() == ["16", "7"]
