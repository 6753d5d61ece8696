"""One FIFO, device, link to nowhere or terabyte in a tree: does every command give the same
answer as without it, and tell it?

All in this process: a hang is ended by the timeout, and memory is that of the process.
"""
import json
import os
import resource

import numpy as np
import pytest

from keras_npu_dump.cli import main
from keras_npu_dump.formats.tensor.header import read_header
from tests.analysis.synthetic import GRAPH, Job, op
from tests.files import odd

pytestmark = pytest.mark.timeout(30)
OPS = [op("x", "Data"), op("net/relu", "Relu", ["x:0"])]
VALUES = {"net/relu": ([np.arange(6, dtype=np.float32)], [np.ones(6, np.float32)])}
STAMP = "1900000000000000"
# Where, and whether something of the dump stood there before.
PLACES = {
    "run": "runs/{run}/run.json", "journal": "runs/{run}/iterations.jsonl",
    "own-manifest": "runs/{run}/manifest.json", "other-run": "runs/other", "manifest":
    "manifest.json", "flags": "next.flags", "graph":
    "graphs/pid_100000_deviceid_0/ge_proto_00000009_graph_9_Build.txt",
    "top": "stray", "dump": "{step}/Relu.net_relu.1.3." + STAMP,
    "csv": "{step}/Relu.net_relu.1.3.%s.csv" % STAMP, "mapping": "{step}/mapping.csv",
    "digits": "{step}/12345678901234567890", "stray": "{step}/notes"}
# Nobody opens these, or they are for others to write.
UNREAD = ("own-manifest",)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A job of two executions, and where its places are."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    job = Job(tmp_path / "d", OPS)
    job.execution(0, VALUES)
    job.execution(1, VALUES)
    job.counted(2)
    names = {"run": os.listdir(str(tmp_path / "d" / "runs"))[0],
             "step": os.path.join(job.session(), "0", GRAPH, "5", "1")}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield tmp_path / "d", lambda place: str(tmp_path / "d" / PLACES[place].format(**names))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 400 << 10, "%d MB" % (grown >> 10)


def run(capsys, *arguments):
    status = main([str(one) for one in arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def collected(capsys, folder):
    """The answer, and its problems."""
    status, out, _ = run(capsys, "collect", folder, "--json", "--output", "answer.json")
    document = json.loads(out)
    return status, document, document.pop("problems")


def told(problems, before):
    """The problems that are new."""
    return [one for one in problems if one not in before]


@pytest.mark.parametrize("kind", odd.NOT_FILES)
@pytest.mark.parametrize("place", PLACES)
def test_collect_answers_as_without_it_and_tells_it(tree, capsys, place, kind):
    folder, at = tree
    path, inside = at(place), os.path.relpath(at(place), str(folder))
    if os.path.lexists(path):
        os.unlink(path)
    expected, answer, before = collected(capsys, folder)
    odd.make(kind, path)
    status, again, problems = collected(capsys, folder)
    assert again == answer and status == expected
    new = [(one["code"], one["severity"], one["path"]) for one in told(problems, before)]
    if place in UNREAD or "folder" in kind and place not in (
            "run", "journal", "graph", "dump", "csv", "mapping"):
        assert new == []  # folders are what a tree is made of
        return
    beside = [("foreign-file", "warning", inside + ".target")] if kind == "link-to-FIFO" and (
        "{step}" in PLACES[place] or place in ("other-run", "manifest", "flags", "top")) else []
    assert sorted(new) == sorted([("foreign-file", "warning", inside)] + beside)
    # Only what said that it is missing may be gone.
    assert {one["code"] for one in before if one not in problems} <= {"unreadable"}


@pytest.mark.parametrize("place", ["run", "journal", "graph", "mapping"])
def test_a_file_that_gives_errors_is_one_more_problem(tree, capsys, place):
    """As on a broken disk: it opens, has no size, and every read fails."""
    folder, at = tree
    path = at(place)
    if place == "mapping":  # of a folder without digits nobody asks for it
        with open(at("digits"), "wb") as stream:
            stream.write(b"x" * 100)
    if os.path.lexists(path):
        os.unlink(path)
    commands = [["inspect", folder, "--json"], ["triage", folder, "--flagfile", "flags"]]
    expected, answer, before = collected(capsys, folder)
    statuses = [run(capsys, *command)[0] for command in commands]
    os.symlink("/proc/self/mem", path)
    status, again, problems = collected(capsys, folder)
    assert status == expected
    if place == "graph":  # a graph file it is, of which nothing is known
        again["graphs"] = [one for one in again["graphs"] if not path.endswith(one["file"])]
    assert again == answer
    new = told(problems, before)
    assert [one["code"] for one in new] == ["unreadable"] and os.path.basename(path) in (
        new[0]["message"] + str(new[0]["path"]))
    assert [run(capsys, *command)[0] for command in commands] == statuses


@pytest.mark.parametrize("kind", ["FIFO", "zero", "socket", "nowhere", "folder"])
@pytest.mark.parametrize("place", ["run", "journal", "manifest", "graph", "dump", "mapping", "top"])
def test_the_other_commands_go_on(tree, capsys, place, kind):
    folder, at = tree
    path = at(place)
    if os.path.lexists(path):
        os.unlink(path)
    commands = [["inspect", folder, "--json"], ["inspect", folder, "--op", "relu", "--json"],
                ["triage", folder, "--json", "--flagfile", "flags"],
                ["export", folder, "--to", "npy", "--output", "npy%d", "--json"],
                ["export", folder, "--to", "json", "--output", "json%d", "--json"],
                ["export", folder, "--to", "msaccucmp", "--output", "cmp%d", "--json"]]

    def answers(number):
        found = []
        for command in commands:
            status, out, err = run(capsys, *[str(word).replace("%d", str(number))
                                             for word in command])
            document = json.loads(out.replace("npy%d" % number, "npy").replace(
                "json%d" % number, "json").replace("cmp%d" % number, "cmp"))
            problems = document.pop("problems", [])
            problems += document.get("checked", {}).pop("unreadable", [])
            found.append((document, problems))
            assert status in (0, 1) and "Traceback" not in err
        return found

    before = answers(0)
    odd.make(kind, path)
    for (document, problems), (expected, known) in zip(answers(1), before):
        assert document == expected
        # Not every command reads everything; one entry is told once at most.
        assert len([one for one in problems if one not in known]) <= 1


def test_a_dump_file_that_goes_on_for_a_terabyte(tree, capsys):
    folder, at = tree
    path = at("dump")
    made = next(one for one in os.listdir(os.path.dirname(path)) if one.startswith("Relu"))
    os.rename(os.path.join(os.path.dirname(path), made), path)
    assert read_header(path).inputs
    with open(path, "r+b") as stream:
        stream.truncate(odd.TERABYTE)
    _, _, problems = collected(capsys, folder)
    assert ("foreign-file", os.path.relpath(path, str(folder))) in [
        (one["code"], one["path"]) for one in problems]
    for command in (["inspect", path], ["triage", folder],
                    ["export", folder, "--to", "npy", "--output", "npy"]):
        assert run(capsys, *command)[0] in (0, 1, 2)


@pytest.mark.parametrize("place", [one for one in PLACES if one != "other-run"])
def test_a_terabyte_of_nothing_is_told_at_once(tree, capsys, place):
    folder, at = tree
    path = at(place)
    replaced = os.path.lexists(path)
    _, answer, before = collected(capsys, folder)
    odd.make("terabyte", path)
    status, again, problems = collected(capsys, folder)
    assert [one["graph"] for one in again["pairs"]] == [one["graph"] for one in answer["pairs"]]
    assert [one["data_index"] for one in again["pairs"][0]["steps"]] == [0, 1]
    new = told(problems, before)
    if place in ("run", "journal", "graph", "dump", "csv"):
        assert {one["code"] for one in new if one["path"] == os.path.relpath(
            path, str(folder))} & {
            "unreadable", "foreign-file", "truncated-file"}
    for command in (["inspect", path], ["inspect", folder], ["inspect", folder, "--op", "relu"],
                    ["triage", folder], ["export", folder, "--to", "npy", "--output", "npy"],
                    ["export", folder, "--to", "json", "--output", "json"],
                    ["export", path, "--to", "json", "--output", "json2"],
                    ["export", path, "--to", "bin", "--output", "bin"],
                    ["run", path]):
        if command[0] == "run" or place in ("mapping",) and command[1] == path:
            continue
        status, _, err = run(capsys, *command)
        assert status in (0, 1, 2) and "Traceback" not in err
    assert replaced == (place in ("run", "journal"))


def as_path(path, folder):
    """Every command that takes a path, with this one."""
    return [["collect", path], ["collect", folder, "--graphs", path], ["inspect", path],
            ["inspect", path, "--op", "x"], ["triage", path], ["run", path],
            ["run", "--flagfile=%s" % path, "train.py"], ["run", "--flagfile", path, "train.py"]
            ] + [["export", path, "--to", form, "--output", "out"]
                 for form in ("npy", "bin", "json", "msaccucmp")]


@pytest.mark.parametrize("kind", [one for one in odd.NOT_FILES if "folder" not in one])
def test_as_the_argument_it_is_one_message(tree, capsys, kind):
    folder, _ = tree
    path = str(folder.parent / "odd")
    odd.make(kind, path)
    with open("train.py", "w") as stream:
        stream.write("raise SystemExit(9)\n")
    for command in as_path(path, folder):
        status, out, err = run(capsys, *command)
        assert (status, out) == (2, ""), (command, out, err)
        assert "odd" in err and err.startswith("keras-npu-dump: error: "), command
        assert err.count("\n") == 1, command
    assert not os.path.lexists("out")


@pytest.mark.parametrize("kind", ["FIFO", "socket", "zero", "full", "link-to-FIFO"])
def test_as_the_target_it_stays_what_it_is(tree, capsys, kind):
    folder, _ = tree
    path = os.path.abspath("odd")
    odd.make(kind, path)
    before = os.lstat(path)
    for command in ([["collect", folder, "--output", path]]
                    + [["export", folder, "--to", form, "--output", path]
                       for form in ("npy", "bin", "json", "msaccucmp")]):
        status, _, err = run(capsys, *command)
        assert status == 2 and "odd" in err and err.count("\n") == 1, (command, err)
    assert run(capsys, "triage", folder, "--flagfile", path, "--json")[0] in (0, 1)
    assert os.lstat(path).st_ino == before.st_ino


@pytest.mark.parametrize("kind", ["FIFO", "socket", "zero", "full"])
def test_what_lies_in_the_target_of_an_export_is_told(tree, capsys, kind):
    folder, _ = tree
    for form in ("npy", "bin", "json"):
        status, out, _ = run(capsys, "export", folder, "--to", form, "--output", form, "--json")
        assert status == 0
        whole = json.loads(out)
        place = next(os.path.join(top, names[0]) for top, _, names in os.walk(form) if names)
        odd.make(kind, place)
        status, out, _ = run(capsys, "export", folder, "--to", form, "--output", form, "--json")
        again = json.loads(out)
        assert status == 1 and len(again["problems"]) == 1
        assert again["skipped"] == whole["written"] - 1
        assert os.path.exists(place) and not os.path.isfile(place)
    for place in ("npy/mapping.csv", "json/graphs/x_Build.txt.json.part"):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if not os.path.lexists(place):
            odd.make(kind, place)
    assert run(capsys, "export", folder, "--to", "npy", "--output", "npy")[0] in (0, 1)


def test_an_argument_that_is_a_folder_or_not_there_says_so(tree, capsys):
    folder, _ = tree
    for path, what in (("nowhere", "does not exist"), (str(folder), "is a folder")):
        status, _, err = run(capsys, "run", path)
        assert status == 2 and what in err
    assert "does not exist" in run(capsys, "collect", folder, "--graphs", "nowhere")[2]
