"""Is it seen whether a script opens its device itself?"""
import pytest

from keras_npu_dump.capture.sources import mentions_npu_device


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "train.py")


@pytest.mark.parametrize("files", [
    {"train": "import npu_device\n"},
    {"train": "import npu_device as npu\n"},
    {"train": "from npu_device.compat import x\n"},
    {"train": "import helper\n", "helper": "import npu_device\n"},
    {"train": "from common import setup\n", "common__setup": "import npu_device\n"},
    {"train": "import a\n", "a": "import b\n", "b": "from npu_device import open\n"},
    {"train": "importlib.import_module('inner.%s' % name)\nname = 'dev'\n",
     "inner__dev": "import npu_device"},
])
def test_it_does(tmp_path, files):
    assert mentions_npu_device(write(tmp_path, **files))


@pytest.mark.parametrize("files", [
    {"train": "import tensorflow\n"},
    {"train": "import my_npu_device_tools\n"},
    {"train": "import helper\n", "helper": "x = 1\n", "other_main": "import npu_device\n"},
    {"train": "import helper\n", ".venv__helper": "import npu_device\n"},
])
def test_it_does_not(tmp_path, files):
    assert not mentions_npu_device(write(tmp_path, **files))


def test_an_environment_beside_the_script_is_not_read(tmp_path):
    script = write(tmp_path, train="import helper\n", env__lib__helper="import npu_device\n")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert not mentions_npu_device(script)


def test_a_script_that_cannot_be_read_mentions_nothing(tmp_path):
    assert not mentions_npu_device(str(tmp_path / "train.py"))
