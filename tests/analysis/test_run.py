"""A run opened for reading: what is where, and that nothing is read too early."""
import os

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis import manifest_source
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats import names, tree
from keras_npu_dump.formats.graph import ge_graph
from keras_npu_dump.formats.tensor import dump_file
from tests.analysis.synthetic import GRAPH, Job, op, spread


@pytest.fixture(scope="module")
def run(trained):
    return keras_npu_dump.open_run(trained("dropout", data="tensor", step="0|3"))


def test_nothing_is_read_before_it_is_asked_for(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("read too early")

    monkeypatch.setattr("keras_npu_dump.analysis.run.find_manifest", fail)
    run = keras_npu_dump.open_run(tmp_path)
    assert run.path == str(tmp_path)
    with pytest.raises(AssertionError, match="too early"):
        assert run.manifest


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        keras_npu_dump.open_run(tmp_path / "nothing")
    with pytest.raises(InputError):
        keras_npu_dump.open_run(tmp_path).operators()


def test_ranks_executions_and_batches(run):
    assert run.ranks == [0]
    assert [one.data_index for one in run.steps()] == [0, 3]
    assert run.step(3).iteration == {"fit": 0, "epoch": 0, "batch": 3}
    assert run.step(epoch=0, batch=3).data_index == 3
    assert run.step().data_index == 0
    with pytest.raises(InputError, match="there are the data_index 0, 3"):
        run.step(2)
    with pytest.raises(InputError, match="rank: expected one of 0"):
        run.steps(rank=7)


def test_operators_in_the_order_in_which_they_run(run):
    """Of every operator with a file: after what feeds it, and in the order of the files' times."""
    table = run.operators()
    for one in table:
        for edge in one.inputs:
            if edge and one.type not in ("NetOutput",):
                assert table.by_name(edge.rpartition(":")[0]) < one.position
    folder, = run.step(0).folders
    ran = [file.dump.op_name for file in sorted(
        tree.list_files(folder), key=lambda file: file.dump.timestamp)]
    listed = [names.sanitise(one.name) for one in table]
    assert sorted(ran, key=listed.index) == ran


def test_types_inputs_and_original_names(run):
    table = run.operators()
    drop = next(one for one in table if one.type == "Relu")
    assert drop.original_ops == (drop.name,)
    assert drop.producers and drop.consumers
    assert drop.inputs[0].endswith("/BiasAdd:0")


def test_a_tensor_is_the_array_of_its_file(run):
    execution = run.step(3)
    folder, = execution.folders
    for file in tree.list_files(folder):
        header, arrays = dump_file.read_file(os.path.join(folder, file.name))
        for entry, array in zip(header.entries, arrays):
            if entry.size:
                mine = run.tensor(header.op_name, entry.index, entry.kind, data_index=3)
                np.testing.assert_array_equal(mine, array)


def test_statistics_are_one_array_whether_csv_or_tensors(trained, run):
    """The same training dumped as statistics says the same, to the digits of a csv."""
    table = run.statistics()
    other = keras_npu_dump.open_run(trained("dropout", data="stats", step="0|3")).statistics()
    assert table.dtype == other.dtype and len(table) == len(other) > 100
    for name in ("rank", "data_index", "epoch", "batch", "position", "turn", "op", "op_type", "io",
                 "index", "data_size", "format", "shape"):
        assert list(table[name]) == list(other[name]), name
    # The device's csv has no name for the newer types, and for handles of TensorFlow.
    assert all(one in (two, "-") for one, two in zip(other["data_type"], table["data_type"]))
    counted = other["count"] > 0
    for name in ("count", "nan", "neg_inf", "pos_inf"):
        assert list(table[name][counted]) == list(other[name][counted])
    for name in ("max", "min", "avg"):
        np.testing.assert_allclose(table[name][counted], other[name][counted], rtol=1e-5,
                                   atol=1e-7)


def test_statistics_can_be_narrowed(run):
    one = run.statistics(data_index=3, op="Relu$")
    assert set(one["data_index"]) == {3}
    assert {name.rpartition("/")[2] for name in one["op"]} == {"Relu"}
    assert set(one["io"]) == {"input", "output"}
    with pytest.raises(InputError, match="regular expression"):
        run.statistics(op="(")


def test_to_pandas_or_one_sentence(run):
    table = run.statistics(data_index=0)
    try:
        import pandas
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install keras-npu-dump\[pandas\]"):
            table.to_pandas()
        return
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(table)
    assert list(frame.columns) == list(table.dtype.names)


def test_a_leaf_folder_alone(run):
    """Any level will do; below the dump path it narrows the answer."""
    leaf = keras_npu_dump.open_run(run.step(3).folders[0])
    assert [one.data_index for one in leaf.steps()] == [3]
    assert len(leaf.statistics()) == len(run.statistics(data_index=3))


def test_a_written_manifest_is_used_while_it_is_true(tmp_path, monkeypatch):
    job = Job(tmp_path, [op("a", "Data"), op("b", "Relu", ["a:0"])])
    x = spread(4)
    job.execution(0, {"b": ([x], [x])})
    keras_npu_dump.collect(str(tmp_path))

    def fail(*arguments, **options):
        raise AssertionError("paired again")

    with monkeypatch.context() as patched:
        patched.setattr("keras_npu_dump.collector.collect.collect", fail)
        assert len(keras_npu_dump.open_run(tmp_path).steps()) == 1
        assert len(keras_npu_dump.open_run(tmp_path / "manifest.json").steps()) == 1
    job.execution(1, {"b": ([x], [x])})
    folder = os.path.dirname(keras_npu_dump.open_run(tmp_path).steps()[0].folders[0])
    later = os.stat(tmp_path / "manifest.json").st_mtime + 5
    os.utime(folder, (later, later))
    assert len(keras_npu_dump.open_run(tmp_path).steps()) == 2
    assert manifest_source.find_manifest(str(tmp_path)).path is None  # nothing was written


# --- what only devices write


def test_values_in_the_layout_of_the_framework(tmp_path):
    """A feature map as (N, C1, H, W, C0), padded to 16 channels, comes back as NHWC."""
    desc = ge_graph.Desc("DT_FLOAT16", (1, 1, 2, 2, 16), "NC1HWC0", origin_format="NHWC",
                      origin_shape=(1, 2, 2, 3))
    job = Job(tmp_path, [op("x", "Data"), ge_graph.GraphOp(
        "conv", "Conv2D", ["x:0"], output_descs=[desc], original_op_names=["net/conv"])])
    image = np.arange(12, dtype=np.float16).reshape(1, 2, 2, 3)
    blocks = np.zeros((1, 1, 2, 2, 16), np.float16)
    blocks[0, 0, :, :, :3] = image[0]
    job.execution(0, {"conv": ([], [dump_file.TensorValue(blocks, format=3,
                                                 original_shape=(1, 2, 2, 3))])})
    run = keras_npu_dump.open_run(tmp_path)
    np.testing.assert_array_equal(run.tensor("conv"), image)
    np.testing.assert_array_equal(run.tensor("net/conv"), image)  # TensorFlow's name


def test_names_that_became_equal(tmp_path):
    """`a/b` and `a_b` have one file name: the file itself says which it is."""
    for data in ("tensor", "stats"):
        job = Job(tmp_path / data, [op("x", "Data"), op("a/b", "Relu", ["x:0"]),
                                    op("a_b", "Relu", ["a/b:0"])], data=data)
        low, high = spread(4), spread(4) + 100
        job.execution(0, {"a/b": ([low], [low]), "a_b": ([low], [high])})
        table = keras_npu_dump.open_run(tmp_path / data).statistics(op="^a/b$")
        assert len(table) == 2 and table["max"].max() < 50


def test_names_too_long_for_the_file_system(tmp_path):
    from keras_npu_dump.formats import mapping
    long = "net/" + "very_long_" * 30 + "end"
    job = Job(tmp_path, [op("x", "Data"), op(long, "Relu", ["x:0"])])
    folder = job.execution(0, {})
    path = mapping.create_dump_file(folder, names.format_dump_name(
        names.DumpName("Relu", long, 1, 3, job.stamp)))
    x = spread(4)
    dump_file.write_file(path, long, [x], [x + 1], job.stamp)
    assert os.path.basename(path).isdigit()
    run = keras_npu_dump.open_run(tmp_path)
    np.testing.assert_array_equal(run.tensor(long), x + 1)
    assert set(run.statistics()["op"]) == {long}


def test_several_runs_of_one_operator(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("loop/Add", "Add", ["x:0"])])
    turns = [([spread(4, seed=n)], [spread(4, seed=10 + n)]) for n in range(3)]
    job.execution(0, {"loop/Add": turns})
    run = keras_npu_dump.open_run(tmp_path)
    for number in range(3):
        np.testing.assert_array_equal(run.tensor("loop/Add", turn=number), turns[number][1][0])
    np.testing.assert_array_equal(run.tensor("loop/Add"), turns[2][1][0])  # the last, as msaccucmp
    assert sorted(run.statistics()["turn"]) == [0, 0, 1, 1, 2, 2]
    with pytest.raises(InputError, match="ran 3 times"):
        run.tensor("loop/Add", turn=3)


def test_a_graph_that_was_loaded_again_counts_from_0_again(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("y", "Relu", ["x:0"])], record=False)
    for number in range(2):
        job.execution(number, {"y": ([spread(4)], [spread(4)])})
    first = os.path.join(str(tmp_path), job.session(), "0", GRAPH)
    job.execution(0, {"y": ([spread(4)], [spread(4) + 5])})
    # The second load has a model id of its own.
    os.makedirs(os.path.join(first, "9"))
    source = sorted(os.listdir(os.path.join(first, "5", "0")))[-1]
    os.makedirs(os.path.join(first, "9", "0"))
    os.rename(os.path.join(first, "5", "0", source), os.path.join(first, "9", "0", source))
    steps = keras_npu_dump.open_run(tmp_path).steps(role="all")
    assert [(one.load, one.data_index) for one in steps] == [(0, 0), (0, 1), (1, 0)]


def test_only_statistics_were_dumped(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("y", "Relu", ["x:0"])], data="stats")
    job.execution(0, {"y": ([spread(4)], [spread(4)])})
    run = keras_npu_dump.open_run(tmp_path)
    with pytest.raises(InputError, match="only statistics"):
        run.tensor("y")
    with pytest.raises(InputError, match="no operator is called 'yy'"):
        run.tensor("yy")
