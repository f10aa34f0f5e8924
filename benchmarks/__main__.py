"""Run every benchmark, or those named: ``python -m benchmarks [flow] [data] [training]``.

``large`` takes half an hour and 6 GB of disk, and runs only when it is named.
"""

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
ALL = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("_") and p.stem != "large")

for name in sys.argv[1:] or ALL:
    print(f"== {name}")
    import_module(f"benchmarks.{name}").main()
