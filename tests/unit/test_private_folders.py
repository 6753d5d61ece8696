"""Is every folder that is made for dump data its owner's alone?"""
import os
import stat

import pytest

from keras_npu_dump.files.private_folders import make_private


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
