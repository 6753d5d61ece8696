"""The table after a training: the answer first, the next command last, evidence on demand."""
import pytest

from keras_npu_dump.records.answer_line import answer_line
from keras_npu_dump.records.manifest import Manifest, Pair, Step
from keras_npu_dump.records.manifest_text import BRIEF, MAX_INIT, VERBOSE, manifest_text
from keras_npu_dump.records.problems import Problem


def pair(name, role, number):
    return Pair("ge_proto_%08d_graph_%d_Build.txt" % (number, number), "20260101000000", 0, 0,
                [name], role, "exact" if number else "guess", [],
                [Step(0, name, number, "d/%s/%d/0" % (name, number), 1, 1000, {"dump": 1})])


def text_with(init):
    pairs = [pair("AssignVariableOp_%d" % number, "init", number) for number in range(init)]
    pairs.append(pair("__inference_test_function_9", "eval", init))
    return manifest_text(Manifest("/d", pairs=pairs))


def test_a_few_graphs_that_set_variables_are_shown_each():
    text = text_with(MAX_INIT)
    assert [text.count("AssignVariableOp_%d" % number) for number in range(MAX_INIT)] == [1] * 3
    assert "of role init" not in text


def test_many_of_them_take_one_line_which_says_how_sure_they_are():
    text = text_with(200)
    assert "AssignVariableOp" not in text
    assert "and 200 graphs of role init (200 KB), listed in the manifest: 1 guess, 199 exact" \
        in text
    assert text.count("__inference_test_function_9") == 1 and len(text.splitlines()) < 12


def test_a_printed_manifest_is_the_table_and_a_printed_problem_its_lines():
    problem = Problem("no-run", "warning", "records are absent", "copy runs/ too")
    manifest = Manifest("/d", pairs=[pair("__inference_test_function_9", "eval", 3)],
                        problems=[problem])
    assert str(manifest) == manifest_text(manifest)
    assert str(problem) == "warning: records are absent [no-run]\n  copy runs/ too"
    assert str(problem) in str(manifest)
    assert str(Problem("no-run", "info", "x")) == "info: x [no-run]"


def test_names_in_a_printed_manifest_are_one_line_each_and_command_nothing():
    evil = "\x1b[2J\x9b\u202e\u2028\r\nFORGED"
    pairs = [pair(evil, "train", 1), pair(evil, evil, 2)]
    for one in pairs:
        one.graph, one.confidence, one.evidence = evil, evil, [evil]
        one.steps[0].path = evil
    text = manifest_text(Manifest(evil, pairs=pairs, training={"0": [0]}, path=evil, problems=[
        Problem("no-run", "info", evil, evil)]), detail=VERBOSE)
    assert text.replace("\n", "").isprintable()
    assert "\nFORGED" not in text
    # Three in the answer, eleven in the tables and problems, two in what comes last.
    assert text.count("FORGED") == 16


def trained(indices, batches, name="train_9", rank=0):
    found = pair(name, "train", 3)
    found.rank, found.evidence = rank, ["full name: the loss of step 3", "time: fps"]
    found.steps = [Step(index, name, 3, "2030/0/%s/3/%d" % (name, index), 1, 1000, {}, None if
                        batch is None else dict(zip(("fit", "epoch", "batch"), batch)))
                   for index, batch in zip(indices, batches)]
    return found


@pytest.mark.parametrize("indices, batches, folders, text", [
    ([7], [(0, 1, 3)], "1 dump folder 2030/0/train_9/3/7", "epoch 1, batch 3"),
    ([0, 1, 2, 5], [(0, 0, 0), (0, 0, 1), (0, 0, 2), (2, 0, 1)],
     "4 dump folders 2030/0/train_9/3/{0,1,2,5}", "epoch 0, batches 0-2; fit 2, epoch 0, batch 1"),
    (range(3, 15), [(0, 0, one) for one in range(12)],
     "12 dump folders 2030/0/train_9/3/{3..14}", "epoch 0, batches 0-11"),
    (range(0, 40, 2), [None] * 19 + [(0, 0, 38)], "20 dump folders 2030/0/train_9/3/{0,...,38}",
     "epoch 0, batch 38; 19 unknown"),
    (range(40), [(0, one, 0) for one in range(40)], "40 dump folders 2030/0/train_9/3/{0..39}",
     "epoch 0, batch 0; epoch 1, batch 0; epoch 2, batch 0 and 37 more epochs"),
    ([0], [None], "1 dump folder 2030/0/train_9/3/0", "which batches is unknown")])
def test_the_answer_is_one_line(indices, batches, folders, text):
    found = trained(indices, batches)
    assert answer_line(found) == "Graph %s belongs to %s: %s; confidence exact" % (
        found.graph, folders, text)


def test_the_answer_comes_first_and_the_next_command_last():
    manifest = Manifest("/d e", pairs=[trained([0], [(0, 0, 0)]), trained([0], [None], rank=1)],
                        training={"0": [0], "1": [1]}, path="/m")
    lines = str(manifest).splitlines()
    assert lines[:2] == [answer_line(one, several=True) for one in manifest.pairs]
    assert "of rank 0 belongs" in lines[0] and "of rank 1 belongs" in lines[1]
    assert lines[-1] == "Next: keras-npu-dump triage '/d e'"
    # What is there is looked at, whatever is not; only without it a cause comes first.
    manifest.problems = [Problem("step-missing", "error", "gone"),
                         Problem("run-crashed", "warning", "killed")]
    assert manifest_text(manifest, detail=BRIEF, after_training=True).splitlines() == lines[:2] + [
        "", "Evidence: keras-npu-dump collect -v '/d e'", "Manifest: /m",
        "Next: keras-npu-dump triage '/d e'"]
    manifest.training = {}
    assert str(manifest).splitlines()[-1] == "Next: keras-npu-dump explain run-crashed"
    del manifest.problems[1]
    assert str(manifest).splitlines()[-1] == "Next: keras-npu-dump explain step-missing"


def test_batches_that_are_not_sure_are_marked_in_the_answer():
    pair = trained([0, 9], [(0, 0, 0), (0, 0, 9)])
    manifest = Manifest("/d", pairs=[pair], training={"0": [0]}, problems=[
        Problem("index-uncertain", "warning", "a loop", path=pair.steps[0].path)])
    assert "epoch 0, batches 0, 9 (not sure: index-uncertain); confidence exact" in str(
        manifest).splitlines()[0]
    manifest.problems[0].path = "elsewhere"
    assert "not sure" not in str(manifest)


@pytest.mark.parametrize("after_training", [False, True])
def test_evidence_is_shown_whole_whatever_words_are_in_it(after_training):
    manifest = Manifest("/d", pairs=[trained([0], [None])], training={"0": [0]})
    assert "full name" not in str(manifest) and "fps" not in str(manifest)
    text = manifest_text(manifest, after_training, VERBOSE)
    assert "\n    - full name: the loss of step 3\n    - time: fps\n" in text
    assert "collect -v" not in text


@pytest.mark.parametrize("manifest, first, last", [
    (Manifest("/d"), "Nothing of a dump is here", "doctor"),
    (Manifest("/d", graphs=[object()], problems=[Problem(
        "not-dumped", "info", "nothing was dumped: no operator overflowed")]),
     "Nothing was dumped: no operator overflowed", "triage /d"),
    (Manifest("/d", problems=[Problem("not-dumped", "error", "no folder")]),
     "No graph and dump folder belong together: no folder", "explain not-dumped"),
    (Manifest("/d", pairs=[pair("test_9", "eval", 3)]), "No training graph", "inspect /d")])
def test_without_a_training_graph_the_first_line_says_why(manifest, first, last):
    lines = str(manifest).splitlines()
    assert first in lines[0] and lines[-1] == "Next: keras-npu-dump " + last
