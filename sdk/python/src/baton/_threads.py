"""Threads that run together and are waited for together."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ThreadGroup:
    """Threads that run one function each.

    They are waited for with an event: a `KeyboardInterrupt` during `Thread.join` may leave a thread
    marked as ended that is not (https://bugs.python.org/issue45274).
    """

    def __init__(self, name: str, count: int, function: Callable[[], None]) -> None:
        self._function = function
        self._left = count
        self._lock = threading.Lock()
        self._all_ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        try:
            self._function()
        finally:
            with self._lock:
                self._left -= 1
                if self._left == 0:
                    self._all_ended.set()

    def wait(self) -> None:
        """Waits until all have ended. Signals are handled meanwhile."""
        while not self._all_ended.wait(1.0):
            pass
        for thread in self._threads:
            thread.join()
