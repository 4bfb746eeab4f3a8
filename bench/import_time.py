"""How long does `import penstock` take, beside Python and NumPy alone? Files cached, a process each."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.timing import Session, arguments


def main() -> None:
    options = arguments(str(__doc__)).parse_args()
    with Session("import_time", str(__doc__), "none", 0, rounds=options.rounds, record=options.record) as session:
        timings = session.compare(
            {
                "python": lambda: run("pass"),
                "numpy": lambda: run("import numpy"),
                "penstock": lambda: run("import penstock"),
            },
            verify=lambda: run("import penstock; assert penstock.decode"),
            clock=time.perf_counter,
        )
        seconds = timings["penstock"].best - timings["python"].best
        of_numpy = timings["numpy"].best - timings["python"].best
        session.report(timings, baseline="python", import_seconds=seconds, import_seconds_of_numpy=of_numpy)
        print(f"import penstock: {seconds:.3f} s, of which NumPy {of_numpy:.3f} s")


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
