"""Settings, not ours, that silence a dump or move its files, each told in a sentence.

Where they come from: the device's global options, and environment variables that GE
and the adapter read (semantics of GE's dump_manager.cc, graph_utils.cc; adapter
npu_env.h).
"""
import os
import re
from typing import Any, List, Mapping, NamedTuple, Optional

from keras_npu_dump.config.checks import level_has_build
from keras_npu_dump.config.dump_config import DumpConfig


class Silencer(NamedTuple):
    """A setting that is in the way of a dump.

    Attributes:
      code: stable and short, for programs.
      message: what it does, and what to change.
    """

    code: str
    message: str


def messages_of(module: Any, config: DumpConfig) -> List[str]:
    """The settings of others that keep a dump from its folder, a sentence each.

    Args:
      module: npu_device.
      config: what is dumped; where it is off nothing is in its way.
    """
    if config.is_off:
        return []
    return [one.message for one in of_environment() + of_options(module, config)]


def of_environment(environment: Optional[Mapping[str, str]] = None) -> List[Silencer]:
    """What environment variables do to a dump.

    Args:
      environment: variables by name. Defaults to `os.environ`.
    """
    values = os.environ if environment is None else environment
    found = []

    def tell(code: str, message: str) -> None:
        found.append(Silencer(code, message))

    if "NPU_COLLECT_PATH" in values:
        tell("collect-path", "NPU_COLLECT_PATH=%s switches exception dump on, which silences the"
             " data dump of graphs with dynamic shapes, and takes the graph files to"
             " extra-info/graph below it: unset it." % values["NPU_COLLECT_PATH"])
    if values.get("AOE_MODE"):
        tell("aoe", "AOE_MODE=%s: a tuning run is compiled another way and its graphs are not those"
             " of a training: unset it to dump." % values["AOE_MODE"])
    if _is_off(values.get("DUMP_GE_GRAPH")):
        tell("graph-off", "DUMP_GE_GRAPH=%s writes no graphs. Unset it, or set it to 2, to get the"
             " graph that belongs to the dump." % values["DUMP_GE_GRAPH"])
    level = values.get("DUMP_GRAPH_LEVEL")
    if level is not None and not level_has_build(level):
        tell("graph-level", "DUMP_GRAPH_LEVEL=%s leaves out the executed graphs (Build). Unset it,"
             " or set it to 3." % level)
    form = values.get("DUMP_GRAPH_FORMAT")
    if form and not any("ge_proto" in item.lower() for item in form.split("|")):
        tell("graph-format", "DUMP_GRAPH_FORMAT=%s writes no ge_proto files, which are what is read"
             " here. Unset it." % form)
    if "NPU_LOOPSIZE" in values:
        tell("loop-misspelt", "NPU_LOOPSIZE has no effect: npu_device reads NPU_LOOP_SIZE.")
    return found


def _is_off(switch: Optional[str]) -> bool:
    """Whether GE takes DUMP_GE_GRAPH for "nothing" (strtol; 0 and 4 and more)."""
    if switch is None:
        return False
    match = re.match(r"\s*([+-]?[0-9]+)", switch)
    number = int(match.group(1)) if match else 0
    return number == 0 or number >= 4


def of_options(module: Any, config: DumpConfig) -> List[Silencer]:
    """What the device's global options do to a dump.

    Args:
      module: npu_device.
      config: what is dumped.
    """
    options = module.global_options()
    found = []

    def tell(code: str, message: str) -> None:
        found.append(Silencer(code, message))

    if _value(options, "enable_exception_dump") == "1":
        tell("exception-dump", "global_options().enable_exception_dump = 1 silences the data dump"
             " of graphs with dynamic shapes: leave it at 2.")
    mode = _value(options, "aoe_config", "aoe_mode")
    if mode:
        tell("aoe", "global_options().aoe_config.aoe_mode = %s: a tuning run is compiled another"
             " way and its graphs are not those of a training: leave it out to dump." % mode)
    cache = _value(options, "graph_compiler_cache_dir")
    if cache:
        tell("graph-cache", "global_options().graph_compiler_cache_dir = %s: a graph from the cache"
             " is not compiled and may leave no graph file: leave it out once." % cache)
    if config.enable_dump_debug and config.dump_debug_mode != "all":
        tell("overflow-mode", "dump_debug_mode = %s: Atlas A2 and later know only 'all'."
             % config.dump_debug_mode)
    return found


def _value(options: Any, *names: str) -> Optional[str]:
    for name in names:
        options = getattr(options, name, None)
    value = getattr(options, "value", options)
    return None if value is None or not isinstance(value, (str, int)) else str(value)
