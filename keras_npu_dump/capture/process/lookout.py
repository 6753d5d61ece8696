"""Is what this process has put on disk still there?

Scripts clear folders, people free disks, and caretakers of machines tidy up while a
training runs. What of it is seen is told soon, and once; what this process knows itself is
written again; and the journal keeps what was lost, so that nobody takes it for a fault of
the device later.
"""
import glob
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Set

from keras_npu_dump import messages, outages
from keras_npu_dump.capture.device import environment
from keras_npu_dump.capture.device.dump_folder import first_time_folder
from keras_npu_dump.files.paths import relative_to
from keras_npu_dump.formats import names
from keras_npu_dump.formats.tree import numeric_key
from keras_npu_dump.records import journal_lines

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture

# A look at folders takes at most this part of the time that passes.
_SHARE = 0.02
_MANY = 1000  # step folders that are listed by their numbers


class _Listing:
    """The entries of a folder that were there once."""

    def __init__(self, path: str, counts: Callable[[str], bool]):
        self.path = path
        self._counts = counts
        self._seen: Set[str] = set()
        self._stamp: Any = None

    def gone(self) -> List[str]:
        """Entries that are not there any more; each is named once."""
        try:
            info = os.stat(self.path)
            stamp = (info.st_dev, info.st_ino, info.st_mtime_ns)
            if stamp == self._stamp:
                return []
            entries = {name for name in os.listdir(self.path) if self._counts(name)}
        except (FileNotFoundError, NotADirectoryError):
            stamp, entries = None, set()
        except OSError:
            return []  # nobody knows
        gone = self._seen - entries
        self._seen, self._stamp = entries, stamp
        return sorted(gone, key=numeric_key)


class Lookout:
    """Looks at records, graph files and dump data of a capture.

    Args:
      capture: of this process.

    Attributes:
      lost: what was seen to be deleted, in words, a text for each kind.
    """

    def __init__(self, capture: "Capture"):
        self._capture = capture
        self._lock = threading.RLock()
        self._next = 0.0
        self._graphs: Optional[_Listing] = None
        self._steps: Dict[int, List[_Listing]] = {}
        self.lost: Dict[str, str] = {}

    def look(self, thorough: bool = False, restore: bool = True) -> None:
        """Looks at the records, and at the folders if the last look is long enough ago.

        Args:
          thorough: at the folders in any case.
          restore: write again what is gone of the records. Not from another thread than
            the training's: whoever is deleting there just now would find new files.
        """
        with self._lock:
            capture = self._capture
            if not (capture.journal.is_in_place() and os.path.isdir(capture.record.folder)
                    and os.path.exists(capture.record.path)):
                self._miss_records(restore)
            if self._capture.config.is_off or (
                    not thorough and time.monotonic() < self._next):
                return
            begin = time.monotonic()
            try:
                self._look_at_graphs()
                self._look_at_steps()
            except (OSError, MemoryError) as error:
                outages.tell("looks at the dump folder", error, "The dump folder cannot be read")
            now = time.monotonic()
            self._next = now + (now - begin) / _SHARE

    def _miss_records(self, restore: bool) -> None:
        capture = self._capture
        path = _first_missing(capture.dump_path, capture.record.path)
        if path is None:
            path = capture.journal.path
        whole = path == capture.dump_path or not _is_below(path, capture.dump_path)
        hindrance = capture.make_folders_again() if restore else None
        if hindrance is not None:
            # It is missing at every look from now on.
            self._tell("hindered", "%s was deleted, and training goes on without it", path,
                       then=", as it cannot be made again: %s" % hindrance)
            return
        if whole:
            self._tell("all", "%s was deleted", path, then=" after npu_device.open(); it is made"
                       " again, and what was in it is lost. Clear folders before.")
        else:
            self._tell("records", "%s was deleted or replaced", path,
                       then=" while training runs; the records of this run are written again.")
        if not restore:
            return
        capture.record.write()
        capture.journal.restart()
        self._note("all" if whole else "records", path)

    def _look_at_graphs(self) -> None:
        if self._graphs is None:
            folder = environment.graph_folder()
            own = glob.glob(os.path.join(glob.escape(folder), "*%d_*" % self._capture.pid))
            if not own:
                return
            self._graphs = _Listing(own[0], lambda name: "_Build" in name)
        gone = self._graphs.gone()
        if gone:
            self._tell("graphs", "graph files (%d) were deleted from %s", len(gone),
                       self._graphs.path, then=" while training runs: what ran in them cannot be"
                       " shown any more.")
            self._note("graphs", self._graphs.path)

    def _look_at_steps(self) -> None:
        for section in list(self._capture.journal.sections):
            if section.number not in self._steps:
                found = self._folders_of(section.graph_name)
                if not found:
                    continue
                self._steps[section.number] = [_Listing(one, str.isdigit) for one in found]
            for listing in self._steps[section.number]:
                gone = listing.gone()
                if gone:
                    self._tell("steps", "the dump of data_index %s was deleted from %s",
                               "|".join(gone[:10]) + ("|..." if len(gone) > 10 else ""),
                               listing.path, then=" while training runs.")
                    self._note("steps", listing.path, data_index=[int(one) for one in gone[:_MANY]],
                               of_section=section.number)

    def found(self, section: Any, step_folder: str) -> None:
        """The watcher has found where the steps of a section come to.

        Args:
          section: of the journal.
          step_folder: of the first dumped execution; the others come beside it.
        """
        with self._lock:
            if section.number not in self._steps:
                self._steps[section.number] = [_Listing(os.path.dirname(step_folder), str.isdigit)]

    def sees_steps(self) -> bool:
        """Whether any training function whose name is known has dumped a step."""
        return any(self._folders_of(one.graph_name) for one in self._capture.journal.sections)

    def _folders_of(self, graph_name: Optional[str]) -> List[str]:
        """Where the steps of a graph come to, once it is known and there."""
        if graph_name is None:
            return []
        capture = self._capture
        oldest = first_time_folder(capture.since)
        name = glob.escape(names.sanitise(graph_name))
        device = capture.record.fields["device"]
        found: List[str] = []
        for between in ((), ("[0-9]*",)):  # two time folders on the newest chips
            found += glob.glob(os.path.join(
                glob.escape(capture.dump_path), "[0-9]*", *between + (
                    "*" if device is None else str(device), name + "*", "[0-9]*")))
        times = (relative_to(one, capture.dump_path).split(os.sep)[0] for one in found)
        fits = re.compile(re.escape(names.sanitise(graph_name)) + r"(_.*)?$")
        return [one for one, when in zip(found, times) if when >= oldest and fits.match(
            os.path.basename(os.path.dirname(one)))]

    def _tell(self, kind: str, text: str, *values: Any, then: str) -> None:
        """Tells the first loss of its kind: what was deleted, `then` what follows."""
        known = {kind, "all", "hindered"} & set(self.lost)  # of a whole folder all is told
        if not known or (kind == "all" and known == {"hindered"}):
            self.lost[kind] = text % values
            text = self.lost[kind]
            messages.warning("%s%s", text[0].upper() + text[1:], then)

    def _note(self, what: str, path: str, **fields: Any) -> None:
        capture = self._capture
        capture.journal.write(
            journal_lines.LOST, what=what, path=relative_to(path, capture.dump_path),
            executions=sum(one.index for one in capture.journal.sections), **fields)


def _first_missing(root: str, path: str) -> Optional[str]:
    """The outermost part of `path` that is not there; `root` must be a folder."""
    missing = None
    while path != os.path.dirname(path):
        if not os.path.exists(path) or (path == root and not os.path.isdir(path)):
            missing = path
        path = os.path.dirname(path)
    return missing


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))
