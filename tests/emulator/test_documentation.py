"""The documentation's table of facts names tests that exist."""
import fnmatch
import re

import pytest

from keras_npu_dump.emulator.ge import generation
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "emulator.md").read_text()
TESTS = sorted({name for file in (ROOT / "tests" / "emulator").glob("test_*.py")
                for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)})
NAMED = sorted(set(re.findall(r"`(test_(?!\w+\.py)[\w*]+)`", TEXT)))


@pytest.mark.parametrize("pattern", NAMED)
def test_every_named_test_exists(pattern):
    assert fnmatch.filter(TESTS, pattern)


def test_every_test_of_a_fact_is_named():
    facts = [name for name in TESTS if name.startswith("test_fact_")]
    assert len(facts) > 50
    assert not [name for name in facts
                if not any(fnmatch.fnmatch(name, pattern) for pattern in NAMED)]


def test_every_file_in_the_table_exists():
    for name in set(re.findall(r"`(test_\w+\.py)`", TEXT)):
        assert (ROOT / "tests" / "emulator" / name).is_file()


def test_every_feature_of_a_generation_is_documented_with_its_values():
    for name, values in generation.FEATURES.items():
        row = next(line for line in TEXT.splitlines() if line.startswith("| `%s` |" % name))
        assert list(re.findall(r"`(\w+)`", row.split("|")[2])) == list(values)
