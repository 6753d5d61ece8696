"""What does the manifest say, where is it written, and what is left alone?"""
import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from keras_npu_dump import collect
from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.records.manifest import load_manifest
from tests.collect import making

KEYS = {
    "runs": ["run_id", "rank", "device", "pid", "host", "emulated", "started", "ended", "options",
             "environment", "executions"],
    "graphs": ["file", "index", "graph_id", "name", "dump_name", "subgraphs", "op_count", "role",
               "has_iterator", "bytes"],
    "pairs": ["graph", "time", "device", "rank", "model_names", "role", "confidence", "evidence",
              "steps"],
    "problems": ["code", "severity", "message", "hint", "path"],
}
STEP = ["data_index", "model_name", "model_id", "path", "files", "bytes", "kinds", "iteration"]


def test_the_document_has_the_keys_of_its_schema_in_their_order(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 3, run_id="other", device=1, pid=8)
    document = collect(str(tmp_path)).to_json()
    assert list(document) == ["schema", "dump_path", "runs", "graphs", "pairs", "training",
                              "problems"]
    assert document["schema"] == "keras_npu_dump.manifest/1"
    for name, keys in KEYS.items():
        assert document[name]
        for one in document[name]:
            assert list(one) == keys
    assert all(list(step) == STEP for pair in document["pairs"] for step in pair["steps"])


def test_the_training_pair_of_a_plain_job(tmp_path):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path))
    position, = manifest.training["0"]
    pair = manifest.pairs[position]
    assert (pair.graph, pair.role, pair.confidence, pair.rank, pair.device, pair.time) == (
        "graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt", "train", "exact", 0, 0,
        making.TIME)
    assert [(step.data_index, step.iteration) for step in pair.steps] == [
        (0, {"fit": 0, "epoch": 0, "batch": 0}), (5, {"fit": 0, "epoch": 1, "batch": 1})]
    assert [step.path for step in pair.steps] == [
        "%s/0/%s/5/%d" % (making.TIME, making.TRAIN, index) for index in (0, 5)]
    assert pair.steps[0].files == 14 and pair.steps[0].kinds == {"dump": 14}
    assert manifest.runs[0].executions == {
        making.TRAIN: {"count": 8, "last": 7, "dumped": [0, 5]}}
    assert manifest.problems == []


def test_the_file_on_disk_is_the_document_private_and_readable_again(tmp_path):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path))
    path = tmp_path / "manifest.json"
    assert manifest.path == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert making.load(path) == manifest.to_json()
    assert load_manifest(str(path)).to_json() == manifest.to_json()


def test_a_moved_folder_is_read_where_it_lies_now(tmp_path):
    making.plain_job(tmp_path / "here")
    collect(str(tmp_path / "here"))
    os.rename(str(tmp_path / "here"), str(tmp_path / "there"))
    manifest = load_manifest(str(tmp_path / "there" / "manifest.json"))
    assert os.path.isdir(manifest.absolute(manifest.pairs[0].steps[0].path))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "another/1"}',
                                  '{"schema": "keras_npu_dump.manifest/1", "pairs": [{}]}'])
def test_a_file_that_is_no_manifest_is_a_format_error(tmp_path, text):
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        load_manifest(str(path))


def test_nothing_but_the_manifest_is_made_changed_or_removed(tmp_path):
    making.plain_job(tmp_path)
    os.symlink("nowhere", str(tmp_path / "dangling"))
    before = making.snapshot(tmp_path)
    collect(str(tmp_path), verify=True)
    collect(str(tmp_path), run_id="run")
    after = making.snapshot(tmp_path)
    assert sorted(set(after) - set(before)) == ["manifest.json", "runs/run/manifest.json"]
    assert all(after[path] == before[path] for path in before)


def test_the_manifest_is_replaced_in_one_step(tmp_path):
    """A reader that looks all the time never sees half a document."""
    making.plain_job(tmp_path)
    collect(str(tmp_path))
    stop, broken = threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                making.load(tmp_path / "manifest.json")
            except (OSError, ValueError) as error:
                broken.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        collect(str(tmp_path))
    stop.set()
    reader.join()
    assert broken == []
    assert not [name for name in os.listdir(str(tmp_path)) if name.startswith(".manifest")]


def test_processes_that_collect_at_once_leave_one_whole_manifest(tmp_path):
    making.plain_job(tmp_path)
    code = "import sys, keras_npu_dump; [keras_npu_dump.collect(sys.argv[1]) for _ in range(5)]"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    workers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)],
                                env=dict(os.environ, PYTHONPATH=root)) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert len(making.load(tmp_path / "manifest.json")["pairs"]) == 2
    assert sorted(os.listdir(str(tmp_path))) == [making.TIME, "graphs", "manifest.json", "runs"]


def test_output_names_a_file_or_a_folder(tmp_path):
    making.plain_job(tmp_path / "dump")
    (tmp_path / "out").mkdir()
    assert collect(str(tmp_path / "dump"), output=str(tmp_path / "one.json")).path == str(
        tmp_path / "one.json")
    assert collect(str(tmp_path / "dump"), output=str(tmp_path / "out")).path == str(
        tmp_path / "out" / "manifest.json")
    assert not (tmp_path / "dump" / "manifest.json").exists()


def test_an_output_that_cannot_be_written_is_an_input_error(tmp_path):
    making.plain_job(tmp_path / "dump")
    with pytest.raises(InputError, match="no/such"):
        collect(str(tmp_path / "dump"), output=str(tmp_path / "no/such/manifest.json"))


def test_run_id_is_that_process_alone(tmp_path):
    making.plain_job(tmp_path)
    making.graph(tmp_path / "graphs/pid_8_deviceid_1", making.TRAIN, making.train_ops(), 3, 3)
    making.steps(tmp_path, making.train_ops(), (0,), device=1)
    making.record(tmp_path, (0,), 8, run_id="other", device=1, pid=8, rank=1)
    manifest = collect(str(tmp_path), run_id="other")
    assert manifest.path == str(tmp_path / "runs/other/manifest.json")
    assert [(pair.rank, pair.device) for pair in manifest.pairs] == [(1, 1)]
    assert [run.run_id for run in manifest.runs] == ["other"]
    assert list(manifest.training) == ["1"]
    assert not (tmp_path / "manifest.json").exists()
    with pytest.raises(InputError, match="'nobody'"):
        collect(str(tmp_path), run_id="nobody")


@pytest.mark.parametrize("level", ["", making.TIME, making.TIME + "/0",
                                   "%s/0/%s" % (making.TIME, making.TRAIN),
                                   "%s/0/%s/5" % (making.TIME, making.TRAIN),
                                   "%s/0/%s/5/5" % (making.TIME, making.TRAIN)])
def test_any_level_of_the_tree_can_be_named(tmp_path, level):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path / level))
    pair = next(one for one in manifest.pairs if one.role == "train")
    assert manifest.dump_path == str(tmp_path)
    assert pair.graph == "graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt"
    assert pair.confidence == "exact"
    assert pair.steps[-1].iteration == {"fit": 0, "epoch": 1, "batch": 1}
    assert manifest.problems == []
    # A part of the answer must not replace the whole one.
    assert (tmp_path / "manifest.json").exists() == (not level)
    assert (manifest.path is None) == bool(level)


def test_one_level_above_the_dump_path_is_understood(tmp_path):
    making.plain_job(tmp_path / "output" / "data_dump")
    manifest = collect(str(tmp_path / "output"))
    assert manifest.dump_path == str(tmp_path / "output" / "data_dump")
    assert manifest.pairs[0].steps[0].iteration is not None


def test_a_relative_path_with_slashes_is_the_same(tmp_path, monkeypatch):
    making.plain_job(tmp_path / "dump")
    monkeypatch.chdir(str(tmp_path))
    assert collect("dump//./").to_json() == collect(str(tmp_path / "dump")).to_json()


@pytest.mark.parametrize("path, words", [("file", "which is a file"),
                                         ("absent", "does not exist")])
def test_a_path_that_is_no_folder_is_an_input_error(tmp_path, path, words):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=words):
        collect(str(tmp_path / path))


def test_an_unknown_role_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="'training'"):
        collect(str(tmp_path), role="training")


def test_role_narrows_the_pairs(tmp_path):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path), role="eval")
    assert [pair.role for pair in manifest.pairs] == ["eval"]
    assert manifest.training == {}
    assert len(manifest.graphs) == 2
    # What is on disk is the whole answer, unless somebody wants it otherwise.
    assert len(making.load(tmp_path / "manifest.json")["pairs"]) == 2
    assert manifest.path == str(tmp_path / "manifest.json")
    collect(str(tmp_path), role="eval", output=str(tmp_path / "some.json"))
    assert len(making.load(tmp_path / "some.json")["pairs"]) == 1


def test_keywords_are_shown_as_evidence(tmp_path):
    making.plain_job(tmp_path)
    pair = collect(str(tmp_path), keywords=("dense_1/MatMul",), role="train").pairs[0]
    assert "keyword: dense_1/MatMul in operator net/dense_1/MatMul" in pair.evidence
    assert pair.confidence == "exact"


def test_names_that_are_not_utf8_do_not_break_the_document(tmp_path):
    making.plain_job(tmp_path)
    folder = os.fsencode(str(tmp_path)) + b"/" + making.TIME.encode() + b"/0/\xff\xfe/9/0"
    os.makedirs(folder)
    with open(folder + b"/Add.a.1.2.1900000003000000", "wb") as stream:
        stream.write(b"x")
    manifest = collect(str(tmp_path))
    assert making.load(tmp_path / "manifest.json") == json.loads(json.dumps(manifest.to_json()))
    assert "no-pair" in making.codes(manifest)


def test_importing_collect_is_light_and_brings_no_tensorflow():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = ("import sys, keras_npu_dump; import keras_npu_dump.collector.collect; "
            "assert callable(keras_npu_dump.collect); "
            "print([n for n in ('tensorflow', 'google.protobuf', 'rich', 'pandas', 'keras') "
            "if n in sys.modules])")
    out = subprocess.check_output([sys.executable, "-c", code],
                                  env=dict(os.environ, PYTHONPATH=root))
    assert out.decode().strip() == "[]"


def test_progress_is_told(tmp_path):
    making.plain_job(tmp_path)
    seen = []
    collect(str(tmp_path), progress=lambda stage, done, total: seen.append((stage, done, total)))
    assert ("scan", 3, None) in seen
    assert seen[-1][0] == "headers" and seen[-1][1] == seen[-1][2]
