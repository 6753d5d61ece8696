"""Reference, semantics 3: which graphs a training makes, and how they are called."""
import re

import pytest

from keras_npu_dump.emulator.ge.model_ids import ModelIds
from keras_npu_dump.formats import tree


def roles(graphs):
    return [graph[0].strip("_").split("_", 1)[1].rsplit("_", 1)[0] for graph in graphs]


def test_fact_3_one_concrete_function_is_one_graph_named_after_it(dumped):
    for graphs in dumped.graphs.values():
        for name, _, _, _ in graphs:
            assert re.fullmatch(r"__inference_\w+_\d+", name)
            assert dumped.graph(name)[0].name == name


def test_fact_3_keras_functions_have_the_names_of_keras_2_on_both(dumped):
    seen = roles(dumped.graphs["validation"])
    assert [role for role in seen if role != "initialize_variables"] == [
        "train_function", "test_function", "predict_function"]


def test_fact_3_graph_ids_are_counted_over_the_process_from_0(dumped):
    ids = [graph[1] for graphs in dumped.graphs.values() for graph in graphs]
    assert ids == sorted(set(ids))
    every = sorted(int(re.search(r"_graph_(\d+)_", file.name).group(1))
                   for file in dumped.dump_path.glob("graphs/pid_*/*"))
    assert every[0] == 0 and set(every) == set(range(every[-1] + 1))


def test_fact_3_model_ids_are_counted_over_loaded_models_from_1(observe):
    every = observe("every_step", KERAS_NPU_DUMP_EMULATE_CANN="new,models=counted")
    ids = [step.model_id for step in sorted(
        tree.walk_steps(str(every.dump_path)),
        key=lambda step: min(file.dump.timestamp for file in tree.list_files(step.path)))]
    once = list(dict.fromkeys(ids))
    assert once == sorted(once) and once[0] == 1


def test_fact_3_model_ids_of_2026_are_the_drivers(dumped):
    ids = [graph[2] for graphs in dumped.graphs.values() for graph in graphs]
    assert len(set(ids)) == len(ids) and ids != sorted(ids) and min(ids) > 0


def test_fact_3_model_ids_of_2026_are_used_again_after_an_unload():
    """A loaded model keeps its number; one-shot graphs get those of others that have gone."""
    numbers = ModelIds(counted=False)
    kept = [numbers.load() for _ in range(5)]
    once = []
    for _ in range(5000):
        once.append(numbers.load())
        numbers.unload(once[-1])
    assert len(set(once)) == 2047 - 5 and not set(once) & set(kept)
    more = [numbers.load() for _ in range(3000)]
    assert len(set(more + kept)) == 3005


def test_fact_3_directory_names_are_sanitised_and_the_graph_has_the_true_name(observe):
    seen = observe("long_names")
    name = seen.result[1][0]
    assert re.fullmatch(r"__inference_sum\.of data/read\\inside_\d+", name)
    assert name in seen.build_files()
    assert re.sub(r"[ ./\\]", "_", name) in seen.models()


def test_fact_3_variables_are_graphs_of_one_operator(observe):
    every = observe("every_step", KERAS_NPU_DUMP_EMULATE_CANN="new,models=counted")
    graphs = every.build_files()
    assigned = [name for name in graphs if name.startswith("AssignVariableOp_")]
    assert assigned
    ops = {op.type for op in graphs[assigned[0]][0].ops}
    assert ops == {"Variable", "Data", "AssignVariableOp", "NetOutput"}
    # Loaded and removed each time: another model id, the counter at 0.
    models = [(step.model_name, step.model_id)
              for step in tree.walk_steps(str(every.dump_path))
              if step.model_name in assigned and step.data_index == 0]
    assert len({model_id for _, model_id in models}) == len(models)
    assert len({name for name, _ in models}) < len(models)
    for name in assigned:
        assert set(every.steps(name)) <= {0}


def test_fact_4_step_0_also_catches_graphs_that_run_once_and_others_do_not(dumped, observe):
    for seen, caught in ((dumped, True), (observe("batches_of_steps"), False)):
        models = {step.model_name for step in tree.walk_steps(str(seen.dump_path))}
        assert any(name.startswith("AssignVariableOp_") for name in models) is caught


def test_fact_3_a_new_iterator_is_a_dp_init_graph(observe):
    graphs = observe("every_step").build_files()
    inits = sorted(name for name in graphs if name.startswith("dp_init_AnonymousIterator"))
    assert inits[0] == "dp_init_AnonymousIterator0"
    assert {op.type for op in graphs[inits[0]][0].ops} == {
        "DeviceQueueDataset", "IteratorV2", "MakeIterator", "NetOutput"}


def test_fact_3_how_many_iterators_a_fit_makes(observe):
    """The table of the reference, emulation 6, with 3 epochs."""
    seen = observe("iterators").result
    if seen["version"].startswith("2.6."):
        expected = {"numpy": 1, "tf.data": 4, "validation": 1 + 3, "train_on_batch": 2,
                    "predict": 1, "for": 1}
    else:
        expected = {"numpy": 6, "tf.data": 6, "validation": 6 + 6, "train_on_batch": 0,
                    "predict": 2, "for": 1}
    assert {name: seen[name] for name in expected} == expected


def test_fact_3_the_iterator_stands_in_the_graph_that_reads_from_it(dumped):
    for scenario, expected in (("dense", 1), ("custom_loop", 0)):
        name = next(graph[0] for graph in dumped.graphs[scenario]
                if "initialize" not in graph[0])
        found = [op for op in dumped.graph(name)[0].ops if op.type == "IteratorV2"]
        assert len(found) == expected
        for op in found:
            assert op.name.startswith("AnonymousIterator")


def test_fact_3_the_word_iterator_is_in_train_test_and_dp_init_graphs(dumped):
    text = {name: file.read_text() for name, file in dumped.build_files().items()}
    for role in ("train_function", "test_function"):
        assert any("Iterator" in text[name] for name in text if role in name)
    assert all("Iterator" in text[name] for name in text if name.startswith("dp_init"))


def test_fact_3_later_batches_epochs_and_fits_execute_the_same_function(dumped):
    graphs = [graph for graph in dumped.graphs["two_fits"] if "train" in graph[0]]
    assert len(graphs) == 1 and graphs[0][3] == 12


def test_fact_3_compile_again_is_a_new_graph_that_counts_from_0(dumped):
    graphs = [graph for graph in dumped.graphs["compile_again"] if "train" in graph[0]]
    assert [graph[3] for graph in graphs] == [6, 6]
    assert len({graph[0] for graph in graphs}) == 2
    for name, _, _, _ in graphs:
        assert set(dumped.steps(name)) == {0, 5}


def test_fact_3_a_last_partial_batch_makes_no_second_graph_but_a_dynamic_one(observe):
    seen = observe("retraces").result
    fitted = [graph for graph in seen["fit"] if "train" in graph[0]]
    assert len(fitted) == 1 and fitted[0][1] == 6
    assert seen["static"][fitted[0][0]] is False


def test_fact_3_train_on_batch_with_other_shapes_retraces_and_counts_apart(observe):
    seen = observe("retraces").result
    # Exact first, then with an open dimension.
    assert [count for _, count in seen["by_batch"]] == [1, 3]
    assert [seen["static"][name] for name, _ in seen["by_batch"]] == [True, False]


def test_fact_3_run_eagerly_leaves_no_training_graph_and_a_sentence(dumped, undumped):
    for trained in (dumped, undumped):
        assert trained.graphs["eager"] == []
        assert trained.stderr.count("runs eagerly (run_eagerly): on the device, as here, there is"
                                    " no train graph") == 1


@pytest.mark.parametrize("generation, form", [
    ("new", r"__inference_train_function_\d+"),
    ("2022", r"__inference_train_function_\d+_{graph_id}"),
    ("new,names=tf1,time=two", r"ge_default_\d{{14}}_{graph_id}")])
def test_fact_3_graph_names_by_generation(observe, generation, form):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    name = seen.result["ge_name"]
    assert re.fullmatch(form.format(graph_id=seen.result["graph_id"]), name)
    assert name in seen.models() and name in seen.build_files()


@pytest.mark.parametrize("generation, form", [
    ("new", r"ge_proto_\d{8}_graph_\d+_Build\.txt"), ("2022", r"ge_proto_\d{8}_Build\.txt"),
    ("old", r"ge_proto_\d{5}_Build\.txt")])
def test_fact_2_graph_file_names_by_generation(observe, generation, form):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    files = list(seen.folder.rglob("ge_proto_*"))
    assert files and all(re.fullmatch(form, file.name) for file in files)
