"""Which function of the journal was which graph, where names alone do not tell?

Each section of these journals is a fit of its own, so that the fit of a step's iteration
shows the section that its graph was tied to.
"""
import json

import pytest

from keras_npu_dump import collect
from tests.collect import making, nets

COMMON = "net/dense/MatMul"
ONLY_FIRST = "first/dense/MatMul"
NOWHERE = "another/network/MatMul"


def graph(dump, number, indices, model_id, first=False, name=None):
    """A training graph with its folders; names that the journal does not know tie nothing."""
    name = name or "__inference_train_function_%d" % number
    ops = making.train_ops()
    if first:
        ops = ops + [nets.Op(ONLY_FIRST, "MatMulV2", [("DT_FLOAT", (4, 4))],
                             [("DT_FLOAT", (4, 4))], [], [ONLY_FIRST])]
    making.graph(dump / "graphs/pid_7_deviceid_0", name, ops, number)
    making.steps(dump, ops, indices, name, model_id)
    return name


def journal(dump, *sections):
    """sections: (name or None, operators, executed indices)."""
    making.record(dump, sections=[], options={"dump_step": "0-9"})
    events = []
    for number, (name, operators, indices) in enumerate(sections):
        events.append({"event": "section", "section": number, "model": "m", "reason": "start"})
        events += [{"event": "execution", "section": number, "data_index": index,
                    "fit": number, "epoch": 0, "batch": index, "uncertain": None}
                   for index in indices]
        events.append({"event": "graph", "section": number, "name": name, "operators": operators})
    (dump / "runs/run/iterations.jsonl").write_text(
        "".join(json.dumps(event) + "\n" for event in events))


def sections(dump):
    """{name of the graph: the section of its first step, or None}."""
    return {pair.model_names[0]: (pair.steps[0].iteration or {"fit": None})["fit"]
            for pair in collect(str(dump)).pairs}


def test_two_graphs_that_fit_one_section_leave_it_open(tmp_path):
    one, other = graph(tmp_path, 11, (0, 5), 5), graph(tmp_path, 22, (0, 5), 6)
    journal(tmp_path, (None, [COMMON], (0, 5)))
    assert sections(tmp_path) == {one: None, other: None}


def test_folders_that_are_not_as_the_journal_counted_are_no_rival(tmp_path):
    """Without them the graphs would be tied in the order in which they were loaded."""
    one, other = graph(tmp_path, 11, (0, 5), 9), graph(tmp_path, 22, (0,), 5)
    journal(tmp_path, (None, [COMMON], (0, 5)), (None, [NOWHERE], (0, 5)))
    assert sections(tmp_path) == {one: 0, other: 1}


def test_two_graphs_with_other_folders_than_the_journal_counted_are_rivals(tmp_path):
    one, other = graph(tmp_path, 11, (0,), 5), graph(tmp_path, 22, (5,), 6)
    journal(tmp_path, (None, [COMMON], (0, 5)))
    assert sections(tmp_path) == {one: None, other: None}


def test_a_graph_that_has_its_section_is_no_rival(tmp_path):
    one = graph(tmp_path, 11, (0, 5), 5, first=True)
    other = graph(tmp_path, 22, (0,), 6)
    journal(tmp_path, (None, [ONLY_FIRST], (0, 5)), (None, [COMMON], (0, 6)),
            (None, [NOWHERE], (0, 7)))
    assert sections(tmp_path) == {one: 0, other: 1}


def test_a_graph_keeps_the_section_that_it_was_tied_to(tmp_path):
    one = graph(tmp_path, 11, (0, 5), 5)
    journal(tmp_path, (None, [COMMON], (0, 5)), (None, [COMMON], (1,)))
    assert sections(tmp_path) == {one: 0}


@pytest.mark.parametrize("share, section", [(4, 0), (3, None)])
def test_most_operators_of_a_section_must_be_in_the_graph(tmp_path, share, section):
    """Four of five are enough, three are not; nothing else ties these two."""
    one = graph(tmp_path, 11, (0, 5), 5)
    known = ["net/dense/MatMul", "net/dense/Relu", "net/dense_1/MatMul", "net/dense_1/Relu"]
    operators = known[:share] + ["nowhere/%d" % number for number in range(5 - share)]
    journal(tmp_path, (None, operators, (0, 4)), (None, [NOWHERE], (0, 7)))
    assert sections(tmp_path) == {one: section}


def test_a_section_without_operators_ties_nothing_by_them(tmp_path):
    one = graph(tmp_path, 11, (0, 5), 5)
    journal(tmp_path, (None, [], (0, 4)), (None, [NOWHERE], (0, 7)))
    assert sections(tmp_path) == {one: None}


def test_a_graph_whose_operators_cannot_be_read_is_tied_by_none(tmp_path):
    one = graph(tmp_path, 11, (0, 5), 5)
    path, = (tmp_path / "graphs/pid_7_deviceid_0").iterdir()
    path.write_text(path.read_text()[:2000])
    journal(tmp_path, (None, [COMMON], (0, 4)), (None, [NOWHERE], (0, 7)))
    assert sections(tmp_path) == {one: None}


def told(dump):
    return [one for one in collect(str(dump)).problems if one.code == "index-uncertain"]


def test_which_function_a_graph_was_is_told_to_be_unknown(tmp_path):
    one, other = graph(tmp_path, 11, (0, 5), 5), graph(tmp_path, 22, (0, 5), 6)
    # A section in which nothing was dumped may be none of them.
    journal(tmp_path, (None, [COMMON], (0, 5)), (None, [NOWHERE], ()))
    messages = [one.message for one in told(tmp_path)]
    assert len(messages) == 2 and all("which of 1 functions" in text for text in messages)
    assert one in messages[0] and other in messages[1]


def test_a_journal_that_counted_nothing_leaves_no_choice_to_tell(tmp_path):
    graph(tmp_path, 11, (0, 5), 5)
    graph(tmp_path, 22, (0, 5), 6)
    journal(tmp_path, (None, [COMMON], ()), (None, [NOWHERE], ()), (None, [NOWHERE], ()))
    assert not [one for one in told(tmp_path) if "functions in the journal" in one.message]


@pytest.mark.parametrize("marked", [False, True])
def test_a_loop_on_the_device_counts_by_its_own_arithmetic(tmp_path, marked):
    """Told once: by the journal's own marks, where it has them."""
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 8, environment={"NPU_LOOP_SIZE": "4"})
    if marked:
        with open(str(tmp_path / "runs/run/iterations.jsonl"), "a") as stream:
            for index in (0, 5):
                stream.write(json.dumps({
                    "event": "execution", "section": 0, "data_index": index, "fit": 0, "epoch": 0,
                    "batch": 0, "uncertain": "a loop on the device"}) + "\n")
    assert ["NPU_LOOP_SIZE=4" in one.message for one in told(tmp_path)] == [not marked]


def test_a_loop_of_one_execution_is_none(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 8, environment={"NPU_LOOP_SIZE": "1"})
    assert told(tmp_path) == []


def test_a_function_of_which_nothing_was_dumped_is_not_counted_in_the_order(tmp_path):
    one = graph(tmp_path, 11, (0, 5), 5)
    journal(tmp_path, (None, [NOWHERE], ()), (None, [NOWHERE], (0, 5)))
    assert sections(tmp_path) == {one: 1}


def test_a_unit_without_a_graph_takes_its_place_in_the_order(tmp_path):
    """The first function's graph file is lost: the second one's is not the first section's."""
    other = graph(tmp_path, 22, (0, 5), 4)
    making.steps(tmp_path, nets.predict("lost", [3, 3], 2), (0, 5), "somewhere_else", 5,
                 start=making.START)
    journal(tmp_path, (None, [NOWHERE], (0, 5)), (None, [NOWHERE], (0, 5)))
    assert sections(tmp_path) == {other: 1}


def test_a_graph_without_the_operators_is_no_rival(tmp_path):
    """It was loaded first, and its folders are as the journal counted, too."""
    one = graph(tmp_path, 11, (0, 5), 9, first=True)
    other = graph(tmp_path, 22, (0, 5), 5)
    journal(tmp_path, (None, [ONLY_FIRST], (0, 5)), (None, [NOWHERE], (0, 5)))
    assert sections(tmp_path) == {one: 0, other: 1}
