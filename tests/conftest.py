"""What all tests share: where the public fixtures lie."""
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared_fixtures():
    """The folder of real files found in public; in CI it must be there."""
    folder = SHARED / "fixtures"
    if not folder.is_dir():
        message = "no shared/fixtures beside this clone: real files are not read"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder
