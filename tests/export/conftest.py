"""One thread for the other libraries: with many, they spend the time of these small inputs waiting for each other."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
