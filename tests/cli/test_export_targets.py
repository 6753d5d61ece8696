"""Does an export write where it was told to, privately, and go on past what it cannot read?"""
import json
import os
import stat
import tarfile

import numpy as np
import pytest

from keras_npu_dump.cli import main
from keras_npu_dump.errors import FormatError
from keras_npu_dump.export.bundle import Archive, Folder
from keras_npu_dump.export.msaccucmp import export_msaccucmp
from keras_npu_dump.export.npy import export_npy
from tests.analysis.synthetic import Job, op

FORMS = ("npy", "bin", "json", "msaccucmp")
NAMES = ["net/relu", "net/" + "long_name/" * 30]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with a dump `d`, and precious things of others outside of it."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    job = Job(work / "d", [op("x", "Data"), op(NAMES[0], "Relu", ["x:0"])])
    job.execution(0, {NAMES[0]: ([np.arange(6.)], [np.ones(6)])})
    # Its exported name is too long for a file system, so that mapping.csv is written.
    step, = (work / "d").glob("2*/0/*/5/0")
    file, = step.iterdir()
    (step / ("Relu." + "a" * 220 + ".2.3.1900000000000000")).write_bytes(file.read_bytes())
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious")
    return work


def export(form, *more):
    return main(["export", "d", "--to", form, "--output", form, "--json"] + list(more))


def files_below(folder):
    return sorted(os.path.join(top, name) for top, _, names in os.walk(str(folder))
                  for name in names)


def outside(here):
    return {path: open(path, "rb").read() for path in files_below(here.parent / "outside")}


@pytest.mark.parametrize("make", [os.symlink, os.link])
@pytest.mark.parametrize("form", ["npy", "bin", "json"])
def test_no_file_is_written_through_a_link_of_its_name(here, capsys, form, make):
    assert export(form) == 0
    files = files_below(form)
    assert form == "json" or [one for one in files if one.endswith("mapping.csv")]
    expected = {one: open(one, "rb").read() for one in files}
    precious, before = str(here.parent / "outside" / "precious"), outside(here)
    for file in files:
        os.unlink(file)
        make(precious, file)
        if form == "json":
            os.utime(precious, (0, 0))
            make(precious, file + ".part")
    assert export(form) == 0
    assert outside(here) == before
    for file, content in expected.items():
        with open(file, "rb") as stream:
            assert stream.read().endswith(content)  # lines of a mapping are kept
        assert not os.path.islink(file) and os.stat(file).st_nlink == 1


@pytest.mark.parametrize("form", ["npy", "json"])
def test_a_link_to_a_folder_in_the_target_is_a_problem(here, capsys, form):
    assert export(form) == 0
    capsys.readouterr()
    inside = next(os.path.join(form, name) for name in os.listdir(form))
    os.rename(inside, "elsewhere")
    os.symlink(str(here.parent / "outside"), inside)
    before = outside(here)
    assert export(form) == 1
    answer = json.loads(capsys.readouterr().out)
    assert outside(here) == before and (answer["written"], answer["skipped"]) == (0, 0)
    (_, reason), = answer["problems"]
    assert "a link to a folder" in reason


@pytest.mark.parametrize("form", FORMS)
def test_links_that_the_user_names_are_followed(here, form):
    (here / "real" / "empty").mkdir(parents=True)
    os.symlink("real", "parent")
    os.symlink("real/empty", "link")
    for output in ("parent/new", "link"):
        assert main(["export", "d", "--to", form, "--output", output]) == 0
    assert os.path.islink("link")
    assert len(files_below("real/empty")) == len(files_below("real/new")) > 0


def test_an_archive_at_a_link_that_leads_nowhere_yet(here):
    (here / "real").mkdir()
    os.symlink("real/there.tar.gz", "out.tar.gz")
    assert main(["export", "d", "--to", "msaccucmp", "--output", "out.tar.gz"]) == 0
    assert os.listdir("real") == ["there.tar.gz"] and os.path.islink("out.tar.gz")


@pytest.mark.parametrize("form", FORMS)
def test_all_that_is_made_is_the_owners(here, form):
    for path in files_below("d"):
        os.chmod(path, 0o666)
    before = os.umask(0)
    try:
        assert main(["export", "d", "--to", form, "--output", "deep/out"]) == 0
    finally:
        os.umask(before)
    folders = [top for top, _, _ in os.walk("deep")]
    assert {stat.S_IMODE(os.stat(one).st_mode) for one in folders} == {0o700}
    # Hard links have the mode of the dump, and lie below a folder that nobody enters.
    assert {stat.S_IMODE(os.stat(one).st_mode) for one in files_below("deep")
            if os.stat(one).st_nlink == 1} == {0o600}


def test_an_archive_is_private_where_it_is_unpacked(here):
    for path in files_below("d"):
        os.chmod(path, 0o666)
    assert main(["export", "d", "--to", "msaccucmp", "--output", "out.tar.gz"]) == 0
    assert stat.S_IMODE(os.stat("out.tar.gz").st_mode) == 0o600
    with tarfile.open("out.tar.gz") as archive:
        top, *rest = archive.getmembers()
        assert (top.name, top.isdir(), top.mode) == ("out", True, 0o700)
        assert {one.mode for one in rest} == {0o600}
        assert {(one.uid, one.gid, one.uname, one.gname) for one in rest} == {(0, 0, "", "")}


def broken_at(path, change):
    """A callback of progress that changes a file before it is read."""
    def progress(stage, done, total):
        if done == 1:
            change(path)
    return progress


@pytest.mark.parametrize("change, code", [
    (os.unlink, "No such file"), (lambda path: os.truncate(path, 10), "zeros stand"),
    (lambda path: (os.unlink(path), os.mkfifo(path)), "FIFO")])
@pytest.mark.parametrize("output", ["out", "out.tar.gz"])
def test_a_file_that_goes_while_it_is_packed_is_one_problem(here, change, code, output):
    last = max(files_below(*(here / "d").glob("2*")))
    size = os.path.getsize(last)
    result = export_msaccucmp("d", output, progress=broken_at(last, change))
    if output == "out" and code == "zeros stand":  # a hard link is the file as it is
        assert result.problems == []
        return
    if code == "zeros stand":  # opened anew, it is as short as it is by then
        with tarfile.open(output) as archive:
            assert [one.size for one in archive if one.name.endswith(os.path.basename(last))] in (
                [10], [size])
        return
    (path, reason), = result.problems
    assert path == last and code in reason
    assert result.linked + result.copied == 1 and os.path.exists(output)


def test_what_gets_shorter_while_it_is_read_is_filled_and_told(here):
    from keras_npu_dump.errors import FormatError
    from keras_npu_dump.export import bundle
    path = str(here / "big")
    with open(path, "wb") as stream:
        stream.write(b"x" * (1 << 20))

    class Shrinking(bundle._Filled):
        def read(self, size=-1):
            os.truncate(path, 5000)
            return super().read(size)

    whole, bundle._Filled = bundle._Filled, Shrinking
    try:
        with bundle.Archive("out.tar.gz") as archive, pytest.raises(FormatError, match="zeros"):
            archive.add(path, "big")
    finally:
        bundle._Filled = whole
    with tarfile.open("out.tar.gz") as archive:
        data = archive.extractfile("out/big").read()
    assert len(data) == 1 << 20 and data.rstrip(b"\0") == b"x" * 5000


def test_a_step_folder_that_goes_is_one_problem_and_the_rest_is_written(here):
    job = Job(here / "e", [op("x", "Data"), op("y", "Relu", ["x:0"])])
    steps = [job.execution(number, {"y": ([np.arange(6.)], [np.ones(6)])}) for number in (0, 1)]

    def remove(stage, done, total):
        if done == 1:
            for name in os.listdir(steps[1]):
                os.unlink(os.path.join(steps[1], name))
            os.rmdir(steps[1])
    result = export_npy("e", "out", progress=remove)
    assert [path for path, _ in result.problems] == [os.path.relpath(steps[1], str(here))]
    assert result.files == 1 and len(files_below("out")) == 2


def test_a_graph_that_is_gone_is_a_problem_of_the_comparators_export(here, capsys):
    assert main(["collect", "d"]) == 0
    graph, = (here / "d" / "graphs").rglob("*_Build.txt")
    graph.unlink()
    result = export_msaccucmp("d/manifest.json", "out")
    assert [os.path.basename(path) for path, _ in result.problems] == [graph.name]
    assert result.linked == 2


def test_a_name_that_mapping_cannot_hold_is_a_problem(here):
    step, = (here / "d").glob("2*/0/*/5/0")
    file = min(step.iterdir())
    file.rename(step / "123")
    (step / "mapping.csv").write_bytes(
        b"123,%s\n" % os.fsencode(file.name.replace("Relu.", "Relu.a\rb")))
    result = export_msaccucmp("d", "out")
    assert [reason for _, reason in result.problems if "line break" in reason]
    assert result.linked == 2 and not [one for one in files_below("out") if "mapping" in one]


@pytest.mark.parametrize("command", [
    ["collect", "d"], ["collect", "{d}"], ["collect", "{d}", "--output", "m.json"],
    ["collect", "{d}", "--graphs", "g"], ["inspect", "d"], ["inspect", "{d}"],
    ["inspect", "{d}", "--op", "y"], ["triage", "d"], ["triage", "{d}"],
    ["triage", "{d}", "--flagfile", "x.flags"], ["doctor"], ["doctor", "--data_dump_path", "{d}x"],
    ["export", "d", "--to", "npy"], ["export", "{d}", "--to", "npy"],
    ["export", "{d}", "--to", "json", "--output", "j"],
    ["export", "{d}", "--to", "msaccucmp", "--output", "o"],
    ["export", "{d}", "--to", "msaccucmp", "--output", "{d}_o.tar.gz"],
    ["run", "x.py"], ["run", "--emulate", "x.py"]])
def test_a_working_directory_that_was_deleted(here, capsys, monkeypatch, command):
    job = Job(here / "bad", [op("x", "Data"), op("y", "Relu", ["x:0"])])
    job.execution(0, {"y": ([np.arange(6.)], [np.array([np.nan] * 6)])})
    absolute = str(here / "bad")
    (here / "gone").mkdir()
    monkeypatch.chdir(here / "gone")
    (here / "gone").rmdir()
    status = main([word.replace("{d}", absolute) for word in command])
    shown = capsys.readouterr()
    relative = not any(word.startswith("{d}") for word in command[1:]) or any(
        word[0] in "mgjo" and word != "msaccucmp" for word in command[3:])
    assert status == 2 if relative else status in (0, 1)
    if status == 2:
        assert shown.err.startswith("keras-npu-dump: error: ") and shown.err.count("\n") == 1
    else:
        assert shown.out


def test_a_terabyte_is_not_copied(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x")
    os.truncate(str(file), 1 << 40)
    for maker, target in ((Folder, "folder"), (Archive, "a.tar.gz")):
        with maker(str(tmp_path / target)) as made, pytest.raises(FormatError, match="at most"):
            made.add(str(file), "copy")
