"""The capture of this very process: begun once, and in a forked child begun anew.

Two processes in one run folder would mix their counts.
"""
import os
from typing import Any, Optional

from keras_npu_dump import ranks
from keras_npu_dump.capture.counting import calls
from keras_npu_dump.capture.device import device_module, environment
from keras_npu_dump.capture.process import asking
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.capture.request.resolve import ResolvedDump
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files import streams
from keras_npu_dump.files.paths import relative_to
from keras_npu_dump.files.private_folders import make_new
from keras_npu_dump.records.journal import Journal
from keras_npu_dump.records.layout import JOURNAL_FILE, RUNS
from keras_npu_dump.records.run_record import RunIdentity, RunRecord, Surroundings, run_name


def begin(module: Any, resolved: ResolvedDump, cluster: ranks.Cluster) -> Capture:
    """Makes the run folder with its record and journal, and the capture that writes them.

    Args:
      module: npu_device.
      resolved: what is dumped; its folder exists.
      cluster: which of several processes this is.

    Raises:
      ConfigError: the record cannot be written.
    """
    streams.hold_places()
    config = resolved.config
    try:
        folder = make_new(os.path.join(config.dump_path, RUNS), run_name(cluster.rank))
        record = RunRecord(
            folder, config.recorded,
            RunIdentity(cluster.rank, cluster.size, cluster.device,
                        device_module.is_emulated(module)),
            lambda: Surroundings(environment.recorded_environment(),
                                 relative_to(environment.graph_folder(), config.dump_path)))
    except OSError as error:
        raise ConfigError("dump_path: expected a folder with room for the records of this run."
                          " Received: %r (%s)." % (config.dump_path, error.strerror or error)
                          ) from error
    journal = Journal(os.path.join(folder, JOURNAL_FILE), config.dumped_steps)
    capture = Capture(module, resolved, cluster, record, journal)
    calls.follow(capture)
    return capture


def existing_of_this_process(capture: Capture) -> Optional[Capture]:
    """The capture, or the one that a forked child has made of it; None where it has not."""
    known: Optional[Capture] = capture
    while known is not None and known.pid != os.getpid():
        known = known.forked
    return known


def of_this_process(capture: Capture) -> Capture:
    """The capture, or in a forked child one of its own, with the same options.

    The rank of a child is what its environment holds by now.

    Args:
      capture: of this process, or of the process that it was forked from.

    Raises:
      ConfigError: the child's rank is none of its job's, or its record cannot be written.
    """
    known = existing_of_this_process(capture)
    if known is not None:
        return known
    while capture.forked is not None:  # made by a parent that was itself forked
        capture = capture.forked
    module, resolved, cluster = capture.module, capture.resolved, ranks.read()
    opened = bool(device_module.opened_ids(module))
    if resolved.asked.ranks is not None and not opened:
        chosen, _ = ranks.is_chosen(  # the parent has told what there is to tell
            resolved.asked.ranks, cluster)
        resolved = resolved._replace(
            config=resolved.asked if chosen else resolved.asked.switched_off())
        device_module.write_options(module, resolved.config.npu_options)
    # What the parent keeps, and not more for a moment.
    resolved = resolved._replace(asked=resolved.asked.replace(
        explicit=resolved.asked.explicit, record=capture.kept))
    child = capture.forked = begin(module, resolved, cluster)
    child.kept_by_run = capture.kept_by_run
    child.faces = list(capture.faces)
    child.overruled = set(capture.overruled)
    for face in capture.record.fields["asked_by"]:
        asking.note_asked_by(child, face)
    asking.write_script(child)
    child.strict = capture.strict
    if opened:
        child.after_open()
    return child
