"""What this machine would do with a dump, and what would make it fail.

Nothing is changed and nothing is created; npu_device is imported in a process of its
own, as that loads TensorFlow and may fail in ways of its own.
"""
import dataclasses
import glob
import importlib.util
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional

from keras_npu_dump import ranks
from keras_npu_dump._version import __version__
from keras_npu_dump.capture.device import disk_space, dump_blockers, dump_folder, dump_place
from keras_npu_dump.capture.request.command_line import absolute
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.doctor import variables
from keras_npu_dump.doctor.finding import Finding
from keras_npu_dump.doctor.variables import Variable
from keras_npu_dump.doctor.volume import Volume, foresee
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.read_limited import read_record
from keras_npu_dump.records.layout import RUN_FILE, RUNS
from keras_npu_dump.sizes import human_bytes, plural

SCHEMA = "keras_npu_dump.doctor/1"
_IMPORT_SECONDS = 180
_MAX_VERSION = 1 << 20  # of a file that holds CANN's version
_TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tf-nightly")


@dataclasses.dataclass
class Diagnosis:
    """What was found.

    Attributes:
      versions: by name; None where it is not installed.
      device: kind ("npu", "emulated" or "none"), id, nodes (/dev/davinci*), cann.
      cluster: rank (None: known after open() only), size.
      environment: variables that matter, with what they do.
      path: dump_path, exists, writable, mount, file_system, free_bytes, container, host.
      options: what `npu_device.global_options().dump_config` would be given.
      volume: what it would take, by an earlier run in the same folder; None without one.
      problems: errors first.
    """

    versions: Dict[str, Optional[str]]
    device: Dict[str, Any]
    cluster: Dict[str, Any]
    environment: List[Variable]
    path: Dict[str, Any]
    options: Dict[str, Any]
    problems: List[Finding]
    volume: Optional[Volume] = None

    @property
    def errors(self) -> List[Finding]:
        """The problems that would make a dump fail."""
        return [one for one in self.problems if one.severity == "error"]

    def to_json(self) -> Dict[str, Any]:
        """As one document, in a stable order."""
        return {
            "schema": SCHEMA, "versions": self.versions, "device": self.device,
            "cluster": self.cluster,
            "environment": [{"name": one.name, "value": one.value, "effect": one.effect}
                            for one in self.environment],
            "path": dict(self.path, volume=self.volume and self.volume.to_json()),
            "options": self.options,
            "problems": [dict(one._asdict()) for one in self.problems],
        }


def examine(config: Optional[DumpConfig] = None, emulate: bool = False) -> Diagnosis:
    """Looks at everything that decides about a dump here.

    Args:
      config: what would be asked for. Defaults to all defaults.
      emulate: whether the emulator would stand in for npu_device.

    Returns:
      A Diagnosis; its `errors` are empty where a dump would work.

    Raises:
      ConfigError: the dump path is relative, and the working directory was deleted.
    """
    config = config or DumpConfig()
    problems: List[Finding] = []
    cluster = ranks.read()
    versions = _versions()
    device = _device(emulate, cluster.device, versions, problems)
    problems += [Finding("cluster", "error", text) for text in cluster.problems]
    problems += [Finding("cluster", "warning", text) for text in ranks.doubts()]
    try:
        chosen, remarks = ranks.is_chosen(config.ranks, cluster)
        problems += [Finding("ranks", "warning", text) for text in remarks]
    except ConfigError as error:
        problems.append(Finding("ranks", "error", str(error)))
        chosen = True
    dumping = config if chosen else config.switched_off()
    if dumping.is_off:
        problems.append(Finding("ranks", "info", "rank %s is none of data_dump_ranks: this process"
                                " would dump nothing" % cluster.rank))
    for found in dump_blockers.of_environment():
        problems.append(Finding(
            found.code, "error" if found.fatal else "warning", found.message))
    path = _path(config, problems)
    environment, more = variables.examine(config, path["dump_path"])
    problems += more
    taken = foresee(dumping, path["dump_path"])
    free = path["free_bytes"]
    if taken is not None and free is not None and taken.bytes_if_longer > free:
        problems.append(Finding(
            "disk-low", "warning", "the dump may take %s, and only %s are free" % (
                taken.words(), human_bytes(free)),
            "dump fewer iterations, data_dump_data=stats, or fewer operators (data_dump_layer)"))
    order = {"error": 0, "warning": 1, "info": 2}
    problems.sort(key=lambda one: order[one.severity])
    return Diagnosis(versions, device, {"rank": cluster.rank, "size": cluster.size}, environment,
                     path, dict(dumping.npu_options, dump_path=path["dump_path"]), problems, taken)


def _versions() -> Dict[str, Optional[str]]:
    versions: Dict[str, Optional[str]] = {
        "keras_npu_dump": __version__, "python": "%d.%d.%d" % sys.version_info[:3]}
    tensorflow = None
    for name in _TENSORFLOWS:
        tensorflow = tensorflow or _installed(name)
    versions["tensorflow"] = tensorflow
    for name in ("keras", "numpy", "absl-py", "protobuf"):
        versions[name] = _installed(name)
    return versions


def _installed(distribution: str) -> Optional[str]:
    """Its version, without importing it; None where it is not installed."""
    try:
        from importlib import metadata
    except ImportError:  # Python 3.7
        import pkg_resources
        try:
            return str(pkg_resources.get_distribution(distribution).version)
        except pkg_resources.DistributionNotFound:
            return None
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _device(emulate: bool, device_id: int, versions: Dict[str, Optional[str]],
            problems: List[Finding]) -> Dict[str, Any]:
    real = _real_module()
    nodes = sorted(glob.glob("/dev/davinci[0-9]*"))
    found: Dict[str, Any] = {"kind": "none", "id": device_id, "nodes": nodes, "cann": _cann()}
    if versions["tensorflow"] is None and importlib.util.find_spec("tensorflow") is None:
        problems.append(Finding("no-tensorflow", "error", "TensorFlow is not installed here",
                                "2.6.5 is what npu_device is made for"))
    if emulate:
        found["kind"] = "emulated"
        if real:
            problems.append(Finding(
                "real-device", "error", "the emulator stands in for npu_device where there is none;"
                " here it is installed (%s)" % real, "leave out --emulate"))
        return found
    if real is None:
        problems.append(Finding(
            "no-device", "error", "npu_device is not installed here", "on an Ascend host install"
            " the one that belongs to its CANN; elsewhere rehearse with --emulate"))
        return found
    found["kind"] = "npu"
    problem = _import_problem()
    if problem is not None:
        problems.append(Finding(
            "device-import", "error", "`import npu_device` fails: %s" % problem,
            "has this shell sourced set_env.sh of CANN?"))
    if not nodes:
        problems.append(Finding("no-npu", "error", "there is no NPU here (/dev/davinci*)",
                                "in a container, give it the devices when it is started"))
    elif "/dev/davinci%d" % device_id not in nodes:
        problems.append(Finding(
            "device-id", "warning", "device %d has no /dev/davinci%d; there are %s"
            % (device_id, device_id, ", ".join(os.path.basename(node) for node in nodes)),
            "ASCEND_DEVICE_ID chooses it"))
    if not (versions["tensorflow"] or "").startswith("2.6."):
        problems.append(Finding("tensorflow-version", "warning", "npu_device is made for TensorFlow"
                                " 2.6.5; here is %s" % versions["tensorflow"]))
    return found


def _real_module() -> Optional[str]:
    """Where npu_device would be imported from; None where it is not installed."""
    module = sys.modules.get("npu_device")
    if module is not None:
        return None if getattr(module, "__emulated__", False) else str(module)
    try:
        spec = importlib.util.find_spec("npu_device")
    except (ImportError, ValueError):
        return None
    # A folder of that name without an __init__ is no module.
    return None if spec is None else spec.origin


def _import_problem() -> Optional[str]:
    """The last line that `import npu_device` prints; None if it works."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import npu_device"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=_IMPORT_SECONDS)
    except subprocess.TimeoutExpired:
        return "it has not ended after %d seconds" % _IMPORT_SECONDS
    except OSError as error:
        return str(error)
    if not done.returncode:
        return None
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "status %d" % done.returncode


def _cann() -> Optional[str]:
    """The version of CANN that this shell's environment points to."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        folder = os.environ.get(name)
        for file in ("version.cfg", "compiler/version.info", "version.info"):
            try:
                text = read_record(os.path.join(folder or "", file), _MAX_VERSION).decode("utf-8")
                for line in text.splitlines():
                    key, equals, value = line.partition("=")
                    if equals and "version" in key.lower():
                        return value.strip().strip("[]")
            except (OSError, ValueError):
                continue
    return None


def _path(config: DumpConfig, problems: List[Finding]) -> Dict[str, Any]:
    path = absolute(config.dump_path, current_folder())
    exists = os.path.isdir(path)
    part = disk_space.existing_part(path)
    writable = os.access(part, os.R_OK | os.W_OK | os.X_OK)
    above = next((one for one in _parts(path, part) if os.path.lexists(one)), None)
    if above is not None and not exists:
        writable = False
        problems.append(Finding("dump-path", "error", "%s is not a folder" % above,
                                "choose another data_dump_path"))
    elif not writable:
        problems.append(Finding("dump-path", "error", "this user may not read and write %s" % part,
                                "choose another data_dump_path"))
    expected = dump_folder.too_long(path)
    if expected is not None:
        problems.append(Finding("dump-path", "error", "%s is too long: expected %s" % (
            dump_folder.shortened(path), expected), "choose another data_dump_path"))
    free = disk_space.free_bytes(path)
    if free is not None and free < config.min_free_gb * disk_space.GB:
        problems.append(Finding(
            "disk-low", "error", "%s has %.1f GB free, less than %g (data_dump_min_free_gb)"
            % (part, free / disk_space.GB, config.min_free_gb),
            "free some, or choose another folder"))
    mount = dump_place.mount_of(part)
    for code, text in dump_place.warnings_of(path):
        problems.append(Finding(code, "warning", text))
    earlier = len(glob.glob(os.path.join(glob.escape(path), RUNS, "*", RUN_FILE)))
    if earlier:
        problems.append(Finding("earlier-runs", "info", "%s holds %s, kept apart from the next"
                                % (path, plural(earlier, "earlier run"))))
    return {
        "dump_path": path, "exists": exists, "writable": writable,
        "mount": None if mount is None else mount.point,
        "file_system": None if mount is None else mount.kind,
        "free_bytes": free, "container": dump_place.in_container(), "host": dump_place.host(),
    }


def _parts(path: str, existing: str) -> List[str]:
    """The folders of `path` below `existing`, outermost first."""
    parts: List[str] = []
    while path != existing and path != os.path.dirname(path):
        parts.insert(0, path)
        path = os.path.dirname(path)
    return parts
