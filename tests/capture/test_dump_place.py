"""What is seen of the dump folder before training: room, place, name?"""
import os
import types

import pytest

from keras_npu_dump.capture.device import disk_space, dump_place
from keras_npu_dump.errors import ConfigError

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
30 1 0:40 / / rw,relatime - overlay overlay rw,lowerdir=/a
31 30 8:1 /vol /data rw,relatime shared:1 - ext4 /dev/sda1 rw
32 30 8:1 /vol /data\\040two rw,relatime - nfs4 server:/x rw
33 30 0:50 / /dev/shm rw - tmpfs tmpfs rw
34 30 0:51 / /late rw - tmpfs tmpfs rw
35 30 8:2 / /late rw - xfs /dev/sdb rw
"""


@pytest.fixture
def mountinfo(tmp_path):
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS + "a line of some later kernel\n")
    return str(path)


@pytest.mark.parametrize("path, mount", [
    ("/home/x", ("/", "overlay")), ("/data", ("/data", "ext4")), ("/data/x/y", ("/data", "ext4")),
    ("/database", ("/", "overlay")), ("/data two/x", ("/data two", "nfs4")),
    ("/dev/shm/x", ("/dev/shm", "tmpfs")), ("/late/x", ("/late", "xfs"))])
def test_the_mount_that_holds_a_folder(mountinfo, path, mount):
    assert dump_place.mount_of(path, mountinfo) == mount


def test_without_mountinfo_nothing_is_claimed(tmp_path, monkeypatch):
    assert dump_place.mount_of("/x", str(tmp_path / "missing")) is None
    monkeypatch.setattr(dump_place, "mount_of", lambda path: None)
    assert dump_place.container_warning("/x", True) is None


@pytest.mark.parametrize("mount, warned", [
    (("/", "overlay"), True), (("/", "ext4"), True), (("/dev/shm", "tmpfs"), True),
    (("/data", "ext4"), False), (("/data", "nfs4"), False)])
def test_a_folder_of_a_container_that_is_on_no_mount(mount, warned):
    text = dump_place.container_warning("/x", True, dump_place.Mount(*mount))
    assert (text is not None) == warned
    assert text is None or (os.uname().nodename in text and "gone with the container" in text)
    assert dump_place.container_warning("/x", False, dump_place.Mount(*mount)) is None


@pytest.mark.parametrize("file, text, inside", [
    (".dockerenv", "", True), ("run/.containerenv", "", True),
    ("proc/1/cgroup", "0::/kubepods/burstable/pod1\n", True),
    ("proc/1/cgroup", "12:pids:/docker/0123abc\n", True),
    ("proc/1/cgroup", "0::/init.scope\n", False), ("etc/hostname", "x", False)])
def test_signs_of_a_container(tmp_path, file, text, inside):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert dump_place.in_container(str(tmp_path), {}) is inside
    assert dump_place.in_container(str(tmp_path), {"container": "podman"}) is True


@pytest.mark.parametrize("path, part", [
    ("/a/b_c-1.2:3", None), ("/a b", "a blank"), ("/a/ä", "'ä'"), ("/a/数据", "'据'"),
    ("/a;b", "';'")])
def test_paths_that_the_vendors_comparator_refuses(path, part):
    text = dump_place.name_warning(path)
    assert (text is None) == (part is None)
    assert part is None or part in text


def test_too_little_room_is_refused_with_what_to_do(tmp_path, monkeypatch):
    usage = types.SimpleNamespace(free=3 * 10 ** 9)
    asked = []
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda path: asked.append(path) or usage)
    disk_space.check_free_space(str(tmp_path / "not" / "yet"), 3)
    assert asked == [str(tmp_path)]
    with pytest.raises(ConfigError, match=r"at least 3.5 GB.*data_dump_min_free_gb.*3\.0 GB"):
        disk_space.check_free_space(str(tmp_path / "not" / "yet"), 3.5)


def test_room_that_cannot_be_asked_for_is_not_refused(tmp_path, monkeypatch):
    def fail(path):
        raise OSError("no statfs here")
    monkeypatch.setattr(disk_space.shutil, "disk_usage", fail)
    assert disk_space.free_bytes(str(tmp_path)) is None
    disk_space.check_free_space(str(tmp_path), 1e9)
