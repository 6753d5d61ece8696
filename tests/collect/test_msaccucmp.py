"""Is a pair laid out so that the vendor's comparator finds its way through it?"""
import csv
import json
import os
import shutil
import subprocess
import tarfile

import pytest

from keras_npu_dump import collect
from keras_npu_dump.errors import InputError
from keras_npu_dump.export.msaccucmp import export_msaccucmp
from tests.collect import files, making, nets
from tests.collect.making import TIME, TRAIN
from tests.formats import msaccucmp


def listing(root):
    return sorted(os.path.relpath(os.path.join(folder, name), str(root))
                  for folder, _, names in os.walk(str(root)) for name in names)


@pytest.fixture
def dump(tmp_path):
    making.plain_job(tmp_path / "dump")
    return tmp_path / "dump"


def test_nothing_of_an_export_is_open_to_others(dump, tmp_path):
    before = os.umask(0o022)
    try:
        export_msaccucmp(str(dump), str(tmp_path / "deep" / "out"))
    finally:
        os.umask(before)
    folders = [folder for folder, _, _ in os.walk(str(tmp_path / "deep"))]
    assert str(tmp_path / "deep/out/rank0") in folders
    assert {os.stat(folder).st_mode & 0o777 for folder in folders} == {0o700}


def test_the_leaf_the_graph_and_the_command(dump, tmp_path):
    result = export_msaccucmp(str(dump), str(tmp_path / "out"))
    base = tmp_path / "out/rank0" / TRAIN
    source = dump / TIME / "0" / TRAIN / "5"
    for index in ("0", "5"):
        assert sorted(os.listdir(str(base / index))) == sorted(os.listdir(str(source / index)))
    with open(str(base / "graph.json"), encoding="utf-8") as stream:
        graph = json.load(stream)["graph"][0]
    assert graph["name"] == TRAIN
    assert "net/dense/MatMul" in [op["name"] for op in graph["op"]]
    assert result.commands == [
        "python3 msaccucmp.py compare -m rank0/{0}/{1} -g GOLDEN -f rank0/{0}/graph.json "
        "-out results/rank0/{0}/{1}".format(TRAIN, index) for index in (0, 5)]
    assert [(leaf.data_index, leaf.iteration["epoch"], leaf.files) for leaf in result.leaves] == [
        (0, 0, 14), (5, 1, 14)]
    assert (result.linked, result.copied, result.written, result.problems) == (28, 0, 30, [])


def test_files_are_hard_links_and_the_dump_is_left_as_it_was(dump, tmp_path):
    before = making.snapshot(dump)
    export_msaccucmp(str(dump), str(tmp_path / "out"))
    assert making.snapshot(dump) == before
    name = os.listdir(str(dump / TIME / "0" / TRAIN / "5" / "0"))[0]
    assert os.path.samefile(str(dump / TIME / "0" / TRAIN / "5" / "0" / name),
                            str(tmp_path / "out/rank0" / TRAIN / "0" / name))


def test_copies_where_links_cannot_be(dump, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    result = export_msaccucmp(str(dump), str(tmp_path / "out"))
    assert (result.linked, result.copied) == (0, 28)
    path = tmp_path / "out/rank0" / TRAIN / "0"
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in path.iterdir())
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


# What the comparator does of interest here: its statuses and words (msaccucmp of mindstudio-probe
# 26.2, held against the real one by tests/emulator/test_vendor_reads.py).
DOUBLE = """
import os, sys
assert os.listdir(sys.argv[3]) and os.path.isfile(sys.argv[7]) and os.path.isdir(sys.argv[9])
print(sys.argv[1], sys.argv[3][-2:], sys.argv[5], sys.argv[10:])
word, status = os.environ["DOUBLE" + sys.argv[3][-1:]].rsplit(",", 1)
print(word)
sys.exit(int(status))
"""


def compare(dump, tmp_path, first, second):
    """Runs compare.sh over a double whose two runs print and return what is said."""
    export_msaccucmp(str(dump), str(tmp_path / "out"))
    double = tmp_path / "msaccucmp.py"
    double.write_text(DOUBLE)
    return subprocess.run(
        ["bash", str(tmp_path / "out/compare.sh"), "/golden", "-alg", "0"],
        env=dict(os.environ, MSACCUCMP=str(double), DOUBLE0=first, DOUBLE5=second),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


def test_the_script_compares_every_step_though_operators_without_files_are_status_2(
        dump, tmp_path):
    done = compare(dump, tmp_path, "fine,0", "There is no dump file for NetOutput,2")
    assert [line for line in done.stdout.splitlines() if line.startswith("compare ")] == [
        "compare /%d /golden ['-alg', '0']" % index for index in (0, 5)]
    assert done.stderr == "compare.sh: 2 of 2 steps compared, results below %s/results\n" % (
        tmp_path / "out")
    assert done.returncode == 0
    results = [folder for folder, _, _ in os.walk(str(tmp_path / "out/results"))]
    assert {os.stat(folder).st_mode & 0o777 for folder in results} == {0o700}


@pytest.mark.parametrize("first", [
    "broken,4", "The model does not match the dump data, please check,2"])
def test_the_script_goes_on_behind_a_step_that_fails_and_says_which(dump, tmp_path, first):
    done = compare(dump, tmp_path, first, "fine,0")
    assert "compare /5 /golden" in done.stdout
    counted, which = done.stderr.splitlines()
    assert counted.startswith("compare.sh: 1 of 2 steps compared")
    assert which.startswith("compare.sh: not compared: rank0/%s/0 (status %s, " % (
        TRAIN, first[-1]))
    assert done.returncode == 1


def test_the_script_says_where_it_looked_for_the_comparator(dump, tmp_path):
    export_msaccucmp(str(dump), str(tmp_path / "out"))
    done = subprocess.run(
        ["bash", str(tmp_path / "out/compare.sh"), "/golden"], stderr=subprocess.PIPE,
        env=dict(os.environ, ASCEND_TOOLKIT_HOME=str(tmp_path)), universal_newlines=True)
    assert done.returncode == 2
    assert done.stderr.endswith("Received: %s/tools/operator_cmp/compare/msaccucmp.py\n" % tmp_path)


def test_an_archive_to_carry_out_of_a_container(dump, tmp_path):
    target = str(tmp_path / "carry.tar.gz")
    result = export_msaccucmp(str(dump), target)
    folder = str(tmp_path / "out")
    export_msaccucmp(str(dump), folder)
    with tarfile.open(target) as archive:
        names = [one.name for one in archive.getmembers() if one.isfile()]
        assert {one.uname for one in archive.getmembers()} == {""}
        archive.extractall(str(tmp_path / "unpacked"))
    assert sorted(names) == ["carry/" + name for name in listing(folder)]
    for name in listing(folder):
        with open(os.path.join(folder, name), "rb") as one, \
                open(str(tmp_path / "unpacked/carry" / name), "rb") as other:
            assert one.read() == other.read()
    assert result.copied == 28 and os.stat(target).st_mode & 0o777 == 0o600


def test_the_parts_of_a_dynamic_graph_are_one_leaf(tmp_path):
    graphs = nets.split(TRAIN, making.train_ops(), 2)
    making.graph(tmp_path / "dump/graphs", *graphs[0], index=3, subgraphs=graphs[1:])
    for position, (name, part) in enumerate(graphs[1:]):
        making.steps(tmp_path / "dump", part, (0,), name, 5 + position)
    result = export_msaccucmp(str(tmp_path / "dump"), str(tmp_path / "out"))
    leaf, = result.leaves
    assert leaf.files == 14 and leaf.leaf == "device0/%s_sub_0_unknow/0" % TRAIN


def test_digits_keep_their_mapping_and_what_the_comparator_cannot_read_stays(dump, tmp_path):
    step = str(dump / TIME / "0" / TRAIN / "5" / "0")
    names = sorted(os.listdir(step))
    os.rename(os.path.join(step, names[0]), os.path.join(step, "123"))
    files.write(os.path.join(step, "mapping.csv"), "123,%s\n123,%s\n" % (names[0], names[0]))
    files.write(os.path.join(step, "456"), "unknown")
    files.write(os.path.join(step, "Opdebug.Node_OpDebug.1.2.1900000000000000"), "x")
    open(os.path.join(step, names[1]), "wb").close()
    result = export_msaccucmp(str(dump), str(tmp_path / "out"))
    leaf = tmp_path / "out/rank0" / TRAIN / "0"
    assert sorted(os.listdir(str(leaf))) == sorted(names[2:] + ["123", "mapping.csv"])
    assert (leaf / "mapping.csv").read_text() == "123,%s\n" % names[0]
    assert result.passed == 2
    assert [reason[:5] for _, reason in result.problems] == ["empty"]


def test_every_role_can_be_exported_and_ranks_lie_side_by_side(dump, tmp_path):
    making.graph(dump / "graphs/pid_8_deviceid_1", TRAIN, making.train_ops(), 3, 3)
    making.steps(dump, making.train_ops(), (0,), device=1)
    making.record(dump, (0,), 8, run_id="other", device=1, pid=8, rank=1)
    result = export_msaccucmp(collect(str(dump)), str(tmp_path / "out"), role=None)
    assert sorted(leaf.leaf.split("/")[0] + "/" + leaf.leaf.split("/")[1][:17]
                  for leaf in result.leaves) == [
        "rank0/__inference_test_", "rank0/__inference_train", "rank0/__inference_train",
        "rank1/__inference_train"]


def test_a_manifest_on_disk_is_a_source_too(dump, tmp_path):
    collect(str(dump))
    shutil.move(str(dump), str(tmp_path / "moved"))
    result = export_msaccucmp(str(tmp_path / "moved/manifest.json"), str(tmp_path / "out"))
    assert len(result.leaves) == 2


def test_what_the_comparator_would_refuse_is_said(dump, tmp_path):
    result = export_msaccucmp(str(dump), str(tmp_path / "out put"))
    assert "blanks" in result.problems[0][1]


@pytest.mark.parametrize("make, words", [
    (lambda dump, out: out.mkdir() or (out / "x").write_text(""), "in the way"),
    (lambda dump, out: out.write_text(""), "in the way"),
    (lambda dump, out: shutil.rmtree(str(dump / TIME)), "nothing to export"),
])
def test_wrong_input_is_one_error_and_leaves_nothing(dump, tmp_path, make, words):
    make(dump, tmp_path / "out")
    before = listing(tmp_path)
    with pytest.raises(InputError, match=words):
        export_msaccucmp(str(dump), str(tmp_path / "out"))
    assert listing(tmp_path) == before


def test_statistics_cannot_be_compared(tmp_path):
    making.graph(tmp_path / "dump/graphs", TRAIN, making.train_ops(), 3)
    making.steps(tmp_path / "dump", making.train_ops(), (0,), data="stats")
    with pytest.raises(InputError, match="statistics"):
        export_msaccucmp(str(tmp_path / "dump"), str(tmp_path / "out"))


def test_an_interrupted_export_leaves_nothing(dump, tmp_path):
    def stop(stage, done, total):
        if done == 5:
            raise KeyboardInterrupt

    for target in ("out", "out.tar.gz"):
        with pytest.raises(KeyboardInterrupt):
            export_msaccucmp(str(dump), str(tmp_path / target), progress=stop)
    assert os.listdir(str(tmp_path)) == ["dump"]


def test_the_vendors_comparator_compares_an_exported_leaf(dump, tmp_path):
    """The real msaccucmp, given only what was exported and golden files of the same values."""
    np = pytest.importorskip("numpy")
    result = export_msaccucmp(str(dump), str(tmp_path / "out"))
    compared = [op for op in making.train_ops() if op.dumped]
    (tmp_path / "golden").mkdir()
    for op in compared:
        for index, (_, shape) in enumerate(op.outputs):
            count = int(np.prod(shape, dtype=int))
            np.save(str(tmp_path / "golden" / ("%s.%d.1900000000000001.npy" % (
                op.name.replace("/", "_"), index))),
                np.frombuffer(b"\x01" * 4 * count, np.float32).reshape(shape))
    commands = []
    for leaf in result.leaves:
        out = tmp_path / "results" / str(leaf.data_index)
        out.mkdir(parents=True)
        commands.append(["compare", "-m", tmp_path / "out" / leaf.leaf, "-g", tmp_path / "golden",
                         "-f", tmp_path / "out" / leaf.json, "-out", out])
    try:
        _, output = msaccucmp.run(commands, tmp_path)
    except msaccucmp.Unavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    for leaf in result.leaves:
        path, = (tmp_path / "results" / str(leaf.data_index)).glob("result_*.csv")
        with open(str(path), newline="") as stream:
            rows = list(csv.DictReader(stream))
        equal = {row["NPUDump"] for row in rows
                 if row["CosineSimilarity"] not in ("", "NaN") and row["MaxAbsoluteError"] in (
                     "0.000000", "0.0") and float(row["CosineSimilarity"]) == 1}
        # Golden names are those of the framework; a fused operator's is the last one.
        assert {op.name for op in compared if len(op.originals) == 1} <= equal, output[-3000:]
