"""Makes no SparkContext and waits: executors wait in their scripts until the driver listens."""

from __future__ import annotations

import time

if __name__ == "__main__":
    time.sleep(300)
