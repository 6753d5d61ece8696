"""What lies behind a tensor's shape is no value, for any reader."""
import numpy as np
import pytest

from keras_npu_dump.analysis.inspect.file import inspect_file
from keras_npu_dump.formats.stats import compute_stats, stats_folder
from keras_npu_dump.formats.tensor import dump_file
from keras_npu_dump.report.inspect_text import as_text

BF16, UINT1 = 27, 11


def write(path, raw, shape, number=1, more=()):
    dump_file.write_file(path, "relu", [], [
        dump_file.TensorValue(bytes(raw), number, shape=shape)] + list(more))
    return dump_file.read_header(path).entries[0]


def floats(count, tail):
    return np.concatenate([np.arange(count, dtype=np.float32),
                           np.full(tail, np.nan, np.float32)]).tobytes()


@pytest.mark.parametrize("more", [0, 1 << 17], ids=["small file", "large file"])
def test_statistics_leave_it_out(tmp_path, more):
    others = [dump_file.TensorValue(np.zeros(more, np.float32))] if more else []
    entry = write(tmp_path / "Relu.relu.1.2.3", floats(12, 4), (3, 4), more=others)
    assert entry.size == 64
    rows = stats_folder.compute_folder_stats(str(tmp_path), ["Relu.relu.1.2.3"]).rows
    assert (rows["count"][0], rows["nan"][0], rows["max"][0]) == (12, 0, 11.0)


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_blocks_and_arrays_are_the_same_values(tmp_path, block):
    for number, raw, shape, values in (
            (1, floats(13, 3), (13,), np.arange(13, dtype=np.float32)),
            (BF16, np.arange(40, dtype=np.uint16).tobytes(), (3, 11), None),
            (UINT1, bytes(range(64)), (2, 21), None)):
        path = tmp_path / ("Relu.relu.%d.2.3" % number)
        entry = write(path, raw, shape, number)
        array = dump_file.read_array(path, entry)
        assert array.shape == shape
        joined = np.concatenate([part.copy() for part in
                                 dump_file.iter_blocks(path, entry, block)])
        np.testing.assert_array_equal(joined, array.reshape(-1))
        if values is not None:
            np.testing.assert_array_equal(joined, values)
        rows = stats_folder.compute_folder_stats(str(tmp_path), [path.name]).rows
        assert rows["count"][0] == compute_stats.compute_stats(array).count == array.size


@pytest.mark.parametrize("shape", [(-1, 4), (8, 4)], ids=["unknown", "larger than what is there"])
def test_where_the_shape_does_not_say_all_bytes_are_values(tmp_path, shape):
    path = tmp_path / "Relu.relu.1.2.3"
    entry = write(path, floats(12, 4), shape)
    assert sum(part.size for part in dump_file.iter_blocks(path, entry)) == 16
    assert stats_folder.compute_folder_stats(str(tmp_path), [path.name]).rows["nan"][0] == 4


def test_inspect_tells_of_it(tmp_path):
    path = tmp_path / "Relu.relu.1.2.3"
    write(path, floats(12, 4), (3, 4))
    described = inspect_file(str(path))
    assert described["tensors"][0]["statistics"]["nan"] == 0
    assert described["tensors"][0]["tail_bytes"] == 16
    assert "16 bytes behind the shape, which are no values" in as_text(described)
    write(path, floats(12, 0), (3, 4))
    assert "tail_bytes" not in inspect_file(str(path))["tensors"][0]
