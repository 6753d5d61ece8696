"""Is a file that is replaced ever half there, readable by others, or written through a link?"""
import os
import stat

import pytest

from keras_npu_dump.files.atomic import create_beside, write_atomically
from keras_npu_dump.files.paths import relative_to
from keras_npu_dump.files.regular import create
from tests.conftest import run_python


def test_the_file_is_whole_private_and_alone(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")
    os.chmod(str(path), 0o666)
    before = os.umask(0)
    try:
        write_atomically(str(path), b"new")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new" and os.listdir(str(tmp_path)) == ["run.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["canary", "missing"])
def test_a_link_that_stands_there_is_replaced_and_not_followed(tmp_path, target):
    (tmp_path / "canary").write_text("mine")
    (tmp_path / "here").mkdir()
    path = tmp_path / "here/run.json"
    path.symlink_to("../" + target)
    write_atomically(str(path), b"new")
    assert not path.is_symlink() and path.read_bytes() == b"new"
    assert (tmp_path / "canary").read_text() == "mine" and not (tmp_path / "missing").exists()


def test_the_folder_may_be_reached_by_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far")
    write_atomically(str(tmp_path / "near/x"), b"new")
    assert (tmp_path / "far/x").read_bytes() == b"new"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_left_alone(tmp_path, make):
    make(str(tmp_path / "x"))
    with pytest.raises(FileExistsError):
        write_atomically(str(tmp_path / "x"), b"new")
    assert not list(tmp_path.glob(".x*"))


def test_where_it_fails_the_old_file_stays_and_nothing_is_left(tmp_path):
    (tmp_path / "x").write_text("old")
    done = run_python("""
import resource
from keras_npu_dump.files.atomic import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    write_atomically("x", b"new")
except OSError as error:
    print(error.errno)
""", tmp_path)
    assert done.stdout.strip().isdigit(), done.stderr
    assert (tmp_path / "x").read_text() == "old" and not list(tmp_path.glob(".x*"))


def test_a_new_file_never_takes_a_name_that_is_there(tmp_path, monkeypatch):
    names = iter([b"aaaa", b"bbbb"])
    monkeypatch.setattr(os, "urandom", lambda count: next(names))
    (tmp_path / ".keras-npu-dump-61616161.tmp").symlink_to("canary")
    descriptor, path = create_beside(str(tmp_path / "x"))
    os.close(descriptor)
    assert path.endswith(".keras-npu-dump-62626262.tmp") and not (tmp_path / "canary").exists()


def test_a_journal_is_not_appended_to_what_a_link_leads_to(tmp_path):
    (tmp_path / "canary").write_text("mine")
    (tmp_path / "x").symlink_to("canary")
    with pytest.raises(FileExistsError, match="a link"):
        create(str(tmp_path / "x"), append=True, follow=False)
    assert (tmp_path / "canary").read_text() == "mine"


@pytest.mark.parametrize("path, kept", [
    ("", ""), ("/d/graphs", "graphs"), ("/d", "."), ("/other", "/other"), ("/d/../e", "/e"),
    ("/dd", "/dd")])
def test_paths_are_relative_where_they_lie_inside(path, kept):
    assert relative_to(path, "/d") == kept


def test_a_relative_path_without_a_working_directory_stays(tmp_path):
    done = run_python("""
import os
from keras_npu_dump.files.paths import current_folder, relative_to
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
print([current_folder(), relative_to("x", "/d"), relative_to("/d/x", "/d")])
""", tmp_path)
    assert done.stdout.strip() == "['', 'x', 'x']", done.stderr


def test_the_longest_name_that_a_folder_takes(tmp_path):
    name = "\u56fe" * 84  # of 252 bytes
    write_atomically(str(tmp_path / name), b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]
