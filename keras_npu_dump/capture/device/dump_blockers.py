"""Settings, not ours, that silence a dump or move its files, each told in a sentence.

Where they come from: the device's global options, and environment variables that GE,
adump and the adapter read (GE's dump_manager.cc, graph_utils.cc, graph_manager.cc; runtime
dump_config_converter.cpp; adapter npu_env.h).
"""
import os
import re
from typing import Any, List, Mapping, NamedTuple, Optional

from keras_npu_dump.capture.device import op_debug
from keras_npu_dump.config.checks import level_has_build
from keras_npu_dump.config.dump_config import DumpConfig


class Silencer(NamedTuple):
    """A setting that is in the way of a dump.

    Attributes:
      code: stable and short, for programs.
      message: what it does, and what to change.
      fatal: whether files of the dump would not come; else it is worth knowing.
    """

    code: str
    message: str
    fatal: bool = True


# Of graphs that are dumped GE writes ge_proto_*_Build.txt whatever these variables say
# (graph_manager.cc, and the documentation of DUMP_GRAPH_LEVEL); CANN between its public
# sources is not known.
_ALL_THE_SAME = (" While a dump is on, GE writes the executed graphs (ge_proto_*_Build.txt) all the"
                 " same; if yours does not, unset it%s.")
_SCENES = ("aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump")


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
    found = _of_exception_dump(values)
    if values.get("AOE_MODE"):
        found.append(Silencer("aoe", "AOE_MODE=%s: a tuning run is compiled another way and its"
                              " graphs are not those of a training: unset it to dump."
                              % values["AOE_MODE"]))
    found += _of_graph_files(values)
    if "NPU_LOOPSIZE" in values:
        found.append(Silencer("loop-misspelt", "NPU_LOOPSIZE has no effect: npu_device reads"
                              " NPU_LOOP_SIZE.", fatal=False))
    return found


def collect_path(values: Mapping[str, str]) -> Optional[str]:
    """The variable that makes GE dump exceptions in full; None where none does.

    GE takes NPU_COLLECT_PATH, or NPU_COLLECT_PATH_EXE where that is not set, and does so where
    the text is not empty (dump_manager.cc, `DumpManager::Init`).

    Args:
      values: environment variables by name.
    """
    name = "NPU_COLLECT_PATH" if "NPU_COLLECT_PATH" in values else "NPU_COLLECT_PATH_EXE"
    return name if values.get(name) else None


def _of_exception_dump(values: Mapping[str, str]) -> List[Silencer]:
    found = []
    forcing = collect_path(values)
    effects = []
    if forcing is not None:
        effects.append("switches exception dump on, which silences the data dump of graphs with"
                       " dynamic shapes")
    if "NPU_COLLECT_PATH" in values:
        effects.append("takes the graph files to extra-info/graph below it")
    if effects:
        name = forcing or "NPU_COLLECT_PATH"
        found.append(Silencer("collect-path", "%s=%s %s: unset it." % (
            name, values[name], ", and ".join(effects))))
    scene = values.get("ASCEND_DUMP_SCENE")
    if scene == "aic_err_norm_dump":
        found.append(Silencer(
            "dump-scene", "ASCEND_DUMP_SCENE=%s switches an exception dump on that is known to"
            " silence the data dump of graphs with dynamic shapes where an option asks for it:"
            " unset it if such graphs leave no files." % scene, fatal=False))
    elif scene == "aic_err_detail_dump":
        found.append(Silencer(
            "dump-scene", "ASCEND_DUMP_SCENE=%s ends the process where an AI Core fails, and what"
            " is still on its way from the device is lost: unset it to dump data." % scene,
            fatal=False))
    elif scene and scene not in _SCENES:
        found.append(Silencer(
            "dump-scene", "ASCEND_DUMP_SCENE=%s has no effect: it knows %s. Unset it."
            % (scene, ", ".join(_SCENES)), fatal=False))
    if values.get("ASCEND_DUMP_PATH"):
        found.append(Silencer(
            "dump-path-variable", "ASCEND_DUMP_PATH=%s: GE's documentation says that graph files go"
            " there whatever DUMP_GRAPH_PATH says, GE's public source does not read it. They are"
            " looked for in both; unset it to be sure." % values["ASCEND_DUMP_PATH"], fatal=False))
    return found


def _of_graph_files(values: Mapping[str, str]) -> List[Silencer]:
    found = []
    if _is_off(values.get("DUMP_GE_GRAPH")):
        found.append(Silencer("graph-off", "DUMP_GE_GRAPH=%s asks GE for no graph files.%s" % (
            values["DUMP_GE_GRAPH"], _ALL_THE_SAME % ", or set it to 2"), fatal=False))
    level = values.get("DUMP_GRAPH_LEVEL")
    if level is not None and not level_has_build(level):
        found.append(Silencer("graph-level", "DUMP_GRAPH_LEVEL=%s asks for %s and leaves out the"
                              " executed graphs (Build).%s" % (
                                  level, "PreRunBegin alone, the graph before it is compiled,"
                                  if level == "4" else "other stages", _ALL_THE_SAME
                                  % ", or set it to 3"), fatal=False))
    form = values.get("DUMP_GRAPH_FORMAT")
    if form and not any("ge_proto" in item.lower() for item in form.split("|")):
        readable = any("readable" in item.lower() for item in form.split("|"))
        found.append(Silencer("graph-format", "DUMP_GRAPH_FORMAT=%s asks for %sno ge_proto files,"
                              " which are what is read here.%s" % (
                                  form, "ge_readable files, which are for people, and for "
                                  if readable else "", _ALL_THE_SAME % ""), fatal=False))
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
    switches = op_debug.switches(_value(options, "op_debug_config"))
    if switches:
        text = ("global_options().op_debug_config switches %s on: operators are compiled another"
                " way, slower and not as in a training without it: leave it out to dump."
                % ", ".join(switches))
        if "oom" in switches and os.environ.get("NPU_COLLECT_PATH"):
            text += " With NPU_COLLECT_PATH its oom makes operators fail."
        tell("op-debug", text)
    if config.enable_dump_debug and config.dump_debug_mode != "all":
        tell("overflow-mode", "dump_debug_mode = %s: Atlas A2 and later know only 'all'."
             % config.dump_debug_mode)
    return found


def _value(options: Any, *names: str) -> Optional[str]:
    for name in names:
        options = getattr(options, name, None)
    value = getattr(options, "value", options)
    return None if value is None or not isinstance(value, (str, int)) else str(value)
