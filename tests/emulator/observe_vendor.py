"""Further things for observe.py: names of npu_device, and its helpers for one worker."""
import importlib
import inspect
import json
import os

import numpy as np

from tests.emulator import observe


def surface(folder):
    """Imports the modules of the fixture in its order; what they show, and what gives nothing."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    with open(os.environ["SURFACE"]) as stream:
        measured = json.load(stream)
    seen = {"modules": {}, "empty": [], "signatures": {}}
    for place in measured["modules"]:
        try:
            module = importlib.import_module(place)
        except ImportError as error:
            seen["modules"][place] = "%s: %s" % (type(error).__name__, error)
            continue
        names = [name for name in dir(module) if not name.startswith("_")]
        seen["modules"][place] = names
        seen["empty"] += ["%s.%s" % (place, name) for name in names if not hasattr(module, name)]
    for name in measured["signatures"]:
        place = npu_device.distribute if name.startswith("d.") else npu_device
        seen["signatures"][name] = str(inspect.signature(
            getattr(place, name.rpartition(".")[2])))
    seen["run_context_options"] = npu_device.configs.run_context_options().as_dict()
    return seen
