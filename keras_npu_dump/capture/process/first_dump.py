"""A look at the dump folder after the first dumped iteration, in the background.

A dump that fails does so silently: better to know after a minute than after a night.
The watcher is a daemon thread that reads the file system and makes no files. When it knows, it
goes on seeing whether what was found stays there.
"""
import os
import threading
import time
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from keras_npu_dump import messages
from keras_npu_dump.capture.device import disk_space
from keras_npu_dump.capture.device.dump_folder import time_folders
from keras_npu_dump.capture.process.forecast import Forecast
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import DumpError
from keras_npu_dump.files.quoting import shell_word, terminal
from keras_npu_dump.formats import names, tree
from keras_npu_dump.op_types.graph_names import BESIDE_TRAINING
from keras_npu_dump.sizes import human_bytes

# Files are waited for until so many seconds and so many more executions have passed.
PATIENCE = 60.0
MORE_EXECUTIONS = 2
FIRST_LOOK, LONGEST_PAUSE = 0.2, 3.0
_SHARE = 0.02  # looks for further graphs take at most this part of the time that passes


class Wanted(NamedTuple):
    """What is looked for.

    Attributes:
      dump_path: root of the dump tree.
      data_index: of the first dumped iteration.
      since: seconds since 1970 before which this process had no session.
      device: number of the device; None where any will do.
      graph_name: of the training graph, where it is known.
      operators: names of operators of it; any in a file's name tells it, too.
      steps: all executions that are dumped, of every graph; None where it does not matter.
    """

    dump_path: str
    data_index: int
    since: float
    device: Optional[int]
    graph_name: Optional[str]
    operators: List[str]
    steps: Optional[StepSet] = None


class Arrival(NamedTuple):
    """What was found: a folder, how many files are in it, and their size in bytes."""

    folder: str
    files: int
    size: int


def look(wanted: Wanted) -> Optional[Arrival]:
    """The training graph's folder of `wanted.data_index`, the largest if several fit."""
    best: Optional[Arrival] = None
    for folder in _folders(wanted):
        if folder.data_index != wanted.data_index:
            continue
        files = [file for file in tree.list_files(folder.path) if file.size]
        if not files or not _is_training(folder.model_name or "", files, wanted):
            continue
        found = Arrival(folder.path, len(files), sum(file.size for file in files))
        if best is None or found.size > best.size:
            best = found
    return best


def _folders(wanted: Wanted) -> List[Any]:
    """The step folders of this process."""
    folders = []
    for name in time_folders(wanted.dump_path, wanted.since):
        folders += [folder for folder in tree.walk_steps(os.path.join(wanted.dump_path, name))
                    if wanted.device is None or folder.device in (None, wanted.device)]
    return folders


def _is_training(model_name: str, files: List[Any], wanted: Wanted) -> bool:
    if wanted.graph_name is None and not wanted.operators:
        return not model_name.startswith(BESIDE_TRAINING)
    if wanted.graph_name is not None:
        name = names.sanitise(wanted.graph_name)
        if model_name == name or model_name.startswith(name + "_"):
            return True
    # GE may name graphs its own way; fused operators carry the names of what they fuse.
    known = [names.sanitise(name) for name in wanted.operators]
    return any(name in (file.full_name or file.name) for file in files for name in known)


class Watcher(threading.Thread):
    """Looks until the first dump is there, or should have been.

    Args:
      wanted: what to look for.
      more: how many iterations are still to be dumped; None if nobody knows.
      executions: asks how many executions there were so far.
      fail: takes the DumpError that stops training; None where a warning will do.
      found: takes the folder of the first dump.
      afterwards: called every few seconds until the end; None ends the thread.
    """

    def __init__(self, wanted: Wanted, more: Optional[int], executions: Callable[[], int],
                 fail: Optional[Callable[[DumpError], bool]],
                 found: Callable[[str], None] = lambda folder: None,
                 afterwards: Optional[Callable[[], None]] = None):
        super().__init__(name="keras_npu_dump watcher", daemon=True)
        self._wanted = wanted
        self._more = more
        self._executions = executions
        self._fail = fail
        self._found = found
        self._afterwards = afterwards
        self._end = threading.Event()
        self._forecast: Optional[Forecast] = None
        self._next_forecast = 0.0

    def run(self) -> None:
        """What the thread does until `stop`, or until nothing is left to look for."""
        try:
            self._look()
            while self._afterwards is not None and not self._end.wait(LONGEST_PAUSE):
                self._afterwards()
                self._look_for_others()
        except Exception as error:
            # Whatever it is, training goes on: this thread has nobody to raise it to.
            messages.warning("The look at the dump folder failed: %s", error)

    def stop(self) -> None:
        """Ends the thread; it is not waited for longer than a look takes."""
        self._end.set()
        if self.is_alive() and threading.current_thread() is not self:
            self.join(1.0)

    def _look(self) -> None:
        deadline = time.monotonic() + PATIENCE
        enough = self._executions() + MORE_EXECUTIONS
        pause = FIRST_LOOK
        before: Optional[Arrival] = None
        while not self._end.wait(pause):
            try:
                found = look(self._wanted)
            except OSError:
                found = None  # deleted under our eyes
            if found is not None and found == before:
                self._found(found.folder)
                self._tell_found(found, *self._others(found))
                return
            before = found
            pause = min(pause * 1.5, LONGEST_PAUSE)
            if found is None and time.monotonic() > deadline and self._executions() >= enough:
                self._tell_missing()
                return

    def _others(self, found: Arrival) -> Tuple[List[str], int]:
        """What other graphs dump: their names, and how many bytes are to come of them."""
        wanted = self._wanted
        if wanted.steps is None:
            return [], 0
        self._forecast = Forecast(wanted.steps, lambda: _folders(wanted), found.folder, found.size)
        return self._forecast.at_once()

    def _tell_found(self, found: Arrival, others: List[str], beside: int) -> None:
        free = disk_space.free_bytes(self._wanted.dump_path)
        arrived = "The first dump is there: data_index %d, %d files, %s, in %s" % (
            self._wanted.data_index, found.files, _bytes(found.size), found.folder)
        if self._more is None:
            messages.info("%s; each further one takes as much, %s are free.", arrived,
                          _bytes(free))
            return
        needed = found.size * self._more + beside
        also = "" if not others else " (with what %s will dump)" % ", ".join(others[:3])
        if free is not None and needed > free:
            self._trouble(
                "%s. %d more are to be dumped, about %s%s, and only %s are free: dump fewer"
                " iterations, dump_data='stats', or fewer operators (dump_layer)."
                % (arrived, self._more, _bytes(needed), also, _bytes(free)))
        elif needed:
            messages.info("%s; %d more to come, about %s%s, %s are free.", arrived, self._more,
                          _bytes(needed), also, _bytes(free))
        else:
            messages.info("%s.", arrived)

    def _look_for_others(self) -> None:
        """Tells the graphs that dump beside the training graph: they take room, too."""
        if self._forecast is None or time.monotonic() < self._next_forecast:
            return
        begin = time.monotonic()
        try:
            told = self._forecast.look()
        except OSError:
            told = []  # deleted under our eyes
        now = time.monotonic()
        self._next_forecast = now + (now - begin) / _SHARE
        for text, needed in told:
            self._tell_other(text, needed)

    def _tell_other(self, text: str, needed: Optional[int]) -> None:
        free = disk_space.free_bytes(self._wanted.dump_path)
        if needed is None:
            messages.info("%s, and as much each further time; %s are free.", text, _bytes(free))
        elif free is not None and needed > free:
            self._trouble("%s. As often as was asked for that is up to %s more, and only %s are"
                          " free: dump fewer iterations, dump_data='stats', or fewer operators"
                          " (dump_layer)." % (text, _bytes(needed), _bytes(free)))
        elif needed:
            messages.info("%s; up to %s more to come of it, beside the training graph's, %s are"
                          " free.", text, _bytes(needed), _bytes(free))

    def _tell_missing(self) -> None:
        wanted = self._wanted
        self._trouble(
            "No dump of data_index %d%s has come to %s, %d s and %d executions after it:"
            " `keras-npu-dump collect %s` says what is there, `keras-npu-dump doctor` what may be"
            " wrong."
            % (wanted.data_index,
               "" if wanted.graph_name is None else " of " + wanted.graph_name,
               wanted.dump_path, PATIENCE, MORE_EXECUTIONS,
               shell_word(wanted.dump_path)))

    def _trouble(self, message: str) -> None:
        message = terminal(message)
        if self._fail is None:
            messages.warning("%s", message)
            return
        error = DumpError(message)
        # The batch hooks look only where something is to be dumped: keep knocking.
        while self._fail(error) and not self._end.wait(0.1):
            pass


def _bytes(count: Optional[int]) -> str:
    return "an unknown number of bytes" if count is None else human_bytes(count)
