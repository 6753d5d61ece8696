"""Reference, semantics 4: loops whose rounds are not the loop size."""
from tests.emulator.conftest import operators, outputs


def test_fact_4_rounds_beyond_the_loop_size_are_said_once_and_not_dumped(observe):
    seen = observe("every_step")
    (name, count), = [graph for graph in seen.result if "longer" in graph[0]]
    assert seen.stderr.count("the loop of %s ran 2 rounds; the device would run 1 per call"
                             % name) == 1
    assert count == 3
    read = {index: [float(outputs(record)[0]) for operator, records in operators(folder).items()
                    if "IteratorGetNext" in operator for record in records]
            for index, folder in seen.steps(name).items()}
    assert read == {0: [0.0], 1: [2.0], 2: [4.0]}


def test_fact_4_steps_per_execution_needs_a_loop_size_and_that_is_said_once(dumped):
    name = next(graph[0] for graph in dumped.graphs["two_steps"] if "train" in graph[0])
    assert dumped.stderr.count("graph %s holds a loop that takes its data" % name) == 1
