"""Small disks for one test."""

import contextlib
import subprocess


@contextlib.contextmanager
def tmpfs(directory, size):
    """Mounts a disk in memory on `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=False)
