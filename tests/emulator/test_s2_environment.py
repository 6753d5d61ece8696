"""Reference, semantics 2 and formats 1: which graph files are written, and where."""
import os

import pytest

from keras_npu_dump.emulator.ge.engine import Engine
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.graphs import build_file, graph_folder
from keras_npu_dump.formats.graph import ge_graph as graph_lib
from keras_npu_dump.formats.graph import graph_reader
from tests.emulator import nets


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_FORMAT", "DUMP_GRAPH_PATH",
                 "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("text, level", [
    ("1", 1), ("2", 2), ("3", 3), ("0", 0), ("4", 0), ("", 0), ("abc", 0), ("2x", 2), ("-1", 2),
    (" 2", 2), ("02", 2)])
def test_fact_2_dump_ge_graph_is_read_as_strtol_reads(monkeypatch, text, level):
    monkeypatch.setenv("DUMP_GE_GRAPH", text)
    assert graph_folder.dump_level() == level


def test_fact_2_without_dump_ge_graph_nothing():
    assert graph_folder.dump_level() == 0


@pytest.mark.parametrize("text, wanted", [
    (None, True), ("1", True), ("2", True), ("3", True), ("4", False), ("5", False), ("", False),
    ("Build", True), ("uil", True), ("PreRun|Build", True), ("PreRunBegin", False)])
def test_fact_2_dump_graph_level_lets_build_through(monkeypatch, text, wanted):
    if text is not None:
        monkeypatch.setenv("DUMP_GRAPH_LEVEL", text)
    assert graph_folder.stage_wanted("Build") is wanted


@pytest.mark.parametrize("text, wanted", [
    (None, True), ("", True), ("ge_proto", True), ("GE_PROTO|onnx", True), ("onnx", False),
    ("readable", False)])
def test_fact_2_dump_graph_format_asks_for_ge_proto(monkeypatch, text, wanted):
    if text is not None:
        monkeypatch.setenv("DUMP_GRAPH_FORMAT", text)
    assert graph_folder.format_wanted("ge_proto") is wanted


@pytest.mark.parametrize("names, ending", [
    (("NPU_COLLECT_PATH", "DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"), "a/extra-info/graph/{pid}_5"),
    (("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"), "a/pid_{pid}_deviceid_5"),
    (("ASCEND_WORK_PATH",), "a"),
    ((), "")])
def test_fact_2_precedence_of_folders(monkeypatch, tmp_path, names, ending):
    monkeypatch.chdir(tmp_path)
    for letter, name in zip("abc", names):
        monkeypatch.setenv(name, str(tmp_path / letter))
    folder = graph_folder.GraphFolder().prefix(5)
    expected = str(tmp_path / ending.format(pid=os.getpid())) if ending else "."
    assert folder == expected and os.path.isdir(folder)


def test_fact_2_an_empty_dump_graph_path_means_a_pid_folder_here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUMP_GRAPH_PATH", "")
    assert graph_folder.GraphFolder().prefix(0) == "pid_%d_deviceid_0" % os.getpid()


def test_fact_2_a_folder_that_cannot_be_made_falls_back_to_the_current_one(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path / "file"))
    assert graph_folder.GraphFolder().prefix(0) == "."


def test_fact_2_the_folder_is_decided_at_the_first_file(monkeypatch, tmp_path):
    folder = graph_folder.GraphFolder()
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path / "first"))
    first = folder.prefix(0)
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path / "second"))
    assert folder.prefix(0) == first


def test_fact_2_variables_are_read_at_each_graph_and_the_folder_once(observe):
    seen = observe("environment").result
    name = "first/pid_%d_deviceid_0/ge_proto_%%08d_graph_%%d_Build.txt" % seen["pid"]
    # Graph ids count every graph, numbers only the files.
    assert seen["made"] == [[], [], [], [name % (0, 3)], [name % (1, 4)], [name % (2, 5)], [],
                            [name % (3, 7)]]


def test_what_is_not_emulated_is_said(observe):
    assert "only ge_proto is emulated" in observe("environment").stderr


def test_fact_2_with_a_dump_path_the_build_graph_comes_always_and_with_its_values(observe):
    seen = observe("always")
    assert seen.result == ["ge_proto_00000000_graph_0_Build.txt"]
    text = (seen.folder / seen.result[0]).read_text()
    assert 'key: "value"' in text and "data: " in text


@pytest.mark.parametrize("number, values", [(0, False), (2, True), (3, False)])
def test_fact_2_constants_keep_their_values_at_level_1_only(observe, number, values):
    seen = observe("environment")
    path = next(made for made in seen.result["made"] if made and "%08d" % number in made[0])[0]
    assert ("data: " in (seen.folder / path).read_text()) is values


@pytest.mark.parametrize("number, given", [(0, True), (2, True), (3, False)])
def test_fact_1_5_levels_1_and_2_hold_the_options(observe, number, given):
    seen = observe("environment")
    path = next(made for made in seen.result["made"] if made and "%08d" % number in made[0])[0]
    text = (seen.folder / path).read_text()
    for key in ("SessionOptions", "ge.exec.dumpMode", "GlobalOptions", "ge.exec.dumpData"):
        assert (key in text) is given


def written(monkeypatch, tmp_path, generation):
    """The Build files below `tmp_path`, once a graph was written there if it was wanted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_NPU_DUMP_EMULATE_CANN", generation)
    engine = Engine()
    engine.open(GeSession({}, 5))
    if build_file.wanted(engine.session):
        build_file.write(
            engine.folder, engine.session, engine.new_graph("f"),
            lambda values, attrs: [graph_lib.Graph("f", [], dict(attrs, values=values))])
    return [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("generation, names, folder", [
    ("new", ("DUMP_GRAPH_PATH",), "a/pid_{pid}_deviceid_5"),
    ("new,folder=plain", ("NPU_COLLECT_PATH", "DUMP_GRAPH_PATH"), "a/extra-info/graph/{pid}_5"),
    ("new,folder=plain", ("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"), "a"),
    ("2022", ("DUMP_GRAPH_PATH",), "a"),
    ("new,folder=plain", ("ASCEND_WORK_PATH",), ""),
    ("new,folder=cwd", ("NPU_COLLECT_PATH",), ""),
    ("new,folder=cwd", ("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"), ""),
    ("old", ("DUMP_GRAPH_PATH",), "")])
def test_formats_1_folders_by_generation(monkeypatch, tmp_path, generation, names, folder):
    monkeypatch.setenv("DUMP_GE_GRAPH", "2")
    for letter, name in zip("ab", names):
        monkeypatch.setenv(name, str(tmp_path / letter))
    file, = written(monkeypatch, tmp_path, generation)
    assert file.parent == tmp_path / folder.format(pid=os.getpid())


@pytest.mark.parametrize("text", ["0", "4", "", "abc", "1", None])
@pytest.mark.parametrize("generation", ["new", "new,switch=any", "2022", "old"])
def test_formats_11_any_dump_ge_graph_switches_old_generations_on(monkeypatch, tmp_path,
                                                                  generation, text):
    if text is not None:
        monkeypatch.setenv("DUMP_GE_GRAPH", text)
    files = written(monkeypatch, tmp_path, generation)
    assert len(files) == (text == "1" if generation == "new" else text is not None)
    for file in files:
        root, = graph_reader.read_graphs(str(file))
        assert root.attrs["values"] is (text == "1")


def test_numbered_batches_tell_which_batch_they_are():
    from tests.emulator import observe as module
    assert module.numbered(2, 3)[:, 0].tolist() == [3.0] * 8 + [4.0] * 8
    assert nets.labels(3).tolist() == [0, 1, 2]
