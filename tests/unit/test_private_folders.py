"""Is every folder that is made for dump data its owner's alone?"""
import os
import stat

import pytest

from keras_npu_dump.capture.device.dump_folder import prepare_dump_path
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files.private_folders import make_new, make_private


@pytest.fixture
def umask_022():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(str(path)).st_mode)


@pytest.mark.usefixtures("umask_022")
def test_every_missing_folder_is_private_and_the_others_keep_their_rights(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    made = make_private(str(tmp_path / "open" / "a" / "b" / "c") + "/")
    assert made == [str(tmp_path / "open" / "a" / "b" / "c"), str(tmp_path / "open" / "a" / "b"),
                    str(tmp_path / "open" / "a")]
    assert {mode(path) for path in made} == {0o700}
    assert mode(tmp_path / "open") == 0o755
    assert make_private(made[0]) == [] and make_private("") == []


def test_a_file_in_the_way_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path in ("file", "file/below"):
        with pytest.raises(OSError):
            make_private(str(tmp_path / path))
    assert sorted(os.listdir(str(tmp_path))) == ["file"]


@pytest.mark.usefixtures("umask_022")
def test_a_dump_path_is_private_from_the_first_folder_that_is_made(tmp_path):
    prepare_dump_path(str(tmp_path / "new" / "dump"))
    assert {mode(path) for path in (tmp_path / "new", tmp_path / "new" / "dump")} == {0o700}
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file is not a folder"):
        prepare_dump_path(str(tmp_path / "file" / "a" / "b"))


def test_new_folders_have_names_of_their_own(tmp_path):
    made = [make_new(str(tmp_path / "runs"), "run") for _ in range(3)]
    assert [os.path.basename(path) for path in made] == ["run", "run_1", "run_2"]
    assert {mode(path) for path in made} == {0o700}
