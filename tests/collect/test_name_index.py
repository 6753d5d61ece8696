"""Does the index find every graph of which a rule about names would say yes?"""
import random
import types

from keras_npu_dump import collect
from keras_npu_dump.collector.pairing import pairing
from keras_npu_dump.collector.pairing.name_index import NameIndex
from keras_npu_dump.collector.rules.by_name import full_name, graph_id, same_id
from keras_npu_dump.collector.rules.evidence import FOR
from keras_npu_dump.formats.names import sanitise
from tests.collect import making
from tests.collect.making import TRAIN, train_ops

BASES = ("__inference_train_function_55", "AssignVariableOp", "ge_default_20300101000000",
         "ge_default_20300101000001", "a/b c", "x_1", "_7")
ENDS = ("", "_1", "_11", "_1_2", "_sub_0_know", "_1_sub_3_unknow", "_sub_1_input_x", "_one")


def graph_called(name, number, subgraphs):
    body = None if subgraphs is None else types.SimpleNamespace(names=[name] + subgraphs)
    return types.SimpleNamespace(name=name, dump_name=sanitise(name), graph_id=number, body=body)


def test_whatever_the_names_are():
    rng = random.Random(7)
    names = [base + end for base in BASES for end in ENDS]
    graphs = [graph_called(rng.choice(names), rng.choice((None, 1, 11)),
                           rng.choice((None, [], [rng.choice(names)]))) for _ in range(300)]
    index = NameIndex(graphs)
    said_yes = 0
    for name in names + [sanitise(name) for name in names] + [None]:
        unit = types.SimpleNamespace(model_name=name)
        expected = [graph for graph in graphs if any(
            found is not None and found.verdict == FOR
            for found in (rule(unit, graph, None) for rule in (full_name, graph_id, same_id)))]
        found = index.named(name)
        assert [graph for graph in found if graph in expected] == expected, name
        assert len(found) < len(graphs) / 2, name
        said_yes += len(expected)
    assert said_yes > 500


def test_a_name_of_a_sub_graph_is_found_once_its_body_was_read():
    graph = graph_called("whole", 1, None)
    index = NameIndex([graph])
    assert index.named("part") == []
    graph.body = types.SimpleNamespace(names=["whole", "part"])
    index.note_bodies([graph])
    index.note_bodies([graph])
    assert index.named("part") == [graph]


def test_a_hundred_variables_are_not_weighed_against_each_other(tmp_path, monkeypatch):
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    making.graph(graphs, TRAIN, train_ops(), 200)
    making.steps(tmp_path, train_ops(), (0,), TRAIN, 300)
    for number in range(100):
        name = "AssignVariableOp_%d" % number
        making.graph(graphs, name, train_ops(), number)
        making.steps(tmp_path, train_ops(), (0,), name, number + 1)
    weighed = []
    weigh = pairing.weigh
    monkeypatch.setattr(pairing, "weigh", lambda unit, graph, *rest: weighed.append(
        (unit.model_name, graph.name)) or weigh(unit, graph, *rest))
    manifest = collect(str(tmp_path))
    assert len(manifest.pairs) == 101
    assert {pair.confidence for pair in manifest.pairs} == {"exact"}
    assert len(set(weighed)) == 101
