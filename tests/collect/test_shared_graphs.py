"""Equal graphs, and graphs that nothing has the name of: which folder gets which, and why?"""
import os

import pytest

from keras_npu_dump import collect
from tests.collect import making, nets
from tests.collect.making import TIME, TRAIN, train_ops


def graph_numbers(manifest):
    """{(model name, model id): running number of the graph file}."""
    return {(step.model_name, step.model_id): int(os.path.basename(pair.graph).split("_")[2])
            for pair in manifest.pairs for step in pair.steps}


def problem(manifest, code):
    found, = [one for one in manifest.problems if one.code == code]
    return found


def two_equal_graphs(dump, folder="graphs"):
    for number in (3, 4):
        making.graph(dump / folder, "__inference_f_%d" % number, train_ops(), number)


def test_loads_of_one_model_go_to_one_of_two_equal_graphs(tmp_path):
    """Three loads, two models, two graphs: the third load is the first model's again."""
    two_equal_graphs(tmp_path)
    for name, model_id in (("first", 5), ("second", 6), ("first", 7)):
        making.steps(tmp_path, train_ops(), (0,), name, model_id)
    manifest = collect(str(tmp_path))
    assert graph_numbers(manifest) == {("first", 5): 3, ("second", 6): 4, ("first", 7): 3}
    assert {pair.confidence for pair in manifest.pairs} == {"guess"}
    told = [one.message for one in manifest.problems if one.code == "ambiguous-pair"]
    assert len(told) == 3 and all("one of 2 graph files" in text for text in told)


def test_loads_of_one_model_go_to_as_many_graphs_in_order(tmp_path):
    """One model, two graphs of different names: each load has one."""
    two_equal_graphs(tmp_path)
    for model_id in (5, 6):
        making.steps(tmp_path, train_ops(), (0,), "only", model_id)
    assert graph_numbers(collect(str(tmp_path))) == {("only", 5): 3, ("only", 6): 4}


def test_more_loads_than_graphs_stay_with_the_last(tmp_path):
    two_equal_graphs(tmp_path)
    for model_id in (5, 6, 7):
        making.steps(tmp_path, train_ops(), (0,), "only", model_id)
    assert graph_numbers(collect(str(tmp_path))) == {
        ("only", 5): 3, ("only", 6): 4, ("only", 7): 4}


def test_what_was_built_again_says_which_load_is_which_file(tmp_path):
    for number in (3, 8):
        making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), number)
    for model_id in (5, 9):
        making.steps(tmp_path, train_ops(), (0,), TRAIN, model_id)
    manifest = collect(str(tmp_path))
    assert graph_numbers(manifest) == {(TRAIN, 5): 3, (TRAIN, 9): 8}
    first, second = manifest.pairs
    assert any("load 1 of" in text and "file 1" in text for text in first.evidence)
    assert any("load 2 of" in text and "file 2" in text for text in second.evidence)
    assert "ambiguous-pair" not in making.codes(manifest)


@pytest.mark.parametrize("change", ["another folder", "one load more", "another name"])
def test_files_that_need_not_be_builds_of_one_graph_stay_open(tmp_path, change):
    folders = ["a", "b"] if change == "another folder" else ["a", "a"]
    # Both names are net_f to the device.
    names = ["net/f", "net.f"] if change == "another name" else ["net/f", "net/f"]
    for number, folder, name in zip((3, 8), folders, names):
        making.graph(tmp_path / "graphs" / folder, name, train_ops(), number)
    for model_id in (5, 9, 11) if change == "one load more" else (5, 9):
        making.steps(tmp_path, train_ops(), (0,), "net_f", model_id)
    manifest = collect(str(tmp_path))
    assert "ambiguous-pair" in making.codes(manifest)
    assert {pair.confidence for pair in manifest.pairs} == {"guess"}


def test_all_operators_decide_over_nearly_all_where_no_name_does(tmp_path):
    """The better share is no mere preference: the pair is sure."""
    ops = train_ops()
    left_out = next(op for op in ops if op.dumped and op.type == "DivNoNan")
    making.graph(tmp_path / "graphs", "__inference_f_3", ops, 3)
    making.graph(tmp_path / "graphs", "__inference_g_4", [op for op in ops if op is not left_out],
                 4)
    making.steps(tmp_path, ops, (0,), "strange", 5)
    pair, = collect(str(tmp_path)).pairs
    assert pair.graph.endswith("ge_proto_00000003_Build.txt")
    assert pair.confidence == "content"


@pytest.mark.parametrize("keywords, graphs", [(("Iterator",), 2), (("IteratorGetNext",), 1)])
def test_only_a_keyword_that_somebody_gave_decides_between_equal_graphs(
        tmp_path, keywords, graphs):
    """The feeds alone differ, and leave no files; the vendor's own word is merely shown."""
    making.graph(tmp_path / "graphs", "__inference_f_3", train_ops(), 3)
    making.graph(tmp_path / "graphs", "__inference_g_4", train_ops(iterator=False), 4)
    making.steps(tmp_path, train_ops(), (0,), "strange", 5)
    manifest = collect(str(tmp_path), keywords=keywords)
    pair, = manifest.pairs
    assert pair.graph.endswith("ge_proto_00000003_Build.txt") and pair.confidence == "guess"
    assert any("keyword: " + keywords[0] in text for text in pair.evidence)
    assert ("ambiguous-pair" in making.codes(manifest)) == (graphs == 2)
    assert any("chosen by the keyword" in text for text in pair.evidence) == (graphs == 1)


# --- why a folder has no graph

def unreadable_graph(dump, folder="graphs"):
    return making.files.write(str(dump / folder / "ge_proto_00000003_Build.txt"), "\x00\x01" * 50,
                              making.START + 1)


def test_a_graph_file_that_cannot_be_read_may_be_the_missing_graph(tmp_path):
    path = unreadable_graph(tmp_path)
    making.steps(tmp_path, train_ops(), (0,))
    assert path in problem(collect(str(tmp_path)), "no-pair").message


def test_a_broken_graph_file_of_another_device_is_not_the_missing_graph(tmp_path):
    path = unreadable_graph(tmp_path, "graphs/pid_7_deviceid_3")
    making.steps(tmp_path, train_ops(), (0,))
    assert path not in problem(collect(str(tmp_path)), "no-pair").message


def test_a_graph_file_that_was_read_is_not_said_to_be_broken(tmp_path):
    path = making.graph(tmp_path / "graphs", "__inference_f_3", nets.predict("other", [3, 3], 2))
    making.steps(tmp_path, train_ops(), (0,))
    message = problem(collect(str(tmp_path)), "no-pair").message
    assert path not in message and "none of the 1 Build graphs" in message


def test_a_graph_file_whose_name_was_read_is_not_the_missing_graph(tmp_path):
    """It is cut off behind its name, which is another one."""
    path = making.graph(tmp_path / "graphs", "__inference_f_3", train_ops(), 3)
    os.truncate(path, 900)
    os.utime(path, (making.START + 1, making.START + 1))
    making.steps(tmp_path, train_ops(), (0,), "strange")
    manifest = collect(str(tmp_path))
    assert "unreadable" in making.codes(manifest)
    assert path not in problem(manifest, "no-pair").message


def test_the_name_is_no_help_where_the_graph_is_another_devices(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_3", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0,))
    message = problem(collect(str(tmp_path)), "no-pair").message
    assert message.count("has the name, but") == 1 and "device 3" in message


def test_a_graph_of_another_device_and_another_name_is_not_named(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_3", "__inference_f_3", train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0,))
    assert "has the name, but" not in problem(collect(str(tmp_path)), "no-pair").message


def test_files_that_name_no_operator_leave_only_the_name(tmp_path):
    making.graph(tmp_path / "graphs", "__inference_f_3", train_ops(), 3)
    making.files.write(str(tmp_path / TIME / "0" / TRAIN / "5" / "0" / "123456"), b"x")
    message = problem(collect(str(tmp_path)), "no-pair").message
    assert "no file here names an operator" in message


@pytest.mark.parametrize("build", [False, True])
def test_graph_files_of_other_stages_are_a_hint_where_no_build_file_is(tmp_path, build):
    making.graph(tmp_path / "graphs", "__inference_f_3", train_ops(),
                 file_name="ge_proto_00000002_PreRunBegin.txt")
    if build:
        making.graph(tmp_path / "graphs", "__inference_g_4", nets.predict("other", [3, 3], 2))
    making.steps(tmp_path, train_ops(), (0,))
    manifest = collect(str(tmp_path))
    found = problem(manifest, "no-pair" if build else "no-graph")
    assert ("DUMP_GRAPH_LEVEL" in found.hint) != build
