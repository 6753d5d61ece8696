"""What happens inside branches and loops, and functions that are hard to watch."""
import pytest

from tests.emulator.conftest import inputs, operators, outputs


def step_of(seen, part):
    name = next(name for name in seen.result["names"] if "_%s_" % part in name)
    return operators(seen.steps(name)[1])


@pytest.mark.parametrize("what", ["bodies", "functions", "rarities"])
def test_results_are_bit_equal_with_and_without_dump(observe, what):
    with_dump, without = observe(what), observe(what, OBSERVE_DUMP="no")
    for key in set(with_dump.result) - {"names", "counts", "kinds"}:
        assert with_dump.result[key] == without.result[key], key


def test_onednn_that_was_on_when_tensorflow_was_imported_is_said(observe):
    # This script imports TensorFlow before the emulator; 2.6 has oneDNN off by itself.
    seen = observe("functions")
    assert ("oneDNN" in seen.stderr.replace("oneDNN custom", "")) is seen.result["onednn"]


def test_only_the_branch_taken_leaves_files(observe):
    found = step_of(observe("bodies"), "branch")
    assert any("taken" in name for name in found)
    assert not any("other" in name for name in found)


def test_the_branch_of_a_switch_case_leaves_files(observe):
    found = step_of(observe("bodies"), "case")
    assert any("dropout" in name or "second" in name for name in found)
    assert not any("first" in name or "third" in name for name in found)


def test_a_branch_in_a_loop_in_a_loop_leaves_one_file_per_round_in_order(observe):
    found = step_of(observe("bodies"), "nested")
    even = next(records for name, records in found.items() if name.endswith("even"))
    odd = next(records for name, records in found.items() if name.endswith("odd"))
    # Rounds (i, j) with j < i < 4; j = 0 and 2 are even.
    assert [float(inputs(record)[1]) for record in even] == [10.0, 20.0, 30.0, 32.0]
    assert len(odd) == 2
    everything = sorted(even + odd, key=lambda record: record[0].dump_time)
    totals = [float(outputs(record)[0]) for record in everything]
    assert totals == [10.0, 30.0, 29.0, 59.0, 58.0, 90.0]


def test_map_fn_leaves_one_file_per_element(observe):
    found = step_of(observe("bodies"), "mapped")
    rows = next(records for name, records in found.items() if name.endswith("largest"))
    assert len(rows) == 4
    assert all(float(outputs(record)[0]) == inputs(record)[0].max() for record in rows)


def test_a_loop_s_condition_is_dumped_once_more_than_its_body(observe):
    found = step_of(observe("bodies"), "mapped")
    less = [records for name, records in found.items() if records[0][0].op_name.endswith("Less")]
    assert less
    for records in less:
        assert len(records) == 5
        assert [bool(outputs(record)[0]) for record in records] == [True] * 4 + [False]
        assert [int(inputs(record)[0]) for record in records] == [0, 1, 2, 3, 4]


def test_loops_and_branches_in_a_condition_are_dumped_in_each_evaluation(observe):
    """`break` makes a branch of the rest of the condition."""
    seen = observe("bodies")
    assert seen.result["limits"][1][0] > 6
    found = step_of(seen, "stopped")
    summed = next(records for name, records in found.items() if name.endswith("summed"))
    assert [[float(value) for value in inputs(record)] for record in summed] == [
        [0.0, 0.0], [0.0, 1.0], [1.0, 2.0]]
    # The condition is evaluated before each of four rounds, the last of which stops; then
    # once more, where the branch says that it was stopped.
    limits = next(records for name, records in found.items()
                  if name.endswith("/Gather"))
    assert [float(outputs(record)[0][0, 0]) for record in limits] == [6.5, 7.0, 7.5, 8.0]
    inside = next(records for name, records in found.items() if name.endswith("inside"))
    assert [float(inputs(record)[0]) for record in inside] == [
        0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 3.0, 3.0]


def test_a_nested_function_is_inlined_while_tracing_autograph_included(observe):
    assert observe("functions").result["flat"] is True


def test_an_error_inside_keeps_its_type_and_names_the_user_s_function(observe):
    assert observe("functions").result["error"] == ["InvalidArgumentError", False, True]


def test_updates_that_nothing_fetches_run_in_dumped_executions_too(observe):
    seen = observe("functions")
    assert seen.result["wrapped"] == [(3.0).hex()] * 3 + [(6.0).hex()]
    (name,) = [name for name in seen.result["counts"] if "wrapped" in name]
    (update,) = [records for operator, records in operators(seen.steps(name)[1]).items()
                 if "AssignAddVariableOp" in operator]
    assert [float(value) for value in inputs(update[0]) + outputs(update[0])] == [2.0, 2.0, 4.0]


def test_an_error_inside_names_the_user_s_line(observe):
    assert observe("functions").result["line"] is True


def test_control_flow_of_tf1_is_reported_and_not_dumped(observe):
    seen = observe("functions")
    assert "TF1 control flow" in seen.stderr
    name = next(name for name in seen.result["counts"] if "switched" in name)
    assert seen.result["counts"][name] == 3 and not seen.steps(name)
    assert name in seen.build_files()
    assert {"Switch", "Merge"} <= {op.type for op in seen.build_files()[name][0].ops}


def test_a_function_that_cannot_be_instrumented_still_trains_and_is_reported(observe):
    seen = observe("unreadable")
    assert seen.result["results"] == [2.0] * 3 and seen.result["count"] == [3]
    assert seen.stderr.count("cannot be read out") == 1
    assert not seen.steps(seen.result["name"])


def test_a_dump_that_cannot_be_written_is_said_and_training_goes_on(observe):
    seen = observe("blocked")
    assert seen.result == [2.0] * 3
    assert seen.stderr.count("cannot be dumped") == 1  # of three, which go on for the same reason


def test_a_fault_of_the_emulator_is_said_and_training_goes_on(observe):
    seen = observe("at_fault")
    assert seen.result == [4.0, 6.0, 8.0, 4.0]
    assert seen.stderr.count("cannot be written, which is a fault of the emulator: KeyError") == 1
    # The variable's own assignment, and three executions.
    assert seen.stderr.count("cannot be dumped, which is a fault of the emulator: KeyError") == 4


def test_a_condition_that_draws_random_numbers_stays_and_is_said(observe):
    # That its results are those of the run without dump is seen above.
    seen = observe("rarities")
    assert len(set(seen.result["drawn"])) > 1
    assert "the condition of while draws random numbers and cannot be dumped" in seen.stderr
    found = step_of(seen, "drawn")
    assert found and not any("random" in name.lower() for name in found)


def test_rounds_that_draw_and_tables_of_a_function_are_those_of_the_run_without_dump(observe):
    # Equality is seen above; executions 0 to 9 are dumped.
    seen = observe("rarities")
    assert seen.result["table"] == list(range(1, 13))
    assert len(set(seen.result["rounds"])) == 8
    assert len({tuple(numbers) for numbers in seen.result["tossed"]}) == 12
    for part in ("rounds", "counted", "tossed"):
        assert step_of(seen, part)


def test_a_call_whose_operator_is_the_function_is_inlined(observe):
    seen = observe("rarities")
    assert seen.result["calling"] == 56.0
    name = next(name for name in seen.result["names"] if "calling" in name)
    found = operators(seen.steps(name)[0])
    for part, value in (("sum", 5.0), ("product", 6.0)):
        (records,) = [records for op, records in found.items() if "called_of_old/" + part in op]
        assert [float(outputs(record)[0]) for record in records] == [value]
    ops = seen.build_files()[name][0].ops
    known = {op.name for op in ops}
    assert {edge.rpartition(":")[0] for op in ops for edge in op.inputs if edge} <= known


def test_fact_4_only_a_loop_that_takes_the_iterator_is_one_of_the_device(observe):
    seen = observe("rarities")
    assert seen.result["kinds"]["beside"] is None
    assert seen.result["kinds"]["through"] == "BUILTIN_LOOP"
    told = [line for line in seen.stderr.splitlines() if "set_npu_loop_size" in line]
    assert len(told) == 1 and "_through_" in told[0]


def test_fact_6_exception_dump_takes_the_place_of_data_in_dynamic_graphs(observe):
    seen = observe("rarities")
    name = next(name for name in seen.result["names"] if "dynamic" in name)
    assert not seen.steps(name) and name in seen.build_files()
    assert "graph %s has dynamic shapes" % name in seen.stderr


def test_what_an_eager_string_holds_has_no_bytes(observe):
    seen = observe("rarities")
    strings = [entry for model in seen.models() if model.startswith("AssignVariableOp")
               for records in operators(seen.steps(model)[0]).values()
               for header, _ in records for entry in header.entries if entry.data_type == 13]
    assert strings and {entry.size for entry in strings} == {0}


def test_a_variable_of_unknown_rank_is_no_scalar(observe):
    shapes = {op.output_descs[0].shape for graphs in observe("rarities").build_files().values()
              for op in graphs[0].ops if op.name == "any_rank"}
    assert {tuple(shape) for shape in shapes} == {(-2,)}


def test_in_a_scope_only_what_runs_inside_runs_on_the_device(observe):
    outside, ((name, count),) = observe("scope").result
    assert (outside, count) == (0, 2)
    assert sorted(observe("scope").steps(name)) == [0, 1]


def test_forward_and_backward_of_a_tape_outside_are_graphs_of_their_own(observe):
    counts = observe("functions").result["counts"]
    assert [count for name, count in counts.items() if "forward" in name] == [3]
    assert [count for name, count in counts.items() if "backward" in name] == [3]


def test_threads_are_counted_and_dumped_each_once(observe):
    seen = observe("threads")
    (name, count), = seen.result
    assert count == 81
    assert sorted(seen.steps(name)) == list(range(81))
    for folder in seen.steps(name).values():
        assert all(len(records) == 1 for records in operators(folder).values())


def test_op_callbacks_count_the_same_executions(observe):
    seen = observe("callbacks").result
    assert len(seen["functions"]) >= 8 and not seen["unknown"]
    for name, (counted, called) in seen["functions"].items():
        # A call that meets the end of the data counts, and has no callback.
        ends = counted - called
        assert ends == 0 or (name == list(seen["functions"])[-1] and ends in (1, 2)), name
    assert set(seen["small"]) >= {"AssignVariableOp", "ReadVariableOp", "MakeIterator"}
    for name, (counted, called) in seen["small"].items():
        assert counted == called, name
