"""Does an export end well, or with one message and nothing half done?"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from keras_npu_dump.cli import main
from keras_npu_dump.export.places import default_target
from tests.analysis.synthetic import GRAPH, Job, op
from tests.conftest import ROOT

OPS = [op("x", "Data"), op("net/relu", "Relu", ["x:0"])]
VALUES = {"net/relu": ([np.arange(6, dtype=np.float32)], [np.ones(6, np.float32)])}


def dump(folder, data="tensor"):
    """A dump of one execution, and its leaf folder."""
    job = Job(folder, OPS, data=data)
    return str(folder), job.execution(0, VALUES)


def listing(folder):
    return sorted(os.path.relpath(os.path.join(path, name), str(folder))
                  for path, folders, names in os.walk(str(folder)) for name in names + folders)


def refused(capsys, *arguments):
    """The one message of a command that ends with status 2."""
    status = main([str(one) for one in arguments])
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, ""), shown
    assert shown.err.startswith("keras-npu-dump: error: ") and shown.err.count("\n") == 1
    return shown.err


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", ["npy", "bin", "json", "msaccucmp"])
@pytest.mark.parametrize("output, part", [
    ("afile", "afile"), ("afile/below", "afile"), ("packed.zip", "packed.zip"),
    ("packed.tar.bz2", "packed.tar.bz2")])
def test_a_target_that_is_no_folder(here, capsys, form, output, part):
    dump(here / "d")
    (here / "afile").write_text("x")
    before = listing(here)
    assert part in refused(capsys, "export", "d", "--to", form, "--output", output)
    assert listing(here) == before and (here / "afile").read_text() == "x"


@pytest.mark.parametrize("form", ["npy", "bin", "json"])
def test_only_the_comparators_export_packs(here, capsys, form):
    dump(here / "d")
    message = refused(capsys, "export", "d", "--to", form, "--output", "x.tar.gz")
    assert "msaccucmp" in message and "x.tar.gz" in message
    assert main(["export", "d", "--to", "msaccucmp", "--output", "x.tar.gz"]) == 0
    assert (here / "x.tar.gz").is_file()
    said = capsys.readouterr().out
    assert "FOLDER is where it was unpacked" in said and ": bash FOLDER/compare.sh GOLDEN\n" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user to try it")
def test_a_folder_that_may_not_be_written():
    with tempfile.TemporaryDirectory() as folder:
        dump(os.path.join(folder, "d"))
        os.mkdir(os.path.join(folder, "ro"))
        os.chmod(os.path.join(folder, "ro"), 0o555)
        for path, _, names in os.walk(folder):
            for name in names:
                os.chmod(os.path.join(path, name), 0o644)
            os.chmod(path, 0o555 if path.endswith("ro") else 0o755)
        done = subprocess.run([sys.executable, "-c", """
import glob, os, sys
from keras_npu_dump.cli import main
os.chdir(sys.argv[1])
exports = [["export", "d", "--to", form, "--output"] for form in ("npy", "json", "msaccucmp")]
for export in exports:  # a stranger may not read the interpreter's files
    main(export + [export[3]])
main(["collect", "d", "--output", "elsewhere.json"])
os.setgid(65534)
os.setuid(65534)
for command in exports:
    print(main(command + ["ro/out"]), file=sys.stderr)
for command in (["d"], glob.glob("d/2*/0"), ["d", "--json"]):
    print(main(["collect"] + command), file=sys.stderr)
""", folder], env=dict(os.environ, PYTHONPATH=str(ROOT)), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)
        lines = done.stderr.splitlines()
        assert done.returncode == 0 and lines[1:6:2] == ["2"] * 3, done.stderr
        assert all(line.startswith("keras-npu-dump: error: ") and "ro" in line
                   for line in lines[:6:2])
        # A dump that may not be written to is collected; that no manifest was written is said.
        for line in (lines[6], lines[9]):
            assert "cannot write" in line and "d/manifest.json; --output" in line
        assert [lines[7], lines[8], lines[10]] == ["0"] * 3 and len(lines) == 11
        assert os.listdir(os.path.join(folder, "ro")) == []


@pytest.mark.parametrize("form", ["npy", "bin", "msaccucmp"])
def test_statistics_hold_no_tensors(here, capsys, form):
    _, leaf = dump(here / "d", data="stats")
    for path in ["d"] if form == "msaccucmp" else ["d", os.path.join(leaf, os.listdir(leaf)[0])]:
        message = refused(capsys, "export", path, "--to", form)
        assert "statistics" in message and "nothing to export" in message
    assert listing(here) == listing(here) and not list(here.glob("*_" + form))


@pytest.mark.parametrize("form, part", [
    ("npy", "dump files"), ("bin", "dump files"), ("json", "ge_proto"), ("msaccucmp", "no pair")])
def test_a_folder_without_anything_of_ours(here, capsys, form, part):
    (here / "empty").mkdir()
    assert part in refused(capsys, "export", "empty", "--to", form)
    assert listing(here) == ["empty"]


@pytest.mark.parametrize("form", ["npy", "bin", "json", "msaccucmp"])
def test_a_file_that_is_no_dump(here, capsys, form):
    (here / "notes.txt").write_text("not a dump")
    assert "notes.txt" in refused(capsys, "export", "notes.txt", "--to", form)
    assert listing(here) == ["notes.txt"]


def test_a_broken_file_among_others_is_a_problem_and_a_single_one_an_error(here, capsys):
    _, leaf = dump(here / "d")
    broken = os.path.join(leaf, "Add.cut.1.2.1900000000123456")
    with open(broken, "wb") as stream:
        stream.write(b"cut")
    assert main(["export", "d", "--to", "npy"]) == 1
    assert "problems: 1" in capsys.readouterr().out
    assert "Add.cut" in refused(capsys, "export", broken, "--to", "npy")


def test_a_part_of_a_dump_is_exported_outside_of_it(here, capsys, monkeypatch):
    path, leaf = dump(here / "d")
    file = os.path.join(leaf, os.listdir(leaf)[0])
    graph = str(next((here / "d").glob("graphs/*/*_Build.txt")))
    before = listing(path)
    for source, form in ((file, "npy"), (leaf, "npy"), (graph, "json"),
                         (str(here / "d" / "graphs"), "json")):
        assert main(["export", source, "--to", form]) == 0
        target = "%s_%s" % (os.path.basename(source), form)
        assert target in capsys.readouterr().out
        assert os.path.isdir(str(here / target)) and listing(path) == before
    monkeypatch.chdir(leaf)
    assert default_target(os.path.basename(file), "npy") == str(
        here / (os.path.basename(file) + "_npy"))
    assert default_target(".", "npy") == str(here / "0_npy")
    monkeypatch.chdir(path)
    assert default_target(".", "npy") == path + "_npy"
    assert default_target(file, "npy") == str(here / (os.path.basename(file) + "_npy"))


@pytest.mark.parametrize("folders", [("20260101120000",), ("runs", "exp1", "graphs")])
def test_a_whole_dump_is_exported_beside_it(here, folders):
    folder = here.joinpath(*folders)
    path, _ = dump(folder / "d")
    assert default_target(path, "npy") == path + "_npy"
    (folder / "lone.txt").write_text("x")
    assert default_target(str(folder / "lone.txt"), "json") == str(here / "lone.txt_json")


def test_the_comparators_export_counts_all_that_it_writes(here, capsys):
    dump(here / "d")
    assert main(["export", "d", "--to", "msaccucmp", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    sizes = [os.path.getsize(os.path.join(path, name))
             for path, _, names in os.walk(result["target"]) for name in names]
    assert (result["written"], result["bytes"]) == (len(sizes), sum(sizes))
    assert len(sizes) == 3  # the dump, its graph, compare.sh


def test_another_programs_manifest_above_does_not_matter(here, capsys):
    _, leaf = dump(here / "d")
    (here / "manifest.json").write_text('{"name": "a web page"}')
    assert main(["export", leaf, "--to", "npy"]) == 0
    assert main(["collect", "d"]) == 0
    shutil.rmtree(str(here / "d" / "graphs"))
    assert main(["export", leaf, "--to", "npy", "--output", "again"]) == 0
    assert GRAPH not in capsys.readouterr().err
