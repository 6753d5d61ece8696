"""Hostile things that can lie at a path where a file or folder of a dump could lie."""
import os
import socket
import stat

TERABYTE = 1 << 40


def _fifo(tree, path):
    os.mkfifo(path)


def _socket(tree, path):
    # A socket's address is short: bound by a name relative to its folder.
    before = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("s")
            os.rename("s", path)
    finally:
        os.chdir(before)


def _device(tree, path):
    """A device that never ends, or one that is never done; a link where only root may."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError:
        os.symlink("/dev/zero", path)


def _link(target):
    def make(tree, path):
        os.symlink(target, path)
    return make


def _link_to_itself(tree, path):
    os.symlink(os.path.basename(path), path)


def _link_up(tree, path):
    os.symlink(tree.rng.choice([tree.dump, "..", "../.."]), path)


def _link_out(name):
    def make(tree, path):
        os.symlink(os.path.join(tree.box, "canary", name), path)
    return make


def _sparse(tree, path):
    with open(path, "wb") as stream:
        stream.truncate(TERABYTE)


def _folder(tree, path):
    os.mkdir(path)


def _full_folder(tree, path):
    os.mkdir(path)
    for name in ("a", "MatMul.x.1.2.1700000000000000", "run.json"):
        with open(os.path.join(path, name), "w") as stream:
            stream.write("{}")


def _garbage(tree, path):
    with open(path, "wb") as stream:
        stream.write(bytes(tree.rng.randrange(256) for _ in range(tree.rng.choice((1, 64, 5000)))))


def _zeros(tree, path):
    with open(path, "wb") as stream:
        stream.write(bytes(tree.rng.choice((1, 8, 4096))))


def _empty(tree, path):
    open(path, "wb").close()


def _deep(tree, path):
    """Folders in folders, beyond PATH_MAX; at the end what looks like a dump."""
    os.mkdir(path)
    handle = os.open(path, os.O_RDONLY)
    name = tree.rng.choice(["a", "d" * 40, "20300317174640", "0"])
    for _ in range(tree.rng.choice((70, 300))):
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("MatMul.x.1.2.1700000000000000", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


# Each makes what it is named after at a path that is free.
THINGS = {
    "fifo": _fifo,
    "socket": _socket,
    "device": _device,
    "link to zeros": _link("/dev/zero"),
    "link to a full disk": _link("/dev/full"),
    "link to random": _link("/dev/urandom"),
    "link to memory": _link("/proc/self/mem"),
    "link to the terminal": _link("/dev/stdin"),
    "dangling link": _link("nothing/there"),
    "link to itself": _link_to_itself,
    "link up": _link_up,
    "link to everything": _link("/"),
    "link to a folder outside": _link_out("folder"),
    "link to a file outside": _link_out("file"),
    "terabyte": _sparse,
    "folder": _folder,
    "full folder": _full_folder,
    "deep folders": _deep,
    "garbage": _garbage,
    "zeros": _zeros,
    "empty file": _empty,
}
# Not a file and not a folder: never read, wherever it lies, and so nothing else changes.
NEVER_READ = [name for name in THINGS if name in (
    "fifo", "socket", "device") or "link" in name]
