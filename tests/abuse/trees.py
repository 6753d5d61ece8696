"""A box with a dump in it that is made hostile, and things around it that must stay."""
import os
import random
import shutil
import stat
import subprocess

from tests.kept.unpacking import NAMES, unpack

# Deeper than this nothing is compared: one kind nests folders beyond PATH_MAX.
_DEPTH = 40


class Tree:
    """A copy of a kept dump, in a box of its own.

    Attributes:
      box: holds dump/, out/ (where commands may write), work/ (where they run) and
        canary/ (what nobody may touch; links of the dump point there).
      rng: all that is drawn for this tree.
      hostile: paths of what was put in or changed.
      told: what was done, for people.
    """

    def __init__(self, base, box, seed):
        self.base = base
        self.box = str(box)
        self.rng = random.Random(seed)
        self.dump = os.path.join(self.box, "dump")
        self.hostile = []
        self.told = []
        shutil.copytree(base.dump, self.dump, symlinks=True)
        for name in ("out", "work", "canary/folder"):
            os.makedirs(os.path.join(self.box, name))
        for name in ("canary/file", "canary/folder/MatMul.x.1.2.1700000000000000"):
            with open(os.path.join(self.box, name), "w") as stream:
                stream.write("nobody reads or writes this\n")

    def path(self, *parts):
        return os.path.join(self.dump, *parts)

    def find(self, what):
        """Paths of one sort of file or folder of the untouched dump, in a fixed order."""
        return [self.path(one) for one in self.base.sorts[what]
                if os.path.lexists(self.path(one))]

    def one(self, what):
        """One of them, or None where earlier changes left none."""
        found = self.find(what)
        return self.rng.choice(found) if found else None

    def remove(self):
        # rm goes below paths that are too long for Python's own.
        subprocess.run(["rm", "-rf", "--", self.box], check=True)


class Base:
    """A kept dump, unpacked once; `sorts` says which of its files are what."""

    def __init__(self, name, folder):
        self.name = name
        path, _ = unpack(name, folder)
        self.dump = str(path)
        sorts = {one: [] for one in (
            "data", "build", "train_build", "run", "journal", "manifest", "run_manifest", "flags",
            "step", "model", "device", "time", "pid", "graphs", "runs", "run_folder")}
        for place, names, files in os.walk(self.dump):
            names.sort()
            below = os.path.relpath(place, self.dump)
            parts = [] if below == "." else below.split(os.sep)
            for one in sorted(files):
                sort = _sort_of_file(parts, one)
                if sort is not None:
                    sorts[sort].append(os.path.join(below, one))
            sort = _sort_of_folder(parts)
            if sort is not None:
                sorts[sort].append(below)
        largest = max(sorts["build"], key=lambda one: os.path.getsize(
            os.path.join(self.dump, one)))
        sorts["train_build"].append(largest)
        self.sorts = {name: [os.path.normpath(one) for one in found]
                      for name, found in sorts.items()}

    @property
    def is_data(self):
        """Whether it holds tensors of everything: no statistics, no overflow."""
        return self.name.endswith("tensor")


def _sort_of_file(parts, name):
    if not parts:
        return {"manifest.json": "manifest", "next.flags": "flags"}.get(name)
    if parts[0] == "runs":
        return {"run.json": "run", "iterations.jsonl": "journal",
                "manifest.json": "run_manifest"}.get(name)
    return "build" if parts[0] == "graphs" else "data"


def _sort_of_folder(parts):
    if not parts:
        return None
    if parts[0] in ("graphs", "runs"):
        return {1: parts[0], 2: "pid" if parts[0] == "graphs" else "run_folder"}[len(parts)]
    return {1: "time", 2: "device", 3: "model", 5: "step"}.get(len(parts))


def bases(folder):
    return [Base(name, os.path.join(str(folder), name)) for name in NAMES]


def look(root, content=False):
    """What lies below a folder: {relative path: kind, size, time, number, content}."""
    seen = {}
    root = os.fsencode(root)
    pending = [(root, 0)]
    while pending:
        place, depth = pending.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            kept = None
            if stat.S_ISLNK(status.st_mode):
                kept = os.readlink(entry.path)
            elif content and stat.S_ISREG(status.st_mode) and status.st_size < 1 << 20:
                with open(entry.path, "rb") as stream:
                    kept = stream.read()
            folder = stat.S_ISDIR(status.st_mode)
            # The time of a folder changes with what is legitimately written in it.
            seen[os.fsdecode(entry.path[len(root) + 1:])] = (
                status.st_mode, None if folder else (
                    status.st_size, status.st_mtime_ns, status.st_ino), kept)
            if folder and depth < _DEPTH:
                pending.append((entry.path, depth + 1))
    return seen
