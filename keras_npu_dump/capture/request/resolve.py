"""From what was asked for and what is there to what will be dumped: one pure function.

It reads nothing and changes nothing, so that every case can be tried with plain values;
`attach.start` looks at the process first, and `set_up` applies the answer once.
"""
from types import MappingProxyType
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from keras_npu_dump import ranks, ways_out
from keras_npu_dump.capture.request import command_line, contradictions
from keras_npu_dump.capture.request.command_line import Differing
from keras_npu_dump.capture.request.situation import RUN, Situation
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import DeviceOpenedError

# What becomes of a request.
CONFIGURE = "configure"  # the device is not open yet and is given the options
ATTACH = "attach"  # it is open; what it was opened with is recorded and counted
JOIN = "join"  # this process has a capture, and it is the same dump
NOTHING = "nothing"  # it was opened without dump

_NOTHING_SET: Mapping[str, Optional[str]] = MappingProxyType({})
_NOT_CHOSEN = "Rank %s is none of data_dump_ranks: it dumps nothing, its records go to %s"


class ResolvedDump(NamedTuple):
    """What will be dumped.

    Attributes:
      action: CONFIGURE, ATTACH, JOIN or NOTHING.
      config: what this process dumps, its folder absolute; off on a rank that was not chosen.
      asked: what all ranks were asked for, its folder absolute.
      said_path: the folder in the words of who asked.
      remarks: what the user must be told.
      notes: what is as it was asked for, and good to know.
      faces: who has asked, the launcher first where its command line was taken along.
      differing: what the script has asked for that does not hold.
      settings: options of the device to set, beside those of `config`: what the script has
        set there itself.
    """

    action: str
    config: DumpConfig
    asked: DumpConfig
    said_path: str
    remarks: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()
    faces: Tuple[str, ...] = ()
    differing: Tuple[Differing, ...] = ()
    settings: Mapping[str, Optional[str]] = _NOTHING_SET


def resolve(config: DumpConfig, who: str, situation: Situation) -> ResolvedDump:
    """Decides what becomes of a request for a dump.

    Args:
      config: the request; it is not off.
      who: the caller's name, for messages.
      situation: the process as it is.

    Returns:
      A ResolvedDump.

    Raises:
      ConfigError: the script itself, or an earlier request, asks for another dump; the
        ranks are none of this job's; or the folder is relative, and the working directory
        was deleted.
      DeviceOpenedError: the device was opened with other options, or, with `strict`,
        without dump.
    """
    held, cluster = situation.held, situation.cluster
    request = command_line.merge(config, who, situation)
    if held is None and not situation.opened:
        ranks.refuse_nonsense(cluster)
    chosen, remarks = ranks.is_chosen(request.config.ranks, cluster)
    adopted = contradictions.settle(request.comparisons, who, chosen)
    if held is not None:
        # On a rank that was not chosen nothing was set in the device.
        differing, settings = (request.differing, request.settings) if (
            chosen or who != RUN) else ((), _NOTHING_SET)
        return ResolvedDump(JOIN, held.asked, held.asked, held.said_path, faces=request.faces,
                            differing=differing, settings=settings)
    action = ATTACH if situation.opened else CONFIGURE
    notes: Tuple[str, ...] = ()
    asked: Dict[str, Any] = dict(adopted, dump_path=request.path)
    here = dict(asked, **request.opened_with)
    if action == CONFIGURE and not chosen:
        here.update(enable_dump=False, enable_dump_debug=False)
        notes = (_NOT_CHOSEN % (cluster.rank, request.path),)
    elif action == ATTACH and chosen and not here["enable_dump"] and not here["enable_dump_debug"]:
        action, remarks = NOTHING, (*remarks, _opened_without_dump(who))
        if request.config.strict:
            raise DeviceOpenedError(remarks[-1])
    explicit = request.config.explicit
    return ResolvedDump(action, request.config.replace(explicit=explicit, **here),
                        request.config.replace(explicit=explicit, **asked), request.said_path,
                        remarks, notes, request.faces, request.differing, request.settings)


def _opened_without_dump(who: str) -> str:
    return "npu_device was opened without dump, so nothing will be dumped. %s%s." % (
        ways_out.in_time("make %s before npu_device.open()" % who), ways_out.or_run())
