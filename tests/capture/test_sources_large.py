"""Is the look for npu_device quick beside a data set?"""
import os

from keras_npu_dump.launch import import_scan


def test_a_script_that_says_it_itself_is_the_only_file_read(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("import npu_device\n")

    def refuse(folder):
        raise AssertionError("looked into " + folder)

    monkeypatch.setattr(os, "scandir", refuse)
    assert import_scan.find_import(str(tmp_path / "train.py"))


def test_files_of_a_data_set_count_and_code_beside_it_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(import_scan, "_MAX_ENTRIES", 60)
    monkeypatch.setattr(import_scan, "_MAX_IN_FOLDER", 20)
    (tmp_path / "train.py").write_text("import helper\n")
    for folder in ("data", "data/deeper", "more"):
        (tmp_path / folder).mkdir()
        for number in range(50):
            (tmp_path / folder / ("%d.jpg" % number)).write_text("")
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "helper.py").write_text("import npu_device\n")
    read = []
    scandir = os.scandir

    def counted(folder):
        entries = scandir(folder)
        read.append(os.path.relpath(str(folder), str(tmp_path)))
        return entries

    monkeypatch.setattr(os, "scandir", counted)
    assert import_scan.find_import(str(tmp_path / "train.py"))
    assert read[:4] == [".", "data", "more", "utils"] and len(read) <= 5


def test_of_a_large_tree_only_so_much_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(import_scan, "_MAX_FILES", 5)
    (tmp_path / "train.py").write_text("import m0\n")
    for number in range(9):
        (tmp_path / ("m%d.py" % number)).write_text("import m%d\n" % (number + 1))
    (tmp_path / "m9.py").write_text("import npu_device\n")
    assert import_scan.find_import(str(tmp_path / "train.py")) is None
    monkeypatch.setattr(import_scan, "_MAX_FILES", 50)
    assert import_scan.find_import(str(tmp_path / "train.py")) == (str(tmp_path / "m9.py"), 1)
