# SPDX-License-Identifier: MIT
"""netperf 2.7 itself at one end, ours at the other. $NETPERF and $NETSERVER name other ones than those on PATH."""
import os
import re
import shutil
import signal
import time

import pytest

from kit.net import Lab, slow, wait_port
from kit.ntttcp import ended

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(60), pytest.mark.plain]

TESTS = ["TCP_STREAM", "TCP_MAERTS", "TCP_RR", "TCP_CRR", "UDP_STREAM", "UDP_RR", "TCP_SENDFILE", "TCP_CC",
         "OMNI"]
# Global options and the test's own.
CASES = {
    "cpu": ("-t TCP_STREAM -c -C", ""),
    "bound": ("-t TCP_RR -T 0,0 -c -C", "-r 100,200"),
    "sizes": ("-t TCP_STREAM", "-m 4K -M 8K -s 64K -S 64K -D"),
    "one byte": ("-t UDP_STREAM", "-m 1 -D -R 1"),
    "transactions": ("-t TCP_RR -l -500", ""),
    "datagram transactions": ("-t UDP_RR -l -500", "-e 1"),
    "connections": ("-t TCP_CRR -l -50", ""),
    "bytes": ("-t TCP_STREAM -l -1000000", ""),
    "iterations": ("-t TCP_STREAM -i 3,3 -I 95,50", ""),
    "omni send": ("-t OMNI", "-d send"),
    "omni receive": ("-t OMNI", "-d recv"),
    "omni connections": ("-t OMNI", "-d 0 -c"),
    "omni without a way": ("-t OMNI", "-d 0"),
    "reverse with cpu": ("-t TCP_MAERTS -c -C", "-M 32K"),
    "datagrams with cpu": ("-t UDP_STREAM -c -C", "-m 1472 -R 1"),
    "connections with cpu": ("-t TCP_CRR -c -C", ""),
    "omni both": ("-t OMNI", "-d rr -T udp"),
    "burst": ("-t TCP_RR", "-b 16 -D"),
    "fixed port": ("-t UDP_STREAM", "-P ,{port} -m 1000 -R 1"),
    "late": ("-t TCP_STREAM -s 2", ""),
    "no such cpu": ("-t TCP_RR -T 77", ""),
    "paced connections": ("-t TCP_CRR -b 10 -w 10", ""),
}
FAMILY = pytest.mark.parametrize("family", ["ip4", "ip6"])
PAIRS = pytest.mark.parametrize("real_serves", [True, False], ids=["real netserver", "real netperf"])


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


def find(name):
    path = os.environ.get(name.upper()) or shutil.which(name)
    if not path or not os.access(path, os.X_OK):
        pytest.skip(f"{name} is not here (Debian: non-free), and {name.upper()} does not name it")
    return os.path.abspath(path)


@pytest.fixture(scope="module")
def real():
    return {name: find(name) for name in ("netperf", "netserver")}


@pytest.fixture
def run(net, netdyno, real):
    """run(real_serves, family, global options, test's options): both ends; returns the client's Proc."""
    def body(real_serves, family, words, more="", seconds=1):
        address, port = getattr(net.b, family), net.b.free_port()
        server = [real["netserver"]] if real_serves else [netdyno, "netserver"]
        client = [netdyno, "netperf"] if real_serves else [real["netperf"]]
        serving = net.b.spawn([*server, "-D", "-p", port])
        wait_port(net.b, port)
        words = words.split() if "-l" in words.split() else ["-l", str(seconds), *words.split()]
        more = more.format(port=net.b.free_port()).split()
        proc = net.a.spawn([*client, "-H", address, "-p", port, "-P", "0", *words, "--", *more])
        ended(proc, within=20.0)
        serving.send_signal(signal.SIGTERM)
        if real_serves:
            serving.kill()
        else:
            ended(serving, code=None)
        return proc

    yield body
    for proc in net.a.procs + net.b.procs:
        proc.kill()


def figures(proc):
    """The numbers of the first row of figures."""
    for line in proc.stdout.splitlines():
        found = re.findall(r"-?\d+(?:\.\d+)?", line)
        if len(found) >= 4 and not line.startswith("!!!"):
            return [float(x) for x in found]
    raise AssertionError(proc.describe(40))


@FAMILY
@PAIRS
@pytest.mark.parametrize("test", TESTS)
def test_pairs(run, test, real_serves, family):
    route = "-R 1" if test.startswith("UDP") else ""
    proc = run(real_serves, family, f"-t {test}", route)
    assert max(figures(proc)[3:]) > 10, proc.describe(40)


OTHERS = {"TCP_MSS": r"^\d{3,5} $", "REM_CPU": r"^100$", "LOC_CPU": r"^100$",
          "UUID": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}


@FAMILY
@PAIRS
@pytest.mark.parametrize("test", OTHERS)
def test_of_no_figures(run, test, real_serves, family):
    proc = run(real_serves, family, f"-t {test}")
    assert re.search(OTHERS[test], proc.stdout, re.M) and proc.returncode == 0, proc.describe(40)


def test_both_clients_say_the_same(net, netdyno, real):
    """Where nothing is measured, what they print is equal, byte by byte."""
    server = net.b.free_port()
    serving = net.b.spawn([real["netserver"], "-D", "-p", server])
    wait_port(net.b, server)
    to = ["-H", net.b.ip4, "-p", server]
    lines = [["-V"], ["-H", net.b.ip4, "-p", net.b.free_port()], [*to, "-t", "SCTP_RR"],
             [*to, "--", "-k", "/no/such/file"], [*to, "-t", "REM_CPU", "-v", "2"],
             [*to, "--", "-o", "?"], [*to, "--", "-k", "?"], [*to, "--", "-O", "?"]]
    for line in lines:
        said = [net.a.run([*program, *line], timeout=30)
                for program in ([real["netperf"]], [netdyno, "netperf"])]
        assert said[0].stdout == said[1].stdout, line
        assert said[0].returncode == said[1].returncode, line
    serving.kill()


@PAIRS
@pytest.mark.parametrize("case", CASES)
def test_options(run, case, real_serves):
    proc = run(real_serves, "ip4", *CASES[case])
    assert figures(proc), proc.describe(40)


@pytest.mark.parametrize("test", ["TCP_CRR", "TCP_CC"])
def test_connections_end_soon(run, test):
    """The original's server takes four seconds to find that its client has ended; ours does not."""
    begun = time.monotonic()
    run(False, "ip4", f"-t {test}")
    assert time.monotonic() - begun < 4.0 * slow()


def test_waits_longer_than_the_original_can(run):
    """Its server's time runs from its answer on, so that its own client fails behind a wait of 5 seconds."""
    assert figures(run(True, "ip4", "-t TCP_STREAM -l 1 -s 5"))[4] > 10


@PAIRS
def test_passphrase_and_cpu(net, netdyno, real, real_serves):
    port = net.b.free_port()
    server = [real["netserver"]] if real_serves else [netdyno, "netserver"]
    client = [netdyno, "netperf"] if real_serves else [real["netperf"]]
    serving = net.b.spawn([*server, "-D", "-p", port, "-Z", "secret"])
    wait_port(net.b, port)
    line = [*client, "-H", net.b.ip4, "-p", port, "-t", "REM_CPU"]
    good, bad = net.a.spawn([*line, "-Z", "secret"]), net.a.spawn([*line, "-Z", "wrong"])
    assert ended(good).stdout.startswith("100")
    assert ended(bad, code=None).returncode == 1
    serving.kill()
