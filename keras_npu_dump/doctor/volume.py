"""How much a dump will take, where an earlier run or a rehearsal has shown the graphs."""
import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.analysis.dump_files import GraphCache
from keras_npu_dump.analysis.dump_size import DumpForm, DumpSize, Size, tensors_in
from keras_npu_dump.analysis.views import PairView
from keras_npu_dump.capture.process.forecast import remaining
from keras_npu_dump.collector.collect import collect
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import DumpError, FormatError
from keras_npu_dump.formats import tree
from keras_npu_dump.records.layout import MANIFEST_FILE, RUNS
from keras_npu_dump.records.manifest import Manifest, ManifestRun, Pair, load_manifest
from keras_npu_dump.sizes import human_bytes

_MOST_RUNS = 20  # that are looked at, the latest first
_MOST_STEPS = 3  # of each graph whose files' times are read
_ONCE = ("iterator", "init")  # roles of graphs that run at the begin, not once for each batch


class GraphVolume(NamedTuple):
    """What a graph will dump.

    Attributes:
      name: of the graph.
      role: as in the manifest.
      steps: how many executions, if it runs as often as it did; where nobody has counted that,
        all that are asked.
      asked: how many are asked, however often it runs; None for all executions.
      bytes: of one of them, without the operators of unknown size; None where nothing shows it.
      seconds: that writing one of them took; None where nobody knows.
      unknown: how many operators have tensors whose shapes are known only when it runs.
    """

    name: str
    role: str
    steps: int
    asked: Optional[int]
    bytes: Optional[int]
    seconds: Optional[float]
    unknown: int = 0

    def words(self) -> str:
        """How often, and how much each time."""
        text = "%s %d x %s" % (self.name, self.steps, "a size that neither its files nor its"
                               " graph show" if self.bytes is None else human_bytes(self.bytes))
        if self.bytes is not None and self.unknown:
            text += " and what %s, whose shapes are known only when they run" % (
                "1 operator takes" if self.unknown == 1 else "%d operators take" % self.unknown)
        return text


class Volume(NamedTuple):
    """What the options asked for will take, by what an earlier run has shown.

    Attributes:
      run_id: of the earlier run.
      emulated: whether that was a rehearsal with the emulator.
      graphs: the largest first.
      complete: False where the number or size of some steps is not known.
    """

    run_id: str
    emulated: bool
    graphs: List[GraphVolume]
    complete: bool

    @property
    def bytes(self) -> int:
        """Of all that is known, for one process."""
        return sum(one.steps * (one.bytes or 0) for one in self.graphs)

    @property
    def bytes_if_longer(self) -> int:
        """Of all executions that are asked, as in a training that is longer than that run."""
        return sum((one.steps if one.asked is None else one.asked) * (one.bytes or 0)
                   for one in self.graphs)

    @property
    def seconds(self) -> Optional[float]:
        """That writing takes, as it went in the earlier run; None where that is not known."""
        known = [one.steps * one.seconds for one in self.graphs if one.seconds is not None]
        return sum(known) if known else None

    def to_json(self) -> Dict[str, Any]:
        """As a part of doctor's document."""
        return {"run_id": self.run_id, "emulated": self.emulated, "bytes": self.bytes,
                "bytes_if_longer": self.bytes_if_longer, "seconds": self.seconds,
                "complete": self.complete, "graphs": [one._asdict() for one in self.graphs]}

    def words(self) -> str:
        """As a sentence."""
        text = "%s%s" % ("about " if self.complete else "at least ", human_bytes(self.bytes))
        if self.seconds is not None:
            text += " and %s of writing" % _time(self.seconds)
        parts = [one.words() for one in self.graphs if one.steps]
        parts[3:] = ["%d smaller graphs" % (len(parts) - 3)] if len(parts) > 3 else []
        if self.bytes_if_longer > self.bytes:
            parts.append("it did not reach all that is asked: %s in a training that does" %
                         human_bytes(self.bytes_if_longer))
        return "%s for each process, as in %s%s (%s)" % (
            text, self.run_id, ", which was emulated" if self.emulated else "", ", ".join(parts))


def foresee(config: DumpConfig, dump_path: str) -> Optional[Volume]:
    """What a dump with these options will take.

    Args:
      config: what would be asked for.
      dump_path: absolute; where earlier runs are looked for.

    Returns:
      None for overflow detection, and where no earlier run has dumped a training graph.
    """
    steps = config.dumped_steps
    if steps is None or config.enable_dump_debug:
        return None
    manifest = _latest(dump_path)
    if manifest is None:
        return None
    run = manifest.runs[0]
    wanted = DumpForm(config.dump_data, config.dump_mode, frozenset(config.layers))
    graphs, complete = [], True
    for pair in manifest.pairs:
        number = _number(steps, _indices(manifest, run, pair), pair)
        complete = complete and number is not None
        size, seconds = _of_pair(manifest, run, pair, wanted)
        graphs.append(GraphVolume(
            pair.model_names[0] if pair.model_names else "a graph without a name", pair.role,
            number or 0, None if steps.is_all else _number(steps, None, pair),
            None if size is None else size.bytes, seconds, 0 if size is None else size.unknown))
    graphs.sort(key=_rank)
    complete = complete and all(
        one.bytes is not None and not one.unknown or not one.steps for one in graphs)
    return Volume(run.run_id, bool(run.emulated), graphs, complete)


def _rank(one: GraphVolume) -> Tuple[bool, bool, int]:
    """A sort key: training graphs whose size nobody knows are worth the first word."""
    return (one.bytes is not None or one.role != "train", one.bytes is not None,
            -one.steps * (one.bytes or 0))


def _latest(dump_path: str) -> Optional[Manifest]:
    """The manifest of the latest run that has dumped a training graph."""
    try:
        names = sorted(os.listdir(os.path.join(dump_path, RUNS)), reverse=True)
    except OSError:
        return None
    for name in names[:_MOST_RUNS]:
        try:
            manifest = load_manifest(os.path.join(dump_path, RUNS, name, MANIFEST_FILE))
        except DumpError:
            try:
                manifest = collect(dump_path, run_id=name, budget=0, write=False)
            except DumpError:
                continue
        if manifest.runs and any(pair.role == "train" and any(step.bytes for step in pair.steps)
                                 and not pair.steps[0].kinds.get("overflow")
                                 for pair in manifest.pairs):
            return manifest
    return None


class _Ran(NamedTuple):
    """How often a graph ran: executions, and those among them in which the data ended."""

    executions: int
    aborted: List[int]


def _indices(manifest: Manifest, run: ManifestRun, pair: Pair) -> Optional[_Ran]:
    """How often the graph ran; None where nobody has counted it."""
    name = next((one.name for one in manifest.graphs if one.file == pair.graph), None)
    told = run.executions.get(name or "") or {}
    count = told.get("count")
    return _Ran(count, list(told.get("aborted") or ())) if isinstance(count, int) else None


def _number(steps: StepSet, ran: Optional[_Ran], pair: Pair) -> Optional[int]:
    """How many executions of a graph will be dumped; None where nobody knows."""
    if pair.role in _ONCE:
        return int(0 in steps)
    count = remaining(steps, -1, None if ran is None else ran.executions)
    if count is None or ran is None:
        return count
    return count - sum(1 for index in ran.aborted if index in steps)


def _of_pair(manifest: Manifest, run: ManifestRun, pair: Pair,
             wanted: DumpForm) -> Tuple[Optional[Size], Optional[float]]:
    """Bytes and seconds of an execution, as far as they are known."""
    options = run.options
    before = DumpForm(options.get("dump_data") or "tensor", options.get("dump_mode") or "output",
                    frozenset(str(options.get("dump_layer") or "").split()))
    measured = _middle(pair)
    seconds = _seconds(manifest, pair)
    if wanted == before:
        return (Size(measured, 0) if measured else None), seconds
    size = _reckoned(manifest, pair, before, wanted)
    if seconds is not None:
        # The time of statistics is the device's: that of their tensors is more than enough.
        known = wanted.data == before.data and size is not None and measured
        seconds = (seconds * (0 if size is None else size.bytes) / (measured or 1) if known
                   else seconds if wanted.data == "stats" else None)
    return size, seconds


def _middle(pair: Pair) -> int:
    """The bytes of the execution in the middle; 0 where none has any."""
    sizes = sorted(filter(None, (sum(one.bytes for one in parts)
                                 for _, parts in pair.executions())))
    return sizes[len(sizes) // 2] if sizes else 0


def _reckoned(manifest: Manifest, pair: Pair, before: DumpForm, wanted: DumpForm) -> Optional[Size]:
    """The bytes of an execution that is dumped in another way than it was."""
    view = PairView(manifest, pair, GraphCache(), pair.confidence)
    steps = sorted((step for step in view.steps if any(one.bytes for one in step.records)),
                   key=lambda step: sum(one.bytes for one in step.records))
    if not steps:
        return None
    try:
        tensors = tensors_in(steps[len(steps) // 2].folders, view.file_names)
        sizes = DumpSize(view.operators, tensors, before, view.described)
        size = sizes.of(wanted)
    except (OSError, FormatError):
        return None
    # Nothing was found: no tensor to be read, and no shape.
    return None if not (tensors or size.bytes) else size


def _seconds(manifest: Manifest, pair: Pair) -> Optional[float]:
    """From the first to the last file of a step, by the times in their names."""
    spans = []
    for _, parts in pair.executions()[:_MOST_STEPS]:
        try:
            files = [file for one in parts
                     for file in tree.list_files(manifest.absolute(one.path))]
        except OSError:
            continue
        times = [file.dump.timestamp for file in files if file.dump is not None]
        if len(times) > 1:
            spans.append((max(times) - min(times)) / 1e6)
    return sorted(spans)[len(spans) // 2] if spans else None


def _time(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return "%d seconds" % seconds if seconds < 100 else "%.0f minutes" % (seconds / 60)
