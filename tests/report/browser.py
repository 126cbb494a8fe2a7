"""Chromium without a window, driven through two pipes by its DevTools protocol: it needs no package."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds for an answer

# chromium reads commands from its file 3 and writes answers to its file 4
START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def find_browser():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser; what it logs and asks the network for is kept."""

    def __init__(self, program, profile):
        (theirs, self._out), (self._in, answers) = map(_high, os.pipe()), map(_high, os.pipe())
        flags = [*FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs), str(answers), program, *flags],
            pass_fds=(theirs, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(answers)
        self._buffer, self._count, self._session = b"", 0, None
        self.complaints, self.requests, self._loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self._out)  # the end of its commands is the end of the browser
        os.close(self._in)
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def open(self, path, *, width=1200, dark=False):
        """Show a file, as on a screen of this width."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.complaints, self.requests, self._loaded = [], [], False
        self.call("Page.navigate", url=path.as_uri())
        while not self._loaded:
            self._note(self._read())
        self.ask("Promise.all([...document.images].map(i => i.decode().catch(() => 0))).then(() => 0)")

    def ask(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def call(self, method, **parameters):
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._out, json.dumps(command).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == self._count:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(parameters)

    def _read(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._in, 2**20) if ready else b""
            if not data:
                raise RuntimeError("the browser does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


def _high(handle):
    """The same file under a number that chromium does not use."""
    high = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(handle)
    return high
