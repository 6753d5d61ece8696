"""What do the commands say of a training that was dumped?"""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

from tests.conftest import ROOT, run_command, with_sklearn

COMMAND = [sys.executable, "-m", "keras_npu_dump"]


def run(folder, *arguments, **kwargs):
    return run_command(COMMAND + [str(one) for one in arguments], folder, **kwargs)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    """The digits, trained for two epochs with validation, iterations 0 and 5 dumped."""
    folder = tmp_path_factory.mktemp("digits")
    with with_sklearn():
        run(folder, "run", "--emulate", "--data_dump_step=0|5", "--data_dump_path=d",
            ROOT / "examples" / "digits_plain.py")
    return folder / "d"


def manifest_of(folder, *arguments, **kwargs):
    return json.loads(run(folder, "collect", *(arguments + ("--json",)), **kwargs).stdout)


def training_pair(manifest):
    (position,) = manifest["training"]["0"]
    return manifest["pairs"][position]


def test_collect_answers_which_belongs_to_which(dumped):
    manifest = manifest_of(dumped.parent, "d")
    pair = training_pair(manifest)
    assert (pair["confidence"], pair["role"], pair["rank"], pair["device"]) == (
        "exact", "train", 0, 0)
    assert [(one["data_index"], one["iteration"]) for one in pair["steps"]] == [
        (0, {"fit": 0, "epoch": 0, "batch": 0}), (5, {"fit": 0, "epoch": 0, "batch": 5})]
    head = (dumped / pair["graph"]).read_text().splitlines()[1]
    assert head.strip() == 'name: "%s"' % pair["model_names"][0]
    for one in pair["steps"]:
        assert len(list((dumped / one["path"]).iterdir())) == one["files"]
    assert [one["severity"] for one in manifest["problems"] if one["severity"] == "error"] == []
    assert json.loads((dumped / "manifest.json").read_text()) == manifest
    assert (dumped / "manifest.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("command", [
    [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_step=0|5",
     str(ROOT / "examples" / "digits_fit.py")],
    [sys.executable, str(ROOT / "examples" / "digits_fit.py"), "--emulate", "--data_dump_flag",
     "--data_dump_step=0|5"]])
def test_the_main_with_flags_dumps_by_itself_and_under_run(tmp_path, command):
    with with_sklearn():
        run_command(command, tmp_path)
    pair = training_pair(manifest_of(tmp_path, "output/data_dump"))
    assert pair["confidence"] == "exact"
    assert [one["iteration"]["batch"] for one in pair["steps"]] == [0, 5]


def test_the_main_with_flags_does_nothing_without_them(tmp_path):
    with with_sklearn():
        run_command([sys.executable, str(ROOT / "examples" / "digits_fit.py"), "--emulate",
                     "--epochs=1"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_collect_takes_any_level(dumped):
    pair = training_pair(manifest_of(dumped.parent, "d"))
    deepest = pathlib.Path(dumped, pair["steps"][1]["path"])
    for folder in (deepest, deepest.parent, deepest.parent.parent.parent.parent):
        found = training_pair(manifest_of(dumped.parent, folder))
        assert 5 in [one["data_index"] for one in found["steps"]]


def test_a_copied_folder_gives_the_same_answer(dumped, tmp_path):
    import shutil
    before = manifest_of(dumped.parent, "d")
    shutil.copytree(str(dumped), str(tmp_path / "elsewhere"))
    after = manifest_of(tmp_path, "elsewhere")
    assert after["pairs"] == before["pairs"]


def test_inspect_says_what_one_file_is(dumped):
    file = min(dumped.glob("2*/0/*train*/*/5/MatMul.sequential*dense*MatMul.*"),
               key=lambda path: int(path.name.split(".")[-3]))  # the first dense layer
    done = run(dumped.parent, "inspect", file)
    assert "DT_FLOAT" in done.stdout and "[128, 144]" in done.stdout
    description = json.loads(run(dumped.parent, "inspect", file, "--json").stdout)
    assert [one["kind"] for one in description["tensors"]] == ["input", "input", "output"]


def test_inspect_says_what_a_graph_is(dumped):
    file = max(dumped.glob("graphs/*/*_Build.txt"), key=lambda path: path.stat().st_size)
    description = json.loads(run(dumped.parent, "inspect", file, "--json").stdout)
    assert "__inference" in json.dumps(description)


@pytest.mark.parametrize("content", [b"", b"what is this", b"\xff" * 4096])
def test_inspect_of_a_foreign_file_is_one_message(tmp_path, content):
    (tmp_path / "Add.x.1.2.1700000000000000").write_bytes(content)
    done = run(tmp_path, "inspect", "Add.x.1.2.1700000000000000", check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_export_writes_every_tensor_and_goes_on_where_it_was(dumped, tmp_path):
    done = run(tmp_path, "export", dumped, "--to", "npy", "--output", "npy", "--json")
    result = json.loads(done.stdout)
    # Types without documented values, such as variants, stay bytes: .bin.
    files = sorted(path for path in (tmp_path / "npy").rglob("*") if path.is_file())
    assert len(files) == result["written"] > 100 and not result["problems"]
    matmul = next(path for path in files if path.name.startswith("MatMul.sequential")
                  and "train" in str(path) and path.name.endswith(".output.0.npy"))
    inputs = [np.load(str(matmul).replace(".output.0.", ".input.%d." % i)) for i in (0, 1)]
    np.testing.assert_allclose(inputs[0] @ inputs[1], np.load(str(matmul)), rtol=1e-5, atol=1e-6)
    files[0].unlink()
    again = json.loads(run(tmp_path, "export", dumped, "--to", "npy", "--output", "npy",
                           "--json").stdout)
    assert (again["written"], again["skipped"]) == (1, len(files) - 1)


def test_export_of_graphs_is_json(dumped, tmp_path):
    run(tmp_path, "export", dumped, "--to", "json", "--output", "json")
    documents = [json.loads(path.read_text()) for path in (tmp_path / "json").rglob("*.json")]
    names = {document["graph"][0]["name"] for document in documents}
    assert any("train_function" in name for name in names)


@pytest.mark.parametrize("arguments", [
    ("inspect", "missing"), ("export", "missing", "--to", "npy"),
    ("export", "missing", "--to", "json"), ("export", ".", "--to", "xml"), ("export", ".")])
def test_wrong_usage_is_status_2(tmp_path, arguments):
    done = run(tmp_path, *arguments, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_inspect_lists_operators_of_a_run(dumped):
    done = run(dumped.parent, "inspect", "d", "--type", "MatMul", "--step", "5")
    names = re.findall(r"^\d+  (\S+)  MatMul$", done.stdout, re.MULTILINE)
    assert len(names) == 6 and "Conv2D" not in done.stdout  # two layers and their gradients
    document = json.loads(run(dumped.parent, "inspect", "d", "--tensor", names[0],
                              "--step=0:5", "--json").stdout)
    assert "128" in json.dumps(document)


def test_triage_of_a_healthy_training(dumped):
    done = run(dumped.parent, "triage", "d")
    assert done.stdout.startswith("healthy")
    document = json.loads(run(dumped.parent, "triage", "d", "--json").stdout)
    assert list(document) == ["schema", "verdict", "suspects", "next", "checked"]
    assert (document["verdict"], document["suspects"]) == ("healthy", [])


def test_export_for_the_vendors_comparator(dumped, tmp_path):
    done = run(tmp_path, "export", dumped, "--to", "msaccucmp", "--output", "out")
    assert done.stdout.count("msaccucmp.py compare") == 2
    assert "Compare all steps with golden data, where CANN is: bash out/compare.sh GOLDEN\n" in (
        done.stdout)
    assert "GOLDEN is a folder of yours" in done.stdout and "One by one, in out:\n  python3" in (
        done.stdout)
    assert len(list((tmp_path / "out").rglob("graph.json"))) == 1


def test_doctor_finds_what_would_make_a_dump_fail(tmp_path):
    done = run(tmp_path, "doctor", "--json", check=False)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert "no-device" in json.dumps(document)
    assert run(tmp_path, "doctor", "--emulate", "--data_dump_min_free_gb=0").returncode == 0
