"""Do all commands end, in little memory, with one answer, on whatever lies in a dump?

Every tree is a good dump with one to three hostile changes, drawn from a seed. The
short form has every sort of thing at least once; KERAS_NPU_DUMP_ABUSE=1000 is the long
one. A failure names its seed: KERAS_NPU_DUMP_ABUSE_SEED=<seed> KERAS_NPU_DUMP_ABUSE=1
makes that tree again.
"""
import os

import pytest

from tests.abuse.driver import Driver
from tests.abuse.environment import environment
from tests.abuse.kinds import groups
from tests.abuse.running import Abuse
from tests.abuse.trees import bases

# Each group of kinds has its turn once.
COUNT = int(os.environ.get("KERAS_NPU_DUMP_ABUSE", len(groups())))
SEED = int(os.environ.get("KERAS_NPU_DUMP_ABUSE_SEED", "20261201"))
# Parts of the test that run beside each other.
PARTS = 4


@pytest.fixture(scope="module")
def abuse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("abuse")
    driver = Driver(environment())
    yield Abuse(driver, bases(folder), folder, every="KERAS_NPU_DUMP_ABUSE" in os.environ)
    driver.close()


@pytest.mark.timeout(900 + 60 * COUNT)
@pytest.mark.parametrize("part", range(min(PARTS, COUNT)))
def test_every_command_holds_on_hostile_trees(part, abuse):
    found = []
    for seed in range(SEED + part, SEED + COUNT, PARTS):
        found += abuse.check(seed)
    assert not found, "%d faults\n%s" % (len(found), "\n".join(found[:20]))
