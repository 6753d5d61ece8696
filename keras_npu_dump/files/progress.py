"""How a long piece of work tells how far it is."""
from typing import Callable, Optional

# Called with (stage, done, total): stage is a word such as "export", done and total count
# files or bytes, and total is None where nobody knows it. report.progress_line shows it.
Progress = Callable[[str, int, Optional[int]], None]
