"""Do we still read what version 0.1.0 left, with the answers that it gave then?"""
import json
import pathlib

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.cli import main
from keras_npu_dump.records.manifest import load_manifest
from tests.kept.unpacking import NAMES, unpack

# Evidence is text for people; everything else of a pair is the answer.
PAIR = ("graph", "time", "device", "rank", "model_names", "role", "confidence", "steps")
SUSPECT = ("op", "op_type", "original_ops", "step", "iteration", "rank", "reason")
SERIOUS = ("error", "warning")


@pytest.fixture(scope="module", params=NAMES)
def kept(request, tmp_path_factory):
    """A dump as it was left, and the answers of then; for tests that write nothing."""
    return unpack(request.param, tmp_path_factory.mktemp("kept"))


def ask(capsys, *arguments):
    status = main([str(one) for one in arguments] + ["--json"])
    return status, json.loads(capsys.readouterr().out)


def chosen(entries, names):
    return [{name: one[name] for name in names} for one in entries]


def serious(document):
    return sorted((one["code"], one["severity"], one["path"]) for one in document["problems"]
                  if one["severity"] in SERIOUS)


@pytest.mark.parametrize("option", ([], ["--verify"]))
def test_collect_pairs_as_then(option, kept, capsys, tmp_path):
    dump, then = kept
    expected = then["collect"]["document"]
    status, document = ask(capsys, "collect", dump, "--output", tmp_path / "m.json", *option)
    assert status == then["collect"]["status"]
    assert chosen(document["pairs"], PAIR) == chosen(expected["pairs"], PAIR)
    assert document["training"] == expected["training"]
    assert serious(document) == serious(expected)
    assert chosen(document["graphs"], expected["graphs"][0]) == expected["graphs"]
    assert chosen(document["runs"], expected["runs"][0]) == expected["runs"]


def test_triage_judges_as_then(kept, capsys, tmp_path):
    dump, then = kept
    expected = then["triage"]["document"]
    status, document = ask(capsys, "triage", dump, "--flagfile", tmp_path / "next.flags")
    assert (status, document["verdict"]) == (then["triage"]["status"], expected["verdict"])
    assert chosen(document["suspects"], SUSPECT) == chosen(expected["suspects"], SUSPECT)
    assert document["next"]["dump_layer"] == expected["next"]["dump_layer"]
    assert document["next"]["dump_step"] == expected["next"]["dump_step"]
    for name in ("executions", "operators", "files", "tensors"):
        assert document["checked"][name] == expected["checked"][name], name


def test_inspect_shows_the_operators_and_statistics_of_then(kept, capsys):
    dump, then = kept
    _, document = ask(capsys, "inspect", dump)
    assert document["graphs"] == then["inspect"]["document"]["graphs"]
    _, document = ask(capsys, "inspect", dump, "--op", ".", "--role", "all")
    expected = then["operators"]["document"]["operators"]
    assert [one["op"] for one in document["operators"]] == [one["op"] for one in expected]
    for now, before in zip(document["operators"], expected):
        same = [name for name in before if name != "tensors"]
        assert chosen([now], same) == chosen([before], same)
        assert len(now["tensors"]) == len(before["tensors"])
        for tensor, known in zip(now["tensors"], before["tensors"]):
            # numpy adds up in another order from version to version.
            # "nan" and "inf" are words in JSON.
            assert float(tensor.pop("avg")) == pytest.approx(
                float(known["avg"]), rel=1e-6, abs=1e-9, nan_ok=True)
            assert tensor == {name: known[name] for name in tensor}


def test_every_tensor_has_the_values_of_then(kept):
    dump, then = kept
    run = keras_npu_dump.open_run(dump)
    steps = {step.records[0].path: step for pair in run.pairs for step in pair.steps}
    # An executed graph leaves data or statistics.
    assert bool(then["tensors"]) == any(step.kinds.get("dump") for step in steps.values())
    for folder, op, io, index, dtype, shape, digits in then["tensors"]:
        values = steps[folder].tensor(op, index, io)
        known = np.frombuffer(bytes.fromhex(digits), dtype).reshape(shape)
        assert (values.dtype, values.shape) == (known.dtype, known.shape), op
        assert values.tobytes() == known.tobytes(), op


def test_its_manifests_are_read_and_nothing_is_collected_anew(kept):
    dump, then = kept
    expected = then["collect"]["document"]
    of_run, = pathlib.Path(str(dump), "runs").glob("*/manifest.json")
    for path in (dump / "manifest.json", of_run):
        manifest = load_manifest(str(path))
        assert manifest.dump_path == str(dump)
        assert chosen(manifest.to_json()["pairs"], PAIR) == chosen(expected["pairs"], PAIR)
        assert manifest.to_json()["training"] == expected["training"]
        assert keras_npu_dump.open_run(path).manifest.path == str(path)
    whole = load_manifest(str(dump / "manifest.json"))
    assert whole.to_json() == dict(expected, dump_path=str(dump))
    # The folder is not newer than its manifest: this is the manifest that commands use.
    assert keras_npu_dump.open_run(dump).manifest.path == str(dump / "manifest.json")
