"""Is the device opened for a script where nothing that opening needs is half done?

Packages of a few lines stand for TensorFlow, Keras and the vendor's npu_device, which import
each other as the real ones do; tests/mains has scripts with the real ones.
"""
import sys

import pytest

from tests.conftest import ROOT, run_command

RUN = [sys.executable, "-m", "keras_npu_dump", "run", "--data_dump_path=d"]

LIBRARY = {
    "tensorflow/__init__": "import tensorflow.python.eager.context, time\ntime.sleep(0.1)\n",
    "tensorflow/python/__init__": "",
    "tensorflow/python/eager/__init__": "",
    "tensorflow/python/eager/context": "def context():\n    return 'context'\n",
    "tensorflow/ops": "from tensorflow.python.eager import context\n"
                      "def compute():\n    context.context()\n    print('computed')\n",
    "keras/__init__": "import tensorflow.ops, keras.layers, time\ntime.sleep(0.1)\n",
    "keras/layers": "import tensorflow\nDense = print\n",
    "npu_device/__init__": "from npu_device.npu_device import global_options, open\n",
    "npu_device/npu_device": """
import sys, types
import tensorflow

_npu_device_instances = {}
_options = types.SimpleNamespace(dump_config=types.SimpleNamespace(**dict.fromkeys((
    "dump_path", "dump_step", "dump_layer"))), as_dict=dict)
_options.dump_config.__dict__.update(
    enable_dump="0", dump_mode="output", dump_data="tensor", enable_dump_debug="0",
    dump_debug_mode="all")

def global_options():
    return _options

def open(device_id=None):
    if not _npu_device_instances:
        print("opened")
    return _npu_device_instances.setdefault(0, Handle())

class Handle:
    def as_default(self):
        import keras.layers
        import tensorflow.ops
        whole = keras.layers.Dense, tensorflow.ops, sys.modules["npu_device"].open, keras.whole
        return self
""",
    "uses_keras": "import tensorflow\nimport keras\n",
    "loads_late": "def load():\n    import keras\n",
    "trains": "import keras, tensorflow.ops\ntensorflow.ops.compute()\n",
    "broken": "import keras\nraise ImportError('half way')\n",
}


def run(folder, script, *options, own=""):
    """What a script prints, that runs with these packages."""
    library = folder / "site-packages"
    for name, text in LIBRARY.items():
        path = library / (name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\nwhole = True\n")
    (folder / "own.py").write_text(own)
    (folder / "train.py").write_text(script + "\nprint('end')\n")
    done = run_command(RUN + list(options) + ["train.py"], folder,
                       {"PYTHONPATH": "%s:%s" % (ROOT, library)}, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return lines[:lines.index("end")]


THEN = "\nimport tensorflow.ops\ntensorflow.ops.compute()"
THREADS = """
import threading, time
def one():
    import {0}
def two():
    import {1}
threads = [threading.Thread(target=one), threading.Thread(target=two)]
for thread in threads:
    thread.start()
    time.sleep({2})
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("script", [
    "import keras",
    "from keras.layers import Dense",
    "import tensorflow\nimport keras",
    "def main():\n    import keras\nmain()",
    "import importlib\nimportlib.import_module('keras.layers')",
    "import loads_late\nloads_late.load()",
    "try:\n    import broken\nexcept ImportError:\n    pass",
    "try:\n    import broken\nexcept ImportError:\n    import keras",
    "import own",
    THREADS.format("tensorflow", "keras", 0.05),
    THREADS.format("keras", "tensorflow", 0.05),
    THREADS.format("keras", "uses_keras", 0.15),
], ids=lambda script: script.splitlines()[-1][:30])
def test_in_whatever_order_modules_are_imported(tmp_path, script):
    lines = run(tmp_path, script + THEN, own="from keras import layers\n")
    assert lines == ["opened", "computed"]


@pytest.mark.parametrize("script", ["import trains", "import own"])
def test_an_import_that_needs_the_device_has_it(tmp_path, script):
    lines = run(tmp_path, script + "\nprint('behind')", own="import trains\n")
    assert lines == ["opened", "computed", "behind"]


@pytest.mark.parametrize("script", [
    "import npu_device",
    "import tensorflow, npu_device",
    "import keras, npu_device",
    "import npu_device\nimport keras",
    "from npu_device.npu_device import global_options",
    "import own\nimport npu_device",
    THREADS.format("npu_device", "keras", 0.05),
    THREADS.format("keras", "npu_device", 0.05),
], ids=lambda script: script.splitlines()[-1][:30])
def test_where_the_script_imports_npu_device_itself(tmp_path, script):
    lines = run(tmp_path, script + THEN, "--open_device", own="import npu_device\n")
    assert lines == ["opened", "computed"]


def test_a_script_that_opens_it_itself_is_left_to_it(tmp_path):
    script = "import keras\nfrom npu_device import open as npu_open\nprint('first')\nnpu_open()"
    assert run(tmp_path, script + THEN) == ["first", "opened", "computed"]
    assert run(tmp_path, script + THEN, "--open_device") == ["opened", "first", "computed"]
