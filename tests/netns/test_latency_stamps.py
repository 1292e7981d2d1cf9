# SPDX-License-Identifier: MIT
"""Round trips in three by the kernel's stamps: the parts add up, and show where a delay is."""

import json
import os
import signal
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from kit import net as kitnet  # noqa: E402

PARTS = ("send", "path", "read")
THERE = ("read", "turn", "send")


def ask(netdyno, host, server, *args, ip=None):
    argv = [netdyno, "latency", ip or server.host.ip4, "-p", server.port, "-t", "1s", "--warmup", "0.3s",
            "--timestamps", "kernel", *args, "-o", "json"]
    done = host.run(argv, timeout=60 * kitnet.slow())
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    times = report["directions"][0]["latency"]
    return report, times, times["kernel"]


def missing(kernel):
    return kernel["no_send_stamp"] + kernel["no_receive_stamp"] + kernel["odd"]


@pytest.mark.parametrize("way", ["veth", "lo", "ipv6"])
@pytest.mark.parametrize("args", [(), ("-u",), ("-u", "-q", "4", "-P", "3"), ("-r", "900,100", "-P", "2", "-T", "2")],
                         ids=["tcp", "udp", "many", "sizes"])
def test_parts_add_up(pair, netdyno, way, args):
    """In a closed loop every answer of the window is in the parts, or counted as without a stamp."""
    if way == "lo":
        report = ask(netdyno, pair.b, pair.server, *args, ip="127.0.0.1")
    else:
        report = ask(netdyno, pair.a, pair.server, *args, ip=pair.b.ip6 if way == "ipv6" else None)
    _, times, kernel = report
    assert kernel["stamped"] + missing(kernel) == times["service"]["count"]
    assert kernel["stamped"] > 0 and kernel["missing"] is None and kernel["odd"] == 0
    assert all(kernel[p]["count"] == kernel["stamped"] for p in PARTS)
    assert sum(kernel[p]["min_us"] for p in PARTS) <= times["service"]["min_us"] * 1.002 or missing(kernel)
    if not missing(kernel):
        mean = sum(kernel[p]["mean_us"] for p in PARTS)
        assert mean == pytest.approx(times["service"]["mean_us"], rel=1e-6)


@pytest.mark.parametrize("args", [(), ("-u",), ("-u", "-q", "4", "-P", "3"), ("-r", "900,70000", "-P", "2", "-T", "2")],
                         ids=["tcp", "udp", "many", "sizes"])
def test_server_tells_its_part(pair, netdyno, args):
    """It is a part of the way, and there are as many as answers, but for those at the edges of both windows."""
    _, times, kernel = ask(netdyno, pair.a, pair.server, *args)
    there = kernel["server"]
    assert there and kernel["server_missing"] is None and there["missing"] is None and there["odd"] == 0
    assert all(there[p]["count"] == there["stamped"] > 0 for p in THERE)
    count = there["stamped"] + missing(there)
    assert count == pytest.approx(times["service"]["count"], rel=0.1 * kitnet.slow(), abs=100)
    assert all(there[p]["min_us"] > 0 for p in THERE)
    if not missing(kernel) + missing(there) and "many" not in args:
        assert sum(there[p]["min_us"] for p in THERE) <= kernel["path"]["max_us"]


@pytest.mark.plain
@pytest.mark.parametrize("kind", [(), ("-u",)], ids=["tcp", "udp"])
def test_stopped_server_is_seen_there(pair, netdyno, kind):
    """What it did not read while it stood still is its own time, not the network's."""
    proc = pair.a.spawn([netdyno, "latency", pair.server.host.ip4, "-p", pair.server.port, "-t", "2s", "--warmup", "0.3s",
                         "--timestamps", "kernel", *kind, "--rate", "100", "-o", "json", "--json-lines"])
    proc.wait_line("[Ii]nterval.*measure", 20 * kitnet.slow(), "stdout")
    pair.server.send_signal(signal.SIGSTOP)
    time.sleep(0.3)  # it is to stand still for so long
    pair.server.send_signal(signal.SIGCONT)
    assert proc.wait(30.0 * kitnet.slow()) == 0, proc.stderr
    kernel = json.loads(proc.stdout.splitlines()[-1])["directions"][0]["latency"]["kernel"]
    assert kernel["server"]["read"]["max_us"] >= 250e3
    assert kernel["server"]["send"]["max_us"] < 250e3
    assert kernel["path"]["max_us"] >= kernel["server"]["read"]["max_us"]


@pytest.mark.parametrize("kind", [(), ("-u",)], ids=["tcp", "udp"])
def test_schedule(pair, netdyno, kind):
    _, times, kernel = ask(netdyno, pair.a, pair.server, *kind, "--rate", "500", "-P", "2")
    assert kernel["stamped"] > 0 and kernel["odd"] == 0
    # requests belong to the window in which they were due, stamps to that in which the answer came
    assert kernel["stamped"] + missing(kernel) == pytest.approx(times["service"]["count"], abs=100 * kitnet.slow())


@pytest.mark.plain
@pytest.mark.parametrize("kind", [(), ("-u",)], ids=["tcp", "udp"])
def test_delay_is_on_the_way(lab, serve, netdyno, kind):
    net = lab(delay_ms=10)
    _, times, kernel = ask(netdyno, net.a, serve(net.b), *kind, "--rate", "100")
    assert kernel["stamped"] > 50
    assert kernel["path"]["min_us"] >= 20e3
    assert kernel["send"]["mean_us"] < 5e3 and kernel["read"]["mean_us"] < 5e3


def test_text_and_load(pair, netdyno):
    """The run without the load has its parts, too."""
    report, _, kernel = ask(netdyno, pair.a, pair.server, "--load", "stream,rate=10M")
    assert kernel["stamped"] > 0 and report["loaded"]["idle"]["kernel"]["stamped"] > 0
    done = pair.a.run([netdyno, "latency", pair.server.host.ip4, "-p", pair.server.port, "-t", "1s", "--warmup", "0s",
                       "--timestamps", "kernel"], timeout=30 * kitnet.slow())
    assert done.returncode == 0, done.stderr
    for words in ("until sent", "on the way", "until read", "of the kernel's stamps", "At server", "until turned"):
        assert words in done.stdout, done.stdout


def test_no_stamps(pair, netdyno):
    """Multipath TCP has none for what it sends: unknown, said, and counted."""
    if not os.path.exists("/proc/sys/net/mptcp/enabled"):
        pytest.skip("this kernel has no MPTCP")
    report, times, kernel = ask(netdyno, pair.a, pair.server, "--mptcp")
    if kernel["stamped"]:
        pytest.skip("this kernel stamps MPTCP")
    assert missing(kernel) == times["service"]["count"] > 0
    assert "no stamps" in kernel["missing"]
    assert kernel["server"] is None and kernel["server_missing"]
    assert all(kernel[p]["count"] == 0 and kernel[p]["mean_us"] is None for p in PARTS)
    said = {w["key"]: w["sentence"] for w in report["warnings"]}
    assert kernel["missing"] in said["stamps_missing"]


def test_program_alone(pair, netdyno):
    _, _, kernel = ask(netdyno, pair.a, pair.server, "--timestamps", "program")
    assert kernel is None


@pytest.mark.parametrize("args, words", [
    (("--timestamps", "nic"), "is none of program, kernel"),
    (("--timestamps", "kernel", "--engine", "null"), "--timestamps kernel and --engine null exclude each other"),
])
def test_what_makes_no_sense_is_said(lab, netdyno, args, words):
    done = lab().a.run([netdyno, "latency", "192.0.2.1", *args], timeout=10 * kitnet.slow())
    assert done.returncode == 2 and words in done.stderr
