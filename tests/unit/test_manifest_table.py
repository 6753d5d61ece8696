"""The table after a training: what a person must see is not buried."""
from keras_npu_dump.records.manifest import Manifest, Pair, Step
from keras_npu_dump.records.manifest_text import MAX_INIT, manifest_text
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
    assert text.count("__inference_test_function_9") == 1 and len(text.splitlines()) < 8


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
    text = str(Manifest(evil, pairs=pairs, training={"0": [0]}, path=evil, problems=[
        Problem("no-run", "info", evil, evil)]))
    assert text.replace("\n", "").isprintable()
    assert "\nFORGED" not in text and text.count("FORGED") == 12
