"""How severe a problem is that has a code, unless its finder says otherwise."""
from typing import Dict

from keras_npu_dump.records.problems import ERROR, INFO, SEVERITY, WARNING

# Of doctor's own codes; it tells some of them with a lesser one, too.
_OF_DOCTOR = {
    "no-tensorflow": ERROR, "tensorflow-version": WARNING, "no-device": ERROR,
    "device-import": ERROR, "no-npu": ERROR, "device-id": WARNING, "real-device": ERROR,
    "cluster": ERROR, "ranks": ERROR, "dump-path": ERROR, "path-name": WARNING,
    "in-container": WARNING, "earlier-runs": INFO, "graph-path": ERROR, "aoe": ERROR,
    "collect-path": ERROR, "dump-scene": WARNING, "dump-path-variable": WARNING,
    "graph-off": WARNING, "graph-level": WARNING, "graph-format": WARNING,
    "loop-misspelt": WARNING,
}
USUAL: Dict[str, str] = {**SEVERITY, **_OF_DOCTOR}
