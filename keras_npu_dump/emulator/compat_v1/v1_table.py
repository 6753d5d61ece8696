"""The modules `npu_device.compat.v1...` and where their names come from (see `module_table`)."""
from __future__ import annotations

from typing import Dict, Optional

TABLE: Dict[str, Dict[str, Optional[str]]] = {}
