"""Where the dump folder lies, seen before training starts: room, mount, container and name."""
import os
import re
import socket
from typing import List, NamedTuple, Optional, Sequence, Tuple

# Folders of these file systems are gone with the container, wherever they are mounted.
_FLEETING = frozenset(("tmpfs", "ramfs", "overlay", "overlayfs", "aufs", "fuse-overlayfs"))
_RUNTIMES = re.compile(r"docker|kubepods|containerd|libpod|lxc|/ecs/|isulad|buildkit")
# What the vendor's comparator takes (msprobe, FileCheckConst.FILE_VALID_PATTERN).
_COMPARABLE = re.compile(r"[a-zA-Z0-9_.:/-]+")


class Mount(NamedTuple):
    """Where a folder lies.

    Attributes:
      point: the folder that the file system is mounted on.
      kind: type of the file system, such as "overlay" or "ext4".
    """

    point: str
    kind: str


def in_container(root: str = "/", environment: Optional[Sequence[str]] = None) -> bool:
    """Whether this process runs in a container (docker, podman, Kubernetes, lxc, ...).

    Args:
      root: of the file system that is looked at. Defaults to this process's.
      environment: names of variables. Defaults to those of this process.
    """
    names = os.environ if environment is None else environment
    if "container" in names or "KUBERNETES_SERVICE_HOST" in names:
        return True
    if any(os.path.exists(os.path.join(root, name)) for name in (
            ".dockerenv", "run/.containerenv")):
        return True
    try:
        with open(os.path.join(root, "proc/1/cgroup"), encoding="utf-8", errors="replace") as file:
            return _RUNTIMES.search(file.read()) is not None
    except OSError:
        return False


def mount_of(path: str, mountinfo: str = "/proc/self/mountinfo") -> Optional[Mount]:
    """The mount that holds a path.

    Args:
      path: of a file or folder, which need not exist.
      mountinfo: a file in the form of proc(5) mountinfo. Defaults to this process's own.

    Returns:
      The innermost mount; None where Linux does not tell.
    """
    path = os.path.realpath(path)
    found: Optional[Mount] = None
    try:
        with open(mountinfo, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return None
    for line in lines:
        mount = _parse_mount(line)
        if mount is not None and (path + "/").startswith(mount.point.rstrip("/") + "/") and (
                found is None or len(mount.point) >= len(found.point)):
            found = mount  # of two mounts on one point the later one is seen
    return found


def _parse_mount(line: str) -> Optional[Mount]:
    """A line of proc(5) mountinfo: ... mount point (octal escapes) ... - type source options."""
    left, dash, right = line.partition(" - ")
    fields = left.split()
    if not dash or len(fields) < 5 or not right.split():
        return None
    point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[4])
    return Mount(point, right.split()[0])


def container_warning(path: str, contained: Optional[bool] = None,
                      mount: Optional[Mount] = None) -> Optional[str]:
    """A sentence if the folder is lost with the container that this process runs in.

    Args:
      path: of the folder.
      contained: whether it is a container. Defaults to a look.
      mount: that holds the folder. Defaults to a look.

    Returns:
      The sentence; None where the folder stays, and where Linux does not tell.
    """
    if not (in_container() if contained is None else contained):
        return None
    mount = mount or mount_of(path)
    if mount is None or (mount.point != "/" and mount.kind not in _FLEETING):
        return None
    return ("The dump folder lies inside this container (host name %s) and not on a mount: it is"
            " gone with the container. Mount a folder of the host there, or copy it out in time."
            % host())


def host() -> str:
    """The host's name; of a container usually its id, which `docker cp` takes."""
    return socket.gethostname()


def name_warning(path: str) -> Optional[str]:
    """A sentence if the vendor's comparator will refuse the path; None if it takes it."""
    if _COMPARABLE.fullmatch(path):
        return None
    strange = sorted(set(re.sub(_COMPARABLE, "", path)))
    return ("The vendor's comparator refuses paths with %s, as this dump folder's has; every"
            " command of keras-npu-dump takes them." % _spell(strange))


def _spell(characters: List[str]) -> str:
    shown = ["a blank" if character == " " else repr(character) for character in characters[:5]]
    return ", ".join(shown)


def warnings_of(path: str) -> List[Tuple[str, str]]:
    """All warnings of a dump folder, as (code, sentence)."""
    found = [("in-container", container_warning(path)), ("path-name", name_warning(path))]
    return [(code, text) for code, text in found if text is not None]
