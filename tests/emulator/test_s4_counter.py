"""Reference, semantics 4: loops on the device, and what they count."""
from keras_npu_dump.emulator.ge.device_loops import NPU, Loop
from keras_npu_dump.emulator.ge.engine import Engine
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.ge.loaded_graph import LoadedGraph
from tests.emulator.conftest import operators, outputs


def kinds(observed):
    return {name.split("_")[3]: (name, kind, count)
            for name, kind, count in observed.result["kinds"]}


def rows(folder):
    return [float(outputs(record)[0][0, 0])
            for name, records in operators(folder).items() if "IteratorGetNext" in name
            for record in records]


def test_fact_4_npu_loop_each_round_has_its_own_index(observe):
    seen = observe("loops")
    name, kind, count = kinds(seen)["sunk"]
    assert (kind, count) == ("NPU_LOOP", 3)  # calls
    steps = seen.steps(name)
    assert sorted(steps) == [1, 4, 5]
    # Round i of call c reads batch 3 * c + i; its first number is six times that.
    assert {index: rows(folder) for index, folder in steps.items()} == {
        1: [6.0], 4: [24.0], 5: [30.0]}


def test_fact_4_a_loop_size_changed_in_between_leaves_gaps_or_repeats(tmp_path):
    engine = Engine()
    engine.open(GeSession({"enable_dump": "1", "dump_path": str(tmp_path)}, 0))
    graph = LoadedGraph("sunk", 0, 1)
    graph.loop, graph.plan = Loop(NPU, "while"), object()
    engine.loop_size = 2
    assert engine._indices(graph, 3) == {0: 6, 1: 7}
    engine.loop_size = 5  # the next call: 4 * 5 on, 8 to 19 never come
    assert engine._indices(graph, 4) == {0: 20, 1: 21, 2: 22, 3: 23, 4: 24}


def test_fact_4_host_loop_counts_every_round(observe):
    name, kind, count = kinds(observe("loops"))["hosted"]
    assert (kind, count) == ("HOST_LOOP", 9)
    assert sorted(observe("loops").steps(name)) == [1, 4, 5]


def test_fact_4_builtin_loop_is_one_execution_and_its_rounds_share_a_folder(observe):
    seen = observe("loops")
    name, kind, count = kinds(seen)["inside"]
    assert (kind, count) == ("BUILTIN_LOOP", 3)
    assert sorted(seen.steps(name)) == [1]
    assert rows(seen.steps(name)[1]) == [18.0, 24.0, 30.0]


def test_fact_4_a_new_loop_size_runs_two_graphs_of_the_adapter(observe):
    small = observe("loops").result["small"]
    assert [name for name in small if "loop" in name] == ["set_npu_loop_conditions",
                                                         "set_loop_var"]


def test_fact_4_steps_per_execution_counts_executions(dumped):
    name, _, _, count = next(graph for graph in dumped.graphs["two_steps"] if "train" in graph[0])
    assert count == 8  # 7 batches in 4 executions, twice
    found = operators(dumped.steps(name)[0])
    layer = [op for op in found if op.endswith("/MatMul") and "gradient" not in op
             and "dense" in op]
    assert layer and all(len(found[op]) == 2 for op in layer)
    for records in found.values():
        times = [record[0].dump_time for record in records]
        assert times == sorted(set(times))


def test_fact_4_a_loop_inside_a_graph_is_told_what_the_device_needs(observe, dumped):
    assert "set_npu_loop_size" not in observe("loops").stderr  # it was set to the rounds


def test_fact_4_a_step_that_is_never_reached_leaves_no_folder(observe):
    assert not observe("always").dump_path.joinpath("dump").exists()
    assert not list(observe("always").dump_path.iterdir())
