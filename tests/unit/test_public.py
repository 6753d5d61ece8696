"""Do the public names help who asks them for help?"""
import importlib
import inspect
import pydoc
import types

import pytest

import keras_npu_dump
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.analysis.triage.triage import Triage
from keras_npu_dump.records.manifest import Manifest


@pytest.mark.parametrize("name", ["collect", "open_run", "triage", "apply"])
def test_public_functions_are_plain_functions_with_help(name):
    function = getattr(keras_npu_dump, name)
    assert isinstance(function, types.FunctionType)
    text = pydoc.plain(pydoc.render_doc(function))
    assert "function %s" % name in text and "Args:" in text and "Raises:" in text
    assert all(one.annotation is not inspect.Parameter.empty
               for one in inspect.signature(function).parameters.values()
               if one.kind is not one.KEYWORD_ONLY)


def test_importing_a_room_rebinds_no_public_name():
    collect, triage = keras_npu_dump.collect, keras_npu_dump.triage
    importlib.import_module("keras_npu_dump.analysis.triage.triage")
    importlib.import_module("keras_npu_dump.collector.collect")
    assert (keras_npu_dump.collect, keras_npu_dump.triage) == (collect, triage)
    with pytest.raises(ImportError):
        importlib.import_module("keras_npu_dump.collect")


def test_all_names_exist():
    for name in keras_npu_dump.__all__:
        if name != "NpuDumpCallback":  # its base class is TensorFlow's
            assert getattr(keras_npu_dump, name) is not None


def test_answers_are_short_to_look_at():
    manifest = Manifest("/data/dump")
    assert repr(manifest) == ("<Manifest of /data/dump: 0 runs, 0 pairs, 0 problems of severity"
                              " error>")
    found = Triage("healthy", [], NextDump([], None), {})
    assert repr(found) == "<Triage: healthy, 0 suspects>"
