# SPDX-License-Identifier: MIT
"""NTttcp-for-Linux itself at one end, ours at the other. $NTTTCP names the program."""
import os
import re
import signal

import pytest

from kit import ntttcp
from kit.net import Lab, Timeout, poll, slow, wait_port

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(60), pytest.mark.plain]

# Options of both ends, of the receiver and of the sender alone.
CASES = {
    "plain": ("-P 2 -t 2", "", "-n 2"),
    "warm-up and cool-down": ("-P 2 -W 1 -t 1 -C 1", "", "-n 1"),
    "longer receiver": ("-P 2", "-t 3", "-n 1 -t 1"),
    "longer sender": ("-P 2", "-t 1", "-n 1 -t 2"),
    "many": ("-P 4 -t 1", "-e", "-n 2 -l 3"),
    "mapping": ("-m 4,*,{address} -t 1", "", ""),
    "fixed source ports": ("-P 2 -t 1", "", "-n 2 -l 2 -f {source}"),
    "no delay": ("-P 2 -t 1 --no-delay", "", "-n 1 -b 4k"),
    "limited": ("-P 2 -t 2", "", "-n 1 -B 200M"),
    "no sync": ("-P 2 -t 1 -N", "", "-n 2"),
    "udp": ("-P 2 -t 1 -u -b 1k", "", "-n 1"),
}
PAIRS = pytest.mark.parametrize("real_receives", [True, False], ids=["real receives", "real sends"])


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


@pytest.fixture(scope="module")
def real():
    path = os.environ.get("NTTTCP", "")
    if not path:
        pytest.skip("NTTTCP does not name NTttcp-for-Linux")
    if not os.access(path, os.X_OK):
        pytest.skip(f"NTTTCP: {path} cannot be run")
    return os.path.abspath(path)


@pytest.fixture
def folder(tmp_path, netdyno, real):
    (tmp_path / "real").symlink_to(real)
    return ntttcp.links(tmp_path, netdyno)


@pytest.fixture
def base(net):
    yield net.b.free_port() // 2
    for host in net.hosts:
        for proc in host.procs:
            proc.kill()


def figure(text, label):
    found = re.search(rf"{label}\s*:([0-9.]+)", text)
    assert found, text
    return float(found[1])


def receive(folder, host, base, line):
    """Start a receiver and wait for its ports: the original speaks before it listens."""
    proc = ntttcp.start(folder, host, line, ready="threads created|Network activity")
    udp, sync = "-u" in line, "-N" not in line
    for port, proto in ((base, "udp" if udp else "tcp"), (base - 1, "tcp"))[:1 + sync]:
        wait_port(host, port, 10 * slow(), proto)
    return proc


def finish(receiver, is_real):
    """The end of a receiver. The original prints its result and then, one time in a few, hangs."""
    if not is_real:
        ntttcp.ended(receiver, within=8)
        return
    receiver.wait_line("cpu busy", 10 * slow())
    try:
        assert receiver.wait(1.0) == 0
    except Timeout:
        receiver.kill()


def command(program, role, address, base, *options):
    words = " ".join(options).format(address=address, source=base // 2).split()
    where = [role] if "-m" in words else [f"{role}{address}"]
    return [program, *where, "-p", base, *words]


def check(receiver, sender, seconds):
    """What both consoles say fits together."""
    for end in (receiver, sender):
        assert figure(end.stdout, "total bytes") > 0, end.describe(60)
        # the original measures half a second more, and more than that on a busy machine
        more = 1.3 if end.argv[0].endswith("real") else 0.1
        assert seconds - 0.05 < figure(end.stdout, "test duration") < seconds + more * slow()
        assert re.search(r"\t throughput\t:[0-9.]+[MG]bps$", end.stdout, re.M), end.describe(60)


@PAIRS
@pytest.mark.parametrize("case", CASES)
def test_both_ways(net, folder, base, case, real_receives):
    both, receiver, sender = CASES[case]
    programs = ("real", "ntttcp") if real_receives else ("ntttcp", "real")
    lines = [command(program, role, net.b.ip4, base, both, more) for program, role, more in
             zip(programs, ("-r", "-s"), (receiver, sender))]
    seconds = {"plain": 2, "limited": 2, "longer receiver": 1, "longer sender": 2}.get(case, 1)
    first = receive(folder, net.b, base, lines[0])
    second = ntttcp.start(folder, net.a, lines[1])
    ntttcp.ended(second, within=12)
    finish(first, real_receives)
    if case in ("longer receiver", "longer sender"):
        assert figure(second.stdout, "total bytes") > 0
        assert figure(first.stdout, "total bytes") > 0
        return
    check(first, second, seconds)
    conns = {"many": 24, "mapping": 4, "plain": 4, "fixed source ports": 8}.get(case)
    if conns:
        assert f"{conns} connections tested" in second.stdout
    if not case == "udp":
        ratio = figure(first.stdout, "total bytes") / figure(second.stdout, "total bytes")
        assert 0.3 < ratio < 3


@PAIRS
def test_held_receiver(net, folder, base, real_receives):
    programs = ("real", "ntttcp") if real_receives else ("ntttcp", "real")
    first = receive(folder, net.b, base, command(programs[0], "-r", net.b.ip4, base, "-H -P 2 -t 1"))
    for turn in (1, 2):
        second = ntttcp.start(folder, net.a,
                              command(programs[1], "-s", net.b.ip4, base, "-P 2 -n 1 -t 1"))
        ntttcp.ended(second, within=8)
        assert figure(second.stdout, "total bytes") > 0
        poll(f"result {turn}", lambda n=turn: first.stdout.count("Totals:") == n, 8 * slow())
        # free for the next one
        poll("a free receiver", lambda: first.stdout.count("cpu busy") == turn, 8 * slow())
    first.send_signal(signal.SIGKILL if real_receives else signal.SIGINT)
    first.wait(5 * slow())


@pytest.mark.parametrize("senders", [("real", "real"), ("ntttcp", "real"), ("real", "ntttcp"),
                                     ("ntttcp", "ntttcp")], ids="-".join)
@pytest.mark.parametrize("receiver", ["real", "ntttcp"])
def test_two_senders(net, folder, base, receiver, senders):
    if "real" not in senders and receiver != "real":
        pytest.skip("all ends are ours")
    first = receive(folder, net.b, base, command(receiver, "-r", net.b.ip4, base, "-M -P 2 -t 2"))
    early = ntttcp.start(folder, net.a, command(senders[0], "-s", net.b.ip4, base, "-P 2 -n 1 -t 2"),
                         ready="connections created")
    late = ntttcp.start(folder, net.a,
                        command(senders[1], "-s", net.b.ip4, base, "-P 2 -n 2 -t 2 -L"))
    for end in (early, late):
        ntttcp.ended(end, within=10)
        assert figure(end.stdout, "total bytes") > 0
    finish(first, receiver == "real")
    assert figure(first.stdout, "total bytes") > 0


@PAIRS
def test_second_sender_is_turned_away(net, folder, base, real_receives):
    programs = ("real", "ntttcp") if real_receives else ("ntttcp", "real")
    first = receive(folder, net.b, base, command(programs[0], "-r", net.b.ip4, base, "-P 1 -t 2"))
    served = ntttcp.start(folder, net.a, command(programs[1], "-s", net.b.ip4, base, "-P 1 -n 1 -t 2"),
                          ready="Network activity")
    turned = ntttcp.start(folder, net.a, command(programs[1], "-s", net.b.ip4, base, "-P 1 -n 1 -t 2"))
    ntttcp.ended(turned, code=24, within=3)
    ntttcp.ended(served, within=8)
    finish(first, real_receives)


@PAIRS
def test_interrupted_sender(net, folder, base, real_receives):
    programs = ("real", "ntttcp") if real_receives else ("ntttcp", "real")
    first = receive(folder, net.b, base, command(programs[0], "-r", net.b.ip4, base, "-P 2 -t 8"))
    second = ntttcp.start(folder, net.a, command(programs[1], "-s", net.b.ip4, base, "-P 2 -n 1 -t 8"))
    second.wait_line("Real-time", 8 * slow())
    second.send_signal(signal.SIGINT)
    second.wait(6 * slow())
    first.wait_line("cpu busy", 6 * slow())
    if real_receives:
        first.kill()  # it hangs now and then
    else:
        first.wait(6 * slow())
    for end in (first, second):
        assert figure(end.stdout, "total bytes") > 0
        assert figure(end.stdout, "test duration") < 7.5


def test_sender_without_sync_is_recognised(net, folder, base):
    first = receive(folder, net.b, base, command("ntttcp", "-r", net.b.ip4, base, "-P 2 -t 2"))
    second = ntttcp.start(folder, net.a,
                          command("real", "-s", net.b.ip4, base, "-N -P 2 -n 1 -t 2"))
    ntttcp.ended(second, within=8)
    ntttcp.ended(first, within=8)
    assert figure(first.stdout, "total bytes") > 0
