# SPDX-License-Identifier: MIT
"""Fixtures of all Python tests; the machinery behind them is in kit/."""
import getpass
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from kit import net as kitnet

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 120
TEARDOWN_LIMIT_S = 60
REPORTS = re.compile(r"(ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:)")


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long this test may take (default "
                                       f"{LIMIT_S}; longer for sanitizer builds)")
    config.addinivalue_line("markers", "plain: not with sanitizers: long waits, layouts or the truth of figures, "
                                       "by code that other tests run, too")


# --- sanitizer builds are slow: they run what can show them something

def leave_out_plain(config, items):
    if os.environ.get("NETDYNO_SAN"):
        plain = [item for item in items if item.get_closest_marker("plain")]
        config.hook.pytest_deselected(items=plain)
        items[:] = [item for item in items if not item.get_closest_marker("plain")]


# --- without root: the whole run again inside a user namespace, if any test needs a lab

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    leave_out_plain(config, items)
    if os.geteuid() == 0 or "NDT_UNSHARED" in os.environ or config.option.collectonly:
        return
    if not any("lab" in getattr(item, "fixturenames", ()) for item in items):
        return
    command = kitnet.unshared_command([sys.executable, "-m", "pytest",
                                       *config.invocation_params.args])
    if not command:
        return  # the lab fixture skips and says why
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()
    print("not root: starting again in a user namespace", flush=True)
    os.environ["NDT_UNSHARED"] = "1"
    # Inside everybody is called root; pytest names its temporary folder after the user.
    os.environ.setdefault("LOGNAME", getpass.getuser())
    os.chdir(config.invocation_params.dir)
    os.execvp(command[0], command)


# --- every test is bounded in time

def _expired(*_):
    pytest.fail("the time of this test is up (see the limit marker)")


def _bounded(seconds):
    """Generator for a hook wrapper: the hook's time ends after so many seconds."""
    before = signal.signal(signal.SIGALRM, _expired)
    # Again every 10 s, in case the first one falls where exceptions are swallowed.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01), 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    mark = item.get_closest_marker("limit")
    limit = float(mark.args[0] if mark else LIMIT_S) * kitnet.slow()
    item.ndt_deadline = time.monotonic() + limit
    yield from _bounded(limit)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from _bounded(item.ndt_deadline - time.monotonic())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown():
    yield from _bounded(TEARDOWN_LIMIT_S * kitnet.slow())


# --- fixtures

@pytest.fixture(scope="session")
def slow():
    """Factor for deadlines: 1, more when NETDYNO_SAN names a sanitizer (address, thread)."""
    return kitnet.slow()


@pytest.fixture
def lab():
    """Factory of labs: net = lab(), lab(hosts=3), lab(delay_ms=10); options as kit.net.Lab."""
    made = []

    def make(**options):
        one = kitnet.Lab(**options)
        one.__enter__()
        made.append(one)
        return one

    yield make
    errors = []
    for one in reversed(made):
        said = one.describe()
        if said:
            print(said)  # pytest shows it for a failed test only
        try:
            one.close()
        except Exception as e:  # the next lab is closed all the same
            errors.append(str(e))
    assert not errors, errors


@pytest.fixture(scope="session")
def netdyno():
    """Path of the program under test: $NETDYNO, else build/netdyno."""
    path = Path(os.environ.get("NETDYNO") or ROOT / "build" / "netdyno").resolve()
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return str(path)


def no_sanitizer_report(text, of):
    """Fail when a sanitizer has spoken."""
    found = REPORTS.search(text)
    assert not found, f"{of}:\n{text[found.start():]}"


@pytest.fixture
def serve(lab, netdyno):
    """serve(host, *args): starts `netdyno serve` in a host and waits until it listens;
    returns the Proc, with .port. Pass port= for a certain one."""
    running = []

    def start(host, *args, port=None, env=None, timeout=10.0):
        port = port or host.free_port()
        proc = host.spawn([netdyno, "serve", "-p", port, *args], env=env)
        proc.port = port
        running.append(proc)
        proc.wait_line("listening", timeout * kitnet.slow(), "stderr")
        return proc

    yield start
    for proc in running:
        if proc.returncode is None:
            proc.stop(timeout=10.0 * kitnet.slow())
        no_sanitizer_report(proc.stderr, "netdyno serve")


@pytest.fixture
def pair(lab, serve):
    """Two hosts with a cable, a server in the second: pair.a, pair.b, pair.server."""
    net = lab()
    net.server = serve(net.b)
    return net


@pytest.fixture
def stream_json(netdyno):
    """stream_json(host, target, *args): runs `netdyno stream TARGET ... -o json` in a host,
    checks the exit code (code=0) and returns what it printed, parsed. target is an address,
    or a Proc from serve, whose address and port are then used."""

    def run(host, target, *args, code=0, timeout=60.0, env=None):
        where = [target]
        if isinstance(target, kitnet.Proc):
            where = [target.host.ip4, "-p", target.port]
        argv = [netdyno, "stream", *where, *args, "-o", "json"]
        done = host.run(argv, timeout=timeout * kitnet.slow(), env=env)
        said = f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        no_sanitizer_report(done.stderr, "netdyno stream")
        assert done.returncode == code, said
        try:
            return json.loads(done.stdout)
        except ValueError as e:
            pytest.fail(f"not JSON ({e}): {said}")

    return run
