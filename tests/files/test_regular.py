"""Is only a regular file ever opened, and without waiting?"""
import os
import pickle
import threading

import pytest

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files import read_limited, regular
from keras_npu_dump.formats import mapping
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.stats import stats_file
from keras_npu_dump.formats.tensor import dump_file, header
from tests.files import odd

pytestmark = pytest.mark.timeout(20)


def opened(path):
    fd, size = regular.open_regular(path)
    os.close(fd)
    return size


@pytest.mark.parametrize("kind", odd.NOT_FILES)
def test_what_is_no_file_is_named_and_not_opened(tmp_path, kind):
    path = str(tmp_path / "run.json")
    odd.make(kind, path)
    before = sorted(os.listdir("/proc/self/fd"))
    for read in (opened, regular.check_regular, graph_reader.read_head, header.read_header,
                 stats_file.read_stats, dump_file.read_file,
                 lambda one: list(graph_reader.read_graphs(one)),
                 lambda one: read_limited.read_record(one, 100),
                 lambda one: read_limited.read_json(one, 100),
                 lambda one: list(read_limited.read_lines(one, 100, 10))):
        with pytest.raises(regular.NotRegularError) as caught:
            read(path)
        assert caught.value.path == path
        assert regular.kind_of(path) in caught.value.reason or "this is a" in caught.value.reason
    assert sorted(os.listdir("/proc/self/fd")) == before
    # Workers hand errors over by pickle.
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_a_block_device(tmp_path):
    path = str(tmp_path / "run.json")
    try:
        odd.block_device(path)
    except PermissionError:
        pytest.skip("this user may make no devices")
    for read in (opened, lambda one: read_limited.read_record(one, 100)):
        with pytest.raises(regular.NotRegularError, match="a block device"):
            read(path)
    with pytest.raises(FileExistsError):
        regular.create(path)


@pytest.mark.parametrize("kind", odd.NOT_FILES)
def test_what_is_no_file_is_not_written_to(tmp_path, kind):
    path = str(tmp_path / "next.flags")
    odd.make(kind, path)
    if kind != "nowhere":  # that is made, as everywhere
        for append in (False, True):
            with pytest.raises((FileExistsError, IsADirectoryError)):
                os.close(regular.create(path, append=append))
        with pytest.raises(FileExistsError):
            regular.check_writable(path)
    assert regular.kind_of(path) is not None


def test_a_fifo_that_somebody_reads_is_not_written_to(tmp_path):
    path = str(tmp_path / "out.npy")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(FileExistsError):
            regular.create(path)
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_whoever_waits_at_a_fifo_goes_on_waiting(tmp_path):
    path = str(tmp_path / "run.json")
    os.mkfifo(path)
    through = []

    def wait():
        with open(path, "wb"):
            through.append("opened")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    with pytest.raises(regular.NotRegularError):
        read_limited.read_record(path, 100)
    thread.join(0.2)
    assert through == []
    os.close(os.open(path, os.O_RDONLY))
    thread.join(10)


def test_files_and_links_to_files_are_read(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo")
    (tmp_path / "link").symlink_to(path)
    assert regular.kind_of(str(tmp_path / "link")) is None
    for name in ("a", "link"):
        assert opened(str(tmp_path / name)) == 7
        assert read_limited.read_record(str(tmp_path / name), 7) == b"one\ntwo"
        assert list(read_limited.read_lines(str(tmp_path / name), 7, 3)) == [b"one", b"\n", b"two"]
    with pytest.raises(FileNotFoundError):
        opened(str(tmp_path / "b"))
    fd = os.open(str(tmp_path), os.O_RDONLY)
    one, size = regular.open_regular("a", fd)
    assert (os.read(one, 10), size) == (b"one\ntwo", 7)
    os.close(one)
    os.close(fd)


def test_created_files_are_private_and_begin_anew_or_go_on(tmp_path):
    path = str(tmp_path / "a")
    for append, expected in ((False, b"x"), (True, b"xx"), (False, b"x")):
        fd = regular.create(path, append=append)
        os.write(fd, b"x")
        os.close(fd)
        with open(path, "rb") as stream:
            assert stream.read() == expected
    assert os.stat(path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("read", [
    lambda path: read_limited.read_record(path, 1 << 20),
    lambda path: read_limited.read_json(path, 1 << 20),
    lambda path: list(read_limited.read_lines(path, 1 << 20, 100)), stats_file.read_stats,
    header.read_header, graph_reader.read_head, lambda path: list(graph_reader.iter_ops(path)),
    lambda path: mapping.read_mapping(os.path.dirname(path))])
def test_a_terabyte_is_told_at_once(tmp_path, read):
    path = str(tmp_path / "mapping.csv")
    odd.make("terabyte", path)
    with pytest.raises(FormatError):
        read(path)


def test_a_graph_that_goes_on_for_a_terabyte(tmp_path):
    path = str(tmp_path / "ge_proto_00000001_graph_1_Build.txt")
    with open(path, "wb") as stream:
        stream.write(b'graph {\n  name: "g"\n  op {\n    name: "a"\n  }\n')
        stream.truncate(odd.TERABYTE)
    assert graph_reader.read_head(path).name == "g"
    with pytest.raises(FormatError):
        list(graph_reader.iter_ops(path))


def test_files_without_a_size_are_read_up_to_the_limit():
    assert read_limited.read_record("/proc/self/status", 1 << 20).startswith(b"Name:")
    with pytest.raises(FormatError):
        read_limited.read_record("/proc/self/status", 10)
    # Reading this one would wait for the next message of the kernel.
    if os.path.exists("/proc/kmsg"):
        with pytest.raises((OSError, FormatError)):
            read_limited.read_record("/proc/kmsg", 1 << 26)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100000])
def test_what_is_no_json_is_told(tmp_path, text):
    path = str(tmp_path / "run.json")
    with open(path, "wb") as stream:
        stream.write(text)
    with pytest.raises(FormatError):
        read_limited.read_json(path, 1 << 20)


@pytest.mark.parametrize("part, bytes_each", [(b'{"a":0},', 232), (b"{},", 64), (b"[],", 56)])
def test_a_small_json_document_that_would_fill_the_memory_is_not_parsed(tmp_path, part, bytes_each):
    path = tmp_path / "manifest.json"
    path.write_bytes(b"[" + part * ((1 << 30) // bytes_each) + b"0]")
    assert os.path.getsize(str(path)) < read_limited.MAX_MANIFEST
    with pytest.raises(FormatError, match="so many parts that it would take"):
        read_limited.read_json(str(path), read_limited.MAX_MANIFEST)


def test_the_memory_that_is_given_is_enough_for_the_largest_manifest():
    """With as many parts as a real one has: there the limit of the size comes first."""
    step = (b'{"data_index": 5, "iteration": {"fit": 0, "epoch": 1, "batch": 2}, "uncertain": null,'
            b' "dump_dir": "20300317174640/0/__inference_train_function_55/5/5", "files": 41},')
    weight = sum(step.count(sign) * size for sign, size in read_limited._MEMORY.items())
    assert weight / len(step) * read_limited.MAX_MANIFEST < read_limited._MOST_MEMORY
