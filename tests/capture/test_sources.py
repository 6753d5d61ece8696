"""Is it seen whether a script imports npu_device, and where, by its import statements?"""
import pytest

from keras_npu_dump.launch import import_scan
from tests.files import odd


def write(folder, **files):
    for name, text in files.items():
        path = folder / ((name if "/" in name else name.replace("__", "/")) + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "train.py")


@pytest.mark.parametrize("files, where", [
    ({"train": "import npu_device\n"}, ("train", 1)),
    ({"train": "import sys, npu_device as npu\n"}, ("train", 1)),
    ({"train": "\nfrom npu_device.compat import x\n"}, ("train", 2)),
    ({"train": "import npu_device.npu_device\n"}, ("train", 1)),
    ({"train": "def main():\n    if x:\n        import npu_device\n"}, ("train", 3)),
    ({"train": "import importlib\nimportlib.import_module('npu_device')\n"}, ("train", 2)),
    ({"train": "__import__('npu_device').open()\n"}, ("train", 1)),
    ({"train": "import helper\n", "helper": "import npu_device\n"}, ("helper", 1)),
    ({"train": "from common import setup\n", "common__setup": "import npu_device\n"},
     ("common/setup", 1)),
    ({"train": "import common.setup\n", "common/__init__": "import npu_device\n",
      "common__setup": ""}, ("common/__init__", 1)),
    ({"train": "import a\n", "a": "import b\n", "b": "from npu_device import open\n"}, ("b", 1)),
    ({"train": "from p.a import x\n", "p__a": "from . import b\n",
      "p__b": "from .q.c import y\n", "p__q__c": "from ..d import z\n",
      "p__d": "import npu_device\n"}, ("p/d", 1)),
    ({"train": "sys.path.append('lib')\nfrom tools.setup import x\n",
      "lib__tools__setup": "import npu_device\n"}, ("lib/tools/setup", 1)),
])
def test_it_does(tmp_path, files, where):
    found = import_scan.find_import(write(tmp_path, **files))
    assert found == (str(tmp_path / (where[0] + ".py")), where[1])


@pytest.mark.parametrize("files", [
    {"train": "import tensorflow\n"},
    {"train": "import my_npu_device_tools\n"},
    {"train": "# import npu_device\n\"\"\"npu_device\"\"\"\nx = 'npu_device'\n"},
    {"train": "from . import npu_device\n"},
    {"train": "helper = 1\n", "helper": "import npu_device\n"},
    {"train": "import helper\n", "helper": "x = 1\n", "other_main": "import npu_device\n"},
    {"train": "import helper\n", ".venv__helper": "import npu_device\n"},
    {"train": "import json\n", "tools__json": "import npu_device\n"},
    {"train": "import keras_npu_dump\n"},
    {"train": "import npu_device = 1\n"},
])
def test_it_does_not(tmp_path, files):
    assert import_scan.find_import(write(tmp_path, **files)) is None


def test_modules_on_the_path_are_the_scripts_own_unless_they_are_installed(tmp_path, monkeypatch):
    script = write(tmp_path, train="import helper\n", lib__helper="import npu_device\n")
    installed = write(tmp_path, **{"env__site-packages__helper": "import npu_device\n"})
    assert script == installed
    monkeypatch.setattr("sys.path", ["", str(tmp_path / "env" / "site-packages")])
    assert import_scan.find_import(script) is None
    monkeypatch.setattr("sys.path", ["", str(tmp_path / "lib")])
    assert import_scan.find_import(script) == (str(tmp_path / "lib" / "helper.py"), 1)


def test_an_environment_beside_the_script_is_not_read(tmp_path):
    script = write(tmp_path, train="import helper\n", env__lib__helper="import npu_device\n")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert import_scan.find_import(script) is None


def test_a_script_that_cannot_be_read_imports_nothing(tmp_path):
    assert import_scan.find_import(str(tmp_path / "train.py")) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["FIFO", "zero", "socket", "nowhere", "loop", "folder"])
def test_modules_that_are_no_files_are_not_read(tmp_path, kind):
    script = tmp_path / "train.py"
    script.write_text("import one, other, third\n")
    (tmp_path / "third.py").write_text("import npu_device\n")
    odd.make(kind, tmp_path / "one.py")
    (tmp_path / "other").mkdir()
    odd.make(kind, tmp_path / "other" / "__init__.py")
    assert import_scan.find_import(str(script)) == (str(tmp_path / "third.py"), 1)
    odd.make(kind, tmp_path / "odd.py")
    assert import_scan.find_import(str(tmp_path / "odd.py")) is None
