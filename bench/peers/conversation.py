"""The other end of worker.py: a process that answers; each question and answer is a JSON object on a line."""

import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
IDLE_LIMIT = 1.0


class Worker:
    """A library's process."""

    def __init__(self, peer, variables, script="worker.py", kind="peer", python=sys.executable):
        self.peer = peer
        command = [str(python), str(HERE / script), f"{kind}_{peer}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables,
                                        text=True)
        self.send("hello")
        self.version, self.ways = None, ()

    def introduce(self):
        """Takes the answer to the constructor's question, so that libraries load side by side."""
        hello = self.receive()
        if "refused" in hello:
            sys.exit(f"{self.peer}: {hello['refused']}")
        self.version, self.ways = hello["version"], hello["ways"]

    def send(self, what, **arguments):
        try:
            self.process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() tells

    def receive(self):
        """{"refused": why} if it could not do it, or if the process has ended."""
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"refused": "the process ended"}

    def ask(self, what, **arguments):
        self.send(what, **arguments)
        return self.receive()

    def wait_until_idle(self):
        """Waits until none of its threads runs: threads may spin for a while to wait for more work."""
        until = time.monotonic() + IDLE_LIMIT
        while self.is_busy() and time.monotonic() < until:
            time.sleep(0.002)

    def is_busy(self):
        for stat in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            try:
                if stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "R":
                    return True
            except OSError:  # it ended meanwhile
                continue
        return False

    def cpu_seconds(self):
        """Seconds of CPU time so far, with the compilers that it started."""
        try:
            stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        return sum(int(field) for field in stat.rpartition(")")[2].split()[11:15]) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
