"""`python -m benchmarks NAME ...`: the same as `braid bench`."""

from __future__ import annotations

from braid.cli.main import main

if __name__ == "__main__":
    import sys

    sys.argv[1:1] = ["bench"]
    main()
