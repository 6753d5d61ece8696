"""Reference, semantics 0: which execution has which data_index."""
import numpy as np
import pytest

from tests.emulator.conftest import inputs, operators, outputs


def batch_values(folder):
    """The value that tells the batch, from the iterator's or the argument's tensor."""
    found = operators(folder)
    if "IteratorGetNext" in found:
        return float(outputs(found["IteratorGetNext"][0])[0][0, 0])
    first = [inputs(records[0])[0] for name, records in found.items() if name.endswith("/MatMul")]
    return next(float(x[0, 0]) for x in first if x.shape == (8, 6))


def train_graphs(observed):
    return [name for name, _ in observed.result if "train_function" in name]


def test_fact_0_1_a_counter_per_loaded_graph_from_0(observe):
    every = observe("every_step")
    name = train_graphs(every)[0]
    assert sorted(every.steps(name)) == list(range(6))
    assert dict(map(tuple, every.result))[name] == 6


def test_fact_0_1_each_graph_counts_its_own_executions(dumped):
    for scenario, graphs in dumped.graphs.items():
        for name, _, _, count in graphs:
            expected = {step for step in (0, 5) if step < count}
            # What holds no tensors (a function of nothing but handles) leaves no folder.
            found = set(dumped.steps(name))
            assert found in (expected, set()), (scenario, name)
            if "train" in name or "step" in name:
                assert found == expected


# Executions of each training graph: epochs x batches, whatever the model is made of.
TRAINED = {"dense": [6], "conv": [6], "dropout": [6], "lstm": [6], "subclass": [6],
           "custom_loop": [7], "validation": [6], "on_batch": [7], "two_fits": [12],
           "compile_again": [6, 6], "two_steps": [8], "eager": [], "mixed": [6], "residual": [6]}


def counts(dumped, scenario, part):
    return [count for name, _, _, count in dumped.graphs[scenario] if "_%s_" % part in name]


def test_fact_0_1_every_training_counts_its_batches(dumped):
    assert {scenario: counts(dumped, scenario, "train_function") or counts(dumped, scenario, "step")
            for scenario in TRAINED} == TRAINED
    # A dataset of unknown size: one aborted execution at the end of the first epoch on
    # Keras 2, of each epoch on Keras 3.
    assert counts(dumped, "generator", "train_function") in ([7], [8])
    assert sum(counts(dumped, "validation", "test_function")) == 2 * 2 + 3
    assert sum(counts(dumped, "validation", "predict_function")) == 3
    assert sum(counts(dumped, "on_batch", "test_function")) == 1


def test_fact_0_3_data_index_is_the_absolute_number_of_the_execution(observe):
    chosen = observe("batches_of_steps")
    name = train_graphs(chosen)[0]
    assert set(chosen.steps(name)) <= {1, 4, 7, 9, 10}
    assert {1, 4, 7} <= set(chosen.steps(name))


def test_fact_0_4_counted_across_epochs_and_fits_and_not_shifted_by_validation(observe):
    chosen = observe("batches_of_steps")
    steps = chosen.steps(train_graphs(chosen)[0])
    assert batch_values(steps[1]) == 1.0  # fit 0: batches 0..2 are executions 0..2
    assert batch_values(steps[4]) == 11.0  # fit 1, epoch 0: 3..5
    assert batch_values(steps[7]) == 11.0  # fit 1, epoch 1: 6..8


def test_fact_0_4_train_on_batch_goes_on_where_it_is_the_same_function(observe):
    chosen = observe("batches_of_steps")
    names = train_graphs(chosen)
    if len(names) == 1:  # Keras 2: executions 9 and 10
        steps = chosen.steps(names[0])
        assert [batch_values(steps[index]) for index in (9, 10)] == [50.0, 51.0]
    else:  # Keras 3: another function, counted from 0
        assert batch_values(chosen.steps(names[1])[1]) == 51.0


@pytest.mark.parametrize("generation, counted", [
    ("new", True), ("2022", False), ("new,eos=skipped", False), ("2022,eos=counted", True)])
def test_fact_0_5_whether_an_execution_at_the_end_of_data_counts(observe, generation, counted):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    # Keras 2 meets the end in the first epoch only, Keras 3 in each.
    ends = 1 if seen.result["keras"] == 2 else 2
    assert seen.result["count"] == 6 + (ends if counted else 0)
    steps = sorted(seen.steps(seen.result["ge_name"]))
    assert steps == ([0, 4] if counted else [0, 3, 4])


@pytest.mark.parametrize("generation, counted", [
    ("new", False), ("2022", True), ("2022,eos=skipped", False), ("2022,eos=counted", True)])
def test_fact_0_5_in_a_dynamic_graph_ge_of_2022_counts_it(observe, generation, counted):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    name, count = seen.result["dynamic"]
    assert count == (8 if counted else 6)  # twice three batches, and twice the end
    assert sorted(seen.steps(name)) == ([0, 4] if counted else [0, 3, 4])


def test_values_of_every_step_differ(observe):
    every = observe("every_step")
    steps = every.steps(train_graphs(every)[0])
    assert [batch_values(steps[index]) for index in range(6)] == [0, 1, 2, 0, 1, 2]
    assert all(np.isfinite(batch_values(folder)) for folder in steps.values())
