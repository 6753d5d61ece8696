"""The device module: where it is, whether it is open, and what its options are.

Whether it is the vendor's npu_device or the emulator makes no difference here:
it is found through `sys.modules` or import, and both keep the same names
(npu_device.py and configs/ of the TensorFlow adapter for TF 2.x).
"""
import contextlib
import importlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from keras_npu_dump import ways_out
from keras_npu_dump.errors import ConfigError, DeviceNotFoundError

# npu_device's own defaults (configs/dump_config.py of the adapter), as its options
# return them: text, or None where nothing is set.
NPU_DEFAULTS: Dict[str, Optional[str]] = {
    "enable_dump": "0",
    "dump_path": None,
    "dump_step": None,
    "dump_mode": "output",
    "dump_data": "tensor",
    "dump_layer": None,
    "enable_dump_debug": "0",
    "dump_debug_mode": "all",
}


def find_device() -> Any:
    """The npu_device module.

    Raises:
      DeviceNotFoundError: if there is neither npu_device nor the emulator.
    """
    module = sys.modules.get("npu_device")
    if module is not None:
        return module
    try:
        return importlib.import_module("npu_device")
    except ModuleNotFoundError as error:
        if error.name != "npu_device":
            raise  # it is there, and something that it needs is not
        raise DeviceNotFoundError(
            "npu_device is not installed here. On an Ascend host install the one that belongs to"
            " its CANN; elsewhere rehearse on the CPU: call keras_npu_dump.emulator.install()"
            " before `import npu_device`%s." % ways_out.or_run("--emulate ")) from error


def is_emulated(module: Any) -> bool:
    """Whether npu_device is the emulator."""
    return bool(getattr(module, "__emulated__", False))


def opened_ids(module: Any) -> List[int]:
    """The device ids that `npu_device.open()` has opened; empty before it was called.

    npu_device has no public way to ask; its module npu_device.npu_device keeps the
    instances (semantics of the adapter's open()).
    """
    inner = sys.modules.get(module.__name__ + ".npu_device") or getattr(module, "npu_device", None)
    instances = getattr(inner, "_npu_device_instances", None)
    if instances:
        return [int(key) for key in instances]
    context = getattr(inner, "global_npu_ctx", None)
    if callable(context) and context() is not None:
        return [0]
    return []


def handle(module: Any) -> Any:
    """What `npu_device.open()` has returned; None before, and where it is not kept."""
    inner = sys.modules.get(module.__name__ + ".npu_device")
    for one in (getattr(inner, "_npu_device_instances", None) or {}).values():
        return one
    return None


def is_default(module: Any) -> Optional[bool]:
    """Whether `as_default()` of the device was called; None where that cannot be asked."""
    inner = sys.modules.get(module.__name__ + ".npu_device")
    context = getattr(inner, "global_npu_ctx", None)
    return context() is not None if callable(context) else None


def close(module: Any) -> None:
    """Closes the device, which sends its last files; by its own exit handler otherwise."""
    inner = sys.modules.get(module.__name__ + ".npu_device")
    closing = getattr(inner, "close", None)
    if callable(closing):
        with contextlib.suppress(Exception):  # it prints no more than in an exit handler
            closing()


def option_text(value: Any) -> Optional[str]:
    """A value as npu_device stores it: True is "1", None stays None; the rest is its text."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def read_options(module: Any) -> Dict[str, Optional[str]]:
    """What `global_options().dump_config` holds now, by field name."""
    dump_config = module.global_options().dump_config
    options = {}
    for name in NPU_DEFAULTS:
        option = getattr(dump_config, name, None)
        options[name] = option_text(getattr(option, "value", option))
    return options


def write_options(module: Any, options: Mapping[str, Any]) -> None:
    """Sets fields of `global_options().dump_config`.

    Args:
      module: npu_device.
      options: values by field name, see `DumpConfig.npu_options`.

    Raises:
      ConfigError: where this npu_device does not know a field that is asked for.
    """
    dump_config = module.global_options().dump_config
    for name, value in options.items():
        try:
            setattr(dump_config, name, value)
        except ValueError as error:
            if option_text(value) == NPU_DEFAULTS[name]:
                continue  # an adapter without the field does what the default means
            raise ConfigError("this npu_device refuses dump_config.%s = %r: %s"
                              % (name, value, error)) from error


def watch_open(module: Any, before: Callable[[], None], after: Callable[[Any], None]) -> None:
    """Has functions called around `npu_device.open`.

    The dump folder has to exist at that very moment, and scripts delete it between
    their start and there; nor is the device's id known earlier. What a `before` adds
    takes part at once.

    Args:
      module: npu_device.
      before: called when `open()` is called for the first time.
      after: called when it has returned, with the device id that it was given, or None.
    """
    hooks: Optional[List[Any]] = getattr(module.open, "_keras_npu_dump_hooks", None)
    if hooks is not None:
        hooks.append((before, after))
        return
    hooks = [(before, after)]
    # Mains call npu_device.open() or npu_device.npu_device.open().
    holders: Tuple[Any, ...] = (module, sys.modules.get(module.__name__ + ".npu_device"))
    for holder in holders:
        original = getattr(holder, "open", None)
        if callable(original):
            holder.open = _watched(module, original, hooks)


def _watched(module: Any, original: Any, hooks: List[Any]) -> Any:
    def open(device_id: Any = None) -> Any:  # the vendor's name
        already = bool(opened_ids(module))
        if not already:
            for first, _ in _growing(hooks):
                first()
        result = original(device_id)
        if not already:
            for _, last in _growing(hooks):
                last(device_id)
        return result

    open.__doc__ = original.__doc__
    open._keras_npu_dump_hooks = hooks  # type: ignore[attr-defined]
    return open


def _growing(hooks: List[Any]) -> Iterator[Any]:
    position = 0
    while position < len(hooks):
        yield hooks[position]
        position += 1
