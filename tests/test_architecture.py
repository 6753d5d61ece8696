"""Does docs/architecture.md show the tree as it is?"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "keras_npu_dump"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# A room with more files than about ten wants rooms of its own.
MOST_FILES = 11


def rooms():
    """Folders of the package that hold Python files, relative to it."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE}
    return {folder for folder in folders if "__pycache__" not in folder.parts}


def name(folder):
    return folder.relative_to(PACKAGE).as_posix() + "/"


def files(folder):
    return [path for path in folder.glob("*.py") if path.name != "__init__.py"]


def test_every_room_is_on_the_map_and_every_room_of_the_map_exists():
    shown = set(re.findall(r"^\| `([\w/]+/)` \|", PAGE, re.MULTILINE))
    assert shown == {name(folder) for folder in rooms()}


def test_every_file_of_the_map_exists():
    for path in re.findall(r"`([\w/]+\.(?:py|cfg|md))`", PAGE):
        assert any((base / path).is_file() for base in (PACKAGE, ROOT)), path


def test_no_room_is_too_full_and_no_file_too_long():
    assert [name(folder) for folder in rooms() if len(files(folder)) > MOST_FILES] == []
    long = [path.name for path in PACKAGE.rglob("*.py")
            if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []


def test_no_file_name_stands_in_two_rooms():
    seen = {}
    for folder in rooms() | {PACKAGE}:
        for path in files(folder):
            seen.setdefault(path.name, []).append(name(folder) if folder != PACKAGE else "/")
    assert {key: sorted(value) for key, value in seen.items() if len(value) > 1} == {}


def test_no_class_name_stands_for_two_ideas():
    seen = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for found in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            seen.setdefault(found, []).append(path.name)
    assert {key: value for key, value in seen.items() if len(value) > 1} == {}
