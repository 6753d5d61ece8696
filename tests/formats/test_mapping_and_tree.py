"""Folders: which are steps, what is in them, and names too long for disk."""
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_npu_dump.formats import mapping, names, tree
from tests.formats.test_names import real_names

DUMP = "Add.add.1.2.1617161424189416"


def put(root, *parts, content=b"x"):
    path = root.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_documented_tree_is_read(tmp_path):
    put(tmp_path, "20310102030405", "0", "train", "6", "0", DUMP)
    step, = tree.walk_steps(tmp_path)
    assert step[1:] == ("20310102030405", 0, "train", 6, 0, "")


def test_a_mapping_that_is_no_file_makes_no_step(tmp_path):
    put(tmp_path, "20310102030405", "0", "train", "6", "0", DUMP)
    os.mkfifo(str(tmp_path / "mapping.csv"))
    (tmp_path / "20310102030405" / "20310102030406").symlink_to(tmp_path)
    (tmp_path / "20310102030405" / "mapping.csv").symlink_to(tmp_path)
    step, = tree.walk_steps(tmp_path)
    assert step.data_index == 0


def test_nine_comes_before_ten_on_every_level(tmp_path):
    for index in (10, 9, 100, 2):
        put(tmp_path, "20310102030405", "0", "train", "6", str(index), DUMP)
    for model in (11, 6):
        put(tmp_path, "20310102030405", "1", "train", str(model), "0", DUMP)
    found = [(s.device, s.model_id, s.data_index)
             for s in tree.walk_steps(tmp_path)]
    assert found == [(0, 6, 2), (0, 6, 9), (0, 6, 10), (0, 6, 100),
                     (1, 6, 0), (1, 11, 0)]


@pytest.mark.parametrize("level", range(6))
def test_the_walk_may_start_at_any_level(tmp_path, level):
    parts = ["20310102030405", "3", "train", "6", "8"]
    put(tmp_path, *parts, DUMP)
    root = tmp_path.joinpath(*parts[:level])
    step, = tree.walk_steps(root)
    assert step[1:6] == ("20310102030405", 3, "train", 6, 8)
    assert os.path.samefile(step.path, tmp_path.joinpath(*parts))


@pytest.mark.parametrize("parts, expected", [
    # a second time folder, by adump on newest chips
    (["20310102030405", "20310102030407", "0", "m", "6", "1"],
     ("20310102030407", 0, "m", 6, 1, "20310102030405")),
    # no data_index: the model has no step address
    (["20310102030405", "0", "m", "6"],
     ("20310102030405", 0, "m", 6, None, "")),
    # single operators
    (["20310102030405", "0"], ("20310102030405", 0, None, None, None, "")),
    # levels that scripts put above
    (["rank_3", "step0", "20310102030405", "0", "m", "6", "1"],
     ("20310102030405", 0, "m", 6, 1, os.path.join("rank_3", "step0"))),
    # a level between time and device
    (["20310102030405", "rank_3", "0", "m", "6", "1"],
     ("20310102030405", 0, "m", 6, 1, "")),
    # another framework's order: no device, a rank above
    (["rank_3", "net", "1", "0"], (None, None, "net", 1, 0, "rank_3")),
    # no time folder left
    (["0", "m", "6", "1"], (None, 0, "m", 6, 1, "")),
])
def test_every_depth_that_occurs(tmp_path, parts, expected):
    put(tmp_path, *parts, DUMP)
    step, = tree.walk_steps(tmp_path)
    assert step[1:] == expected


def test_real_dump_folders_are_what_a_person_would_say(shared_fixtures):
    expected = {
        "/home/HwHiAiUser/output/20200808163566/0/"
        "ge_default_20200808163719_121/11/0":
            ("20200808163566", 0, "ge_default_20200808163719_121", 11, 0),
        "precision_data/npu/debug_1/dump/20211016164504/1/"
        "ge_default_20211016164504_1/1/0":
            ("20211016164504", 1, "ge_default_20211016164504_1", 1, 0),
        "precision_data/npu/debug_0/dump/20211016180613/1/"
        "ge_default_20211016180613_1/1/0":
            ("20211016180613", 1, "ge_default_20211016180613_1", 1, 0),
        "npu/20240905174530/0/ge_default_20240905174606_11/2/0":
            ("20240905174530", 0, "ge_default_20240905174606_11", 2, 0),
        "/home/202134565663/0/ge_default_20210420113943_71/10/1":
            ("202134565663", 0, "ge_default_20210420113943_71", 10, 1),
        "/home/user/acl_resnet50/complie_path_infer/20210331185941/0//"
        "resnet50/1/0/": ("20210331185941", 0, "resnet50", 1, 0),
        "20210206030403/0/resnet50/1/0/":
            ("20210206030403", 0, "resnet50", 1, 0),
        "dump_path/step0/20241201103000/0/":
            ("20241201103000", 0, None, None, None),
    }
    seen = 0
    for _, path in real_names(shared_fixtures, "dump_dir"):
        if "{" in path:  # a pattern
            continue
        parts = tuple(part for part in path.split("/") if part)
        assert tree.interpret(path, [], parts)[1:6] == expected[path], path
        seen += 1
    assert seen == len(expected)


def test_folders_without_dump_files_are_passed_through(tmp_path):
    put(tmp_path, "graphs", "pid_1_deviceid_0", "ge_proto_00000001_Build.txt")
    put(tmp_path, "runs", "a", "run.json")
    put(tmp_path, "20310102030405", "0", "m", "6", "1", DUMP)
    assert len(list(tree.walk_steps(tmp_path))) == 1


def test_a_link_to_a_folder_above_does_not_loop(tmp_path):
    put(tmp_path, "20310102030405", "0", "m", "6", "1", DUMP)
    (tmp_path / "20310102030405" / "again").symlink_to(tmp_path)
    assert len(list(tree.walk_steps(tmp_path))) == 1


def test_a_folder_of_twenty_digits_is_no_data_index(tmp_path):
    """GE's counters are int64, and so are the columns that they go into."""
    for name in ("9" * 20, str(2 ** 63), str(2 ** 63 - 1)):
        put(tmp_path, "20310102030405", "0", "m", "6", name, DUMP)
    assert [step.data_index for step in tree.walk_steps(tmp_path)] == [2 ** 63 - 1, None, None]


def test_a_missing_root_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(tree.walk_steps(tmp_path / "no"))
    with pytest.raises(NotADirectoryError):
        list(tree.walk_steps(put(tmp_path, "file")))


def test_files_are_listed_with_what_they_are(tmp_path):
    put(tmp_path, DUMP, content=b"12345")
    put(tmp_path, DUMP + ".csv")
    put(tmp_path, "Opdebug.Node_OpDebug.1.2.1617161424189416")
    put(tmp_path, "11794093422222222222")
    put(tmp_path, "99")
    put(tmp_path, "7")
    put(tmp_path, "conv1_relu.0.1596191800668285.npy")
    put(tmp_path, "mapping.csv", content=(
        b"11794093422222222222,Add.long.5.9.1900000000444444.csv\n"
        b"11794093422222222222,Add.long.5.9.1900000000444444.csv\n"
        b"99,Cast.toy_cast.2.4.1900000000777778\n"))
    (tmp_path / "link").symlink_to(tmp_path / "99")
    (tmp_path / "8").symlink_to("99")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "directory").symlink_to(tmp_path / "folder")
    elsewhere = put(tmp_path, "folder", "Mul.m.1.2.1617161424189417",
                    content=b"123")
    (tmp_path / elsewhere.name).symlink_to(elsewhere)
    files = {file.name: file for file in tree.list_files(tmp_path)}
    assert {name: file.kind for name, file in files.items()} == {
        DUMP: "dump", DUMP + ".csv": "stats",
        "Opdebug.Node_OpDebug.1.2.1617161424189416": "overflow",
        "11794093422222222222": "stats", "99": "dump", "7": "digits",
        "conv1_relu.0.1596191800668285.npy": "foreign",
        "mapping.csv": "mapping", "link": "link", "8": "link",
        elsewhere.name: "dump"}
    assert files[elsewhere.name].size == 3
    assert files[DUMP].size == 5
    assert files["99"].full_name == "Cast.toy_cast.2.4.1900000000777778"
    assert files["99"].dump.op_name == "toy_cast"
    assert files["11794093422222222222"].dump.csv
    assert files["7"].dump is None


def test_mapping_rows_of_other_tools_and_broken_ones_are_left_out(tmp_path):
    put(tmp_path, "mapping.csv", content=(
        b"123124178524,Opdebug.Node_OpDebug.1.25.1614717262233160\n"
        b"0a1b2c.npy,Add.something.output.0.npy\n"
        b"5,a,b\n\n6\n7,\n8,Mul.m.1.2.3"))
    assert mapping.read_mapping(tmp_path) == {
        "123124178524": "Opdebug.Node_OpDebug.1.25.1614717262233160",
        "8": "Mul.m.1.2.3"}


def test_a_folder_without_mapping_has_an_empty_one(tmp_path):
    assert mapping.read_mapping(tmp_path) == {}


def test_a_name_too_long_becomes_digits_as_on_the_host(tmp_path):
    name = "ReduceSum." + "a" * 260 + ".88.4.1900000000777777"
    path = mapping.create_dump_file(tmp_path, name)
    again = mapping.create_dump_file(tmp_path, name)
    digits = os.path.basename(path)
    assert path == again and names.is_digits(digits)
    # the host writes a line for every chunk: the same line twice is normal
    assert (tmp_path / "mapping.csv").read_text() \
        == "%s,%s\n" % (digits, name) * 2
    assert mapping.read_mapping(tmp_path) == {digits: name}
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(tmp_path / "mapping.csv").st_mode & 0o777 == 0o600


def test_a_short_name_stays_and_needs_no_mapping(tmp_path):
    path = mapping.create_dump_file(tmp_path, DUMP)
    assert os.path.basename(path) == DUMP
    assert os.listdir(tmp_path) == [DUMP]


@pytest.mark.parametrize("text, value", [
    # printed by a C++ program with std::hash<std::string> of libstdc++
    ("", 6142509188972423790), ("a", 4993892634952068459),
    ("hello", 2762169579135187400), ("12345678", 10113836418918046885),
    ("/w/d/20310102030405/0/Add.very_long", 3963527693555827813)])
def test_the_digits_are_those_of_libstdcxx(text, value):
    assert mapping.path_hash(text.encode()) == value


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_mapping_is_read(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("m")
    (folder / "mapping.csv").write_bytes(data)
    for digits, name in mapping.read_mapping(folder).items():
        assert digits.isdigit() and name
