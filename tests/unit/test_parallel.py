"""The pool of threads: started on demand, reused, no larger than asked for, asleep when idle, and safe to fork."""

import subprocess
import sys

COMMON = """
import os, time
from pathlib import Path
import numpy as np
from podium import _core

def tasks():
    return {int(task.name) for task in Path("/proc/self/task").iterdir()}

def state(task):
    return Path(f"/proc/self/task/{task}/stat").read_text().rpartition(")")[2].split()[0]

values = np.ones((1 << 12, 1 << 10), np.float32)  # several ranges of the loop
before = tasks()

def use(num_threads):
    assert _core.first_infinite(values, num_threads) == -1
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", COMMON + script], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_threads_are_started_once_and_no_more_than_asked_for():
    started = run("""
use(1)
print(len(tasks() - before))
use(3)
helpers = tasks() - before
print(len(helpers))
for _ in range(200):
    use(3)
    use(2)
print(tasks() - before == helpers)
""")
    assert started == ["0", "2", "True"]


def test_idle_threads_sleep():
    assert run("""
use(3)
helpers = tasks() - before
while any(state(task) != "S" for task in helpers):
    time.sleep(0.01)
print("asleep")
""") == ["asleep"]


def test_a_forked_child_computes_with_threads_of_its_own():
    assert (
        run("""
use(3)
for _ in range(20):
    child = os.fork()
    if child == 0:
        use(3)
        os._exit(len(tasks()) - 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
use(3)
""")
        == ["2"] * 20
    )


def test_forking_while_another_thread_computes_is_safe():
    assert (
        run("""
import threading
ends = threading.Event()

def compute():
    while not ends.is_set():
        use(3)

others = [threading.Thread(target=compute) for _ in range(3)]
for other in others:
    other.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        use(3)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ends.set()
for other in others:
    other.join()
""")
        == ["0"] * 20
    )


def test_processes_of_multiprocessing_compute():
    assert (
        run("""
import multiprocessing
use(2)
with multiprocessing.get_context("fork").Pool(2) as processes:
    print(*processes.map(use, [1, 2, 3, 2]))
""")
        == ["None"] * 4
    )
