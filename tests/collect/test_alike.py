"""One function traced for a full batch and for a smaller one: which graph is which?"""
import pytest

from keras_npu_dump import collect
from tests.collect import making


def graphs(folder, sizes, base="__inference_train_step_%d"):
    for number, size in enumerate(sizes):
        name = base % (40 + 99 * number)
        making.graph(folder / "graphs/pid_7_deviceid_0", name, making.train_ops(size), 3 + number)
        making.steps(folder, making.train_ops(size), range(2 - number), name, 5 + number)
    manifest = collect(str(folder))
    return [manifest.pairs[position].evidence[-1] for position in manifest.training["device:0"]]


@pytest.mark.parametrize("base", ["__inference_train_step_%d", "ge_default_20300317174640_%d"])
def test_the_smaller_batch_is_told_by_what_its_graph_takes(tmp_path, base):
    full, partial = graphs(tmp_path, (4, 3), base)
    assert full.startswith("it takes ") and "[4, 8]" in full
    assert ": batches of 4, the larger ones; " in full
    assert partial.startswith("it takes ") and "[3, 8]" in partial
    assert ": batches of 3, the smaller ones; " in partial
    assert full.endswith("it was number 1") and partial.endswith("it was number 2")


def test_equal_shapes_tell_nothing_and_a_single_graph_has_none_beside_it(tmp_path):
    assert not any("it takes" in one for one in graphs(tmp_path / "equal", (4, 4)))
    assert not any("it takes" in one for one in graphs(tmp_path / "one", (4,)))
