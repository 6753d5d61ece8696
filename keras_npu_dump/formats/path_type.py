"""The type of a path that a reader or writer takes."""
from __future__ import annotations

import os
from typing import Union

Path = Union[str, "os.PathLike[str]"]
