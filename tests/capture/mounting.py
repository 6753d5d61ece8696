"""File systems of a test's own, seen by its processes alone."""
import os
import shutil
import subprocess

import pytest

# As root a mount namespace is enough; others need to be root in a user namespace.
_WAYS = (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"])


def in_namespace(setup: str):
    """A command that mounts by `setup`, then runs the rest of its line; else skips the test."""
    probe = setup + " && true"
    reasons = []
    for way in _WAYS:
        try:
            done = subprocess.run(way + ["sh", "-c", probe], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, timeout=60)
        except OSError as error:
            reasons.append(str(error))
            continue
        if not done.returncode:
            return way + ["sh", "-c", setup + ' && exec "$@"', "sh"]
        reasons.append(done.stderr.decode(errors="replace").strip().splitlines()[-1])
    pytest.skip("this machine cannot mount: %s" % "; ".join(reasons))
    return []


def tmpfs(folder, options: str):
    """`folder`/d becomes a file system in memory, empty each time."""
    os.makedirs(os.path.join(str(folder), "d"))
    return in_namespace("mount -t tmpfs -o %s none '%s/d'" % (options, folder))


def ext4(folder):
    """`folder`/d becomes a small disk that stays; `remount,abort` makes it read-only in use."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("this machine has no mkfs.ext4")
    os.makedirs(os.path.join(str(folder), "d"))
    image = os.path.join(str(folder), "disk.img")
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True, stdout=subprocess.DEVNULL)
    return in_namespace("mount -o loop '%s' '%s/d'" % (image, folder))
