# SPDX-License-Identifier: MIT
"""sockperf itself at one end, ours at the other, both ways; what may come to a server's port; the statistics again
from the full log. $SOCKPERF names another one than that on PATH."""
import math
import os
import re
import shutil
import signal
import socket
import struct

import pytest

from kit.net import Lab, poll, slow
from kit.ntttcp import ended

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(60)]

PROTOCOL = pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
# LISA's: ten lines one after the other.
PERCENTILES = re.compile(
    r"(sockperf: ---> <MAX> observation = [ \d]*\d\.\d{3}\s+"
    r"(sockperf: ---> percentile [ \d]\d\.\d{3} = [ \d]*\d\.\d{3}\s+){8}"
    r"sockperf: ---> <MIN> observation = [ \d]*\d\.\d{3}\s+)")


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


@pytest.fixture(scope="module")
def real():
    path = os.environ.get("SOCKPERF") or shutil.which("sockperf")
    if not path:
        pytest.skip("sockperf is not here")
    return path


@pytest.fixture
def serve(net, netdyno):
    """serve(words, program): a server on host b; returns (port, Proc)."""
    def body(*words, program=None):
        port = net.b.free_port()
        argv = [program] if program else [netdyno, "sockperf"]
        proc = net.b.spawn([*argv, "server", "-p", port, *words])
        poll(f"port {port}", lambda: net.b.listening(port, "tcp" if "--tcp" in words else "udp"), 10.0 * slow())
        return port, proc

    yield body
    for proc in net.a.procs + net.b.procs:
        proc.kill()


def plain(proc):
    return re.sub(r"\x1b\[[\d;]*m", "", proc.stdout)


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def no_room(host):
    """Datagrams that sockets of the host had no room for so far."""
    names, values = re.findall(r"^Udp: (.*)$", host.run(["cat", "/proc/net/snmp"]).stdout, re.M)
    return int(dict(zip(names.split(), values.split()))["RcvbufErrors"])


@PROTOCOL
@pytest.mark.parametrize("mode", ["pp", "ul --reply-every=10", "tp --mps=5000 -m 100", "pp -b 10 -m 1472", "pb",
                                  "pp --data-integrity -m 500"])
@pytest.mark.parametrize("who", ["both ours", "real server", "real client"])
def test_matrix(net, netdyno, real, serve, tmp_path, tcp, mode, who):
    words = ["--tcp"] if tcp else []
    length = ["-t", "1"]
    if mode == "pb":
        (tmp_path / "play.csv").write_text("# seconds, bytes\n" + "".join(f"{k / 500}, {14 + k}\n" for k in range(1, 501)))
        length = ["--data-file", tmp_path / "play.csv", "--reply-every", "2"]
    before = no_room(net.b)
    port, server = serve(*words, program=real if who == "real server" else None)
    client = [real] if who == "real client" else [netdyno, "sockperf"]
    proc = net.a.spawn([*client, *mode.split(), *words, "-i", net.b.ip4, "-p", port, *length])
    ended(proc, within=20.0)
    text = plain(proc)
    if mode.startswith("tp"):
        sent = number(r"Total of (\d+) messages sent", text)
        assert number(r"Summary: BandWidth is ([\d.]+) MBps \([\d.]+ Mbps\)\n", text) > 0
    else:
        sent = number(r"SentMessages=(\d+)", text)
        assert PERCENTILES.search(text), text
        assert number(r"Total (\d+) observations", text) > 10
    server.send_signal(signal.SIGINT)
    server.wait(10.0 * slow())  # and all that it has said
    if who != "real server":
        # a client that is stopped may have sent some more than it counts, and a burst may be cut; what a slow
        # server's socket had no room for is the kernel's to tell
        received = number(r"Total (\d+) messages received and handled", plain(server))
        assert abs(received + no_room(net.b) - before - sent) <= 20


@PROTOCOL
@pytest.mark.parametrize("who", ["both ours", "real server"])
def test_receiver_tells(net, netdyno, real, serve, tcp, who):
    words = ["--tcp"] if tcp else []
    before = no_room(net.b)
    port, server = serve(*words, program=real if who == "real server" else None)
    proc = net.a.spawn([netdyno, "sockperf", "tp", *words, "-i", net.b.ip4, "-p", port, "-t", "1", "--mps", "5000"])
    ended(proc, within=20.0)
    sent = number(r"Total of (\d+) messages sent", plain(proc))
    server.send_signal(signal.SIGINT)
    server.wait(10.0 * slow())  # and all that it has said
    received = number(r"Total (\d+) messages received and handled", plain(server))
    if who == "real server":
        assert "Receiver:" not in proc.stdout
        assert received + no_room(net.b) - before == sent
        return
    told = re.search(r"sockperf: Receiver: (\d+) of (\d+) messages arrived; (\d+) lost", proc.stdout)
    assert told, proc.describe(40)
    assert [int(x) for x in told.groups()] == [received, sent, sent - received]


GROUPS = {"group4": ("239.1.2.3", lambda host: host.ip4), "group6": ("ff15::77:1", lambda host: host.dev)}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("mode", ["pp -m 20", "ul --mps=1000 --reply-every=10", "pp --force-unicast-reply"])
@pytest.mark.parametrize("who", ["both ours", "real server", "real client"])
def test_groups(net, netdyno, real, serve, mode, who, group):
    if group == "group6" and who != "both ours":
        pytest.skip("3.7 knows no groups of IPv6")
    address, interface = GROUPS[group]
    at = lambda host: ["-i", address, "--mc-rx-if", interface(host), "--mc-tx-if", interface(host)]
    to_sender = [w for w in mode.split() if w.startswith("--force")]
    port, server = serve(*at(net.b), *to_sender, program=real if who == "real server" else None)
    client = [real] if who == "real client" else [netdyno, "sockperf"]
    words = [w for w in mode.split() if w not in to_sender]
    proc = net.a.spawn([*client, *words, *at(net.a), "-p", port, "-t", "1"])
    ended(proc, within=20.0)
    text = plain(proc)
    assert number(r"ReceivedMessages=(\d+)", text) > 10
    assert number(r"# dropped messages = (\d+)", text) == 0 or slow() > 1
    server.send_signal(signal.SIGINT)
    server.wait(10.0 * slow())  # and all that it has said


def statistics(rows):
    """The figures of the report, from the last column of the log."""
    d = sorted(rows)
    n, mean = len(d), sum(d) / len(d)
    at = lambda p: d[max(math.floor(0.5 + p * n) - 1, 0)]
    return {"mean": mean, "dev": math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1)),
            "siqr": (at(.75) - at(.25)) / 2,
            "percentiles": [d[-1], *(at(p) for p in (.99999, .9999, .999, .99, .9, .75, .5, .25)), d[0]]}


@PROTOCOL
@pytest.mark.parametrize("rtt", [False, True])
def test_log_and_console_agree(net, netdyno, serve, tmp_path, tcp, rtt):
    words = ["--tcp"] if tcp else []
    port, _ = serve(*words)
    log = tmp_path / "result.json"
    proc = net.a.spawn([netdyno, "sockperf", "pp", *words, "-i", net.b.ip4, "-p", port, "-t", "1", "--full-log", log,
                        *(["--full-rtt"] if rtt else [])])
    ended(proc, within=20.0)
    lines = log.read_text().splitlines()
    assert lines[0] == lines[2] == lines[19] == lines[-1] == "-" * 30
    assert lines[20] == "packet, txTime(sec), rxTime(sec), " + ("rtt(usec)" if rtt else "latency(usec)")
    rows = [line.split(", ") for line in lines[21:-1]]
    assert [int(r[0]) for r in rows] == list(range(len(rows)))
    for _, tx, rx, value in rows:
        # nine decimals of a second each, and half a ns
        assert abs((float(rx) - float(tx)) * 1e6 / (1 if rtt else 2) - float(value)) < 0.002
    text = plain(proc)
    want = statistics([float(r[3]) for r in rows])
    assert number(r"Total (\d+) observations", text) == len(rows)
    assert abs(number(r"avg-\w+=([\d.]+)", text) - want["mean"]) < 0.0015
    assert abs(number(r"std-dev=([\d.]+)", text) - want["dev"]) < 0.0015
    assert abs(number(r"siqr=([\d.]+)", text) - want["siqr"]) < 0.0015
    got = [float(x) for x in re.findall(r"sockperf: ---> .* = +([\d.]+)\n", text)]
    assert all(abs(a - b) < 0.0011 for a, b in zip(got, want["percentiles"], strict=True)), (got, want)


def message(number=1, flags=3, length=None, payload=b""):
    return struct.pack(">QHI", number, flags, 14 + len(payload) if length is None else length) + payload


# Datagrams; what of them is answered.
ODD = [(message(flags=1, length=0), b""), (message(length=13), b""), (message(length=200), b""), (b"\0" * 4, b""),
       (b"", b""), (message() + b"x", b""), (message(flags=2), b""), (message(flags=7), b""),
       (message(1, 1) + message(2), message(2, 2)), (message((1 << 64) - 1), message((1 << 64) - 1, 2))]


def test_odd_datagrams(net, serve):
    port, server = serve()
    with net.a.socket(kind=socket.SOCK_DGRAM) as s:
        s.settimeout(5 * slow())
        s.connect((net.b.ip4, port))
        for i, (odd, answer) in enumerate(ODD):
            s.send(odd)
            if answer:
                assert s.recv(100) == answer
            # the next good one is answered, with nothing glued to it
            s.send(message(100 + i, payload=b"after"))
            assert s.recv(100) == message(100 + i, 2, payload=b"after"), odd
    assert cpu_s(server) < 1.0 * slow()


def cpu_s(proc):
    with open(f"/proc/{proc.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_odd_streams(net, serve):
    port, server = serve("--tcp")
    for nonsense in (message(flags=1, length=0), message(length=13), message(length=70000), b"GET / HTTP/1.1\r\n\r\n"):
        with net.a.socket() as s:
            s.settimeout(5 * slow())
            s.connect((net.b.ip4, port))
            s.send(nonsense)
            try:
                assert s.recv(10) == b""
            except ConnectionResetError:
                pass
    # many at once, one that is slow, one that only connects
    socks = [net.a.socket() for _ in range(20)]
    try:
        for s in socks:
            s.settimeout(5 * slow())
            s.connect((net.b.ip4, port))
        socks[0].send(message()[:9])
        for k, s in enumerate(socks[2:]):
            s.send(message(k, payload=b"p" * k) + message(k, 1) + message(k + 1))
        for k, s in enumerate(socks[2:]):
            want = message(k, 2, payload=b"p" * k) + message(k + 1, 2)
            got = b""
            while len(got) < len(want):
                got += s.recv(100)
            assert got == want
        socks[0].send(message()[9:])
        assert socks[0].recv(100) == message(1, 2)
    finally:
        for s in socks:
            s.close()
    assert cpu_s(server) < 1.0 * slow()


@PROTOCOL
def test_integrity(net, netdyno, tcp):
    with net.b.socket(kind=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
        s.bind((net.b.ip4, 0))
        if tcp:
            s.listen()
        words = ["--tcp"] if tcp else []
        proc = net.a.spawn([netdyno, "sockperf", "pp", *words, "-i", net.b.ip4, "-p", s.getsockname()[1], "-t", "1", "-m",
                            "60", "--data-integrity"])
        s.settimeout(10 * slow())
        peer = s.accept()[0] if tcp else s
        peer.settimeout(10 * slow())
        for k in range(100):
            data, to = (peer.recv(60, socket.MSG_WAITALL), None) if tcp else peer.recvfrom(100)
            answer = bytearray(data)
            answer[9] &= 0xFE
            answer[59] ^= k == 50
            if tcp:
                peer.sendall(answer)
            else:
                peer.sendto(answer, to)
        ended(proc, code=1, within=20.0)
        assert "sockperf: ERROR: data integrity test failed (errno=0 Success)\n" in proc.stdout
        if tcp:
            peer.close()


def test_lost_datagrams_do_not_stall(net, netdyno, serve):
    port, _ = serve()
    with net.b.loss(every=100, proto="udp", dport=port):
        proc = net.a.spawn([netdyno, "sockperf", "pp", "-i", net.b.ip4, "-p", port, "-t", "3"])
        ended(proc, within=20.0)
    text = plain(proc)
    assert number(r"# dropped messages = (\d+)", text) > 0
    assert number(r"SentMessages=(\d+)", text) > 500


SEEDS = [("sockperf sr --tcp --daemonize", "sockperf pp -i {} --tcp -t 5 -m 14 --full-log=result.json"),
         (None, "sockperf tp -i {} --pps max -m 14 -t 5 --port 6666")]


@pytest.mark.parametrize("server, client", SEEDS, ids=["latency", "packets"])
def test_seeds(net, netdyno, tmp_path, server, client):
    os.symlink(netdyno, tmp_path / "sockperf")
    if server:
        got = net.b.run([tmp_path / "sockperf", *server.split()[1:]], timeout=10 * slow())
        assert got.returncode == 0
        poll("the server", lambda: net.b.listening(11111), 10.0 * slow())
    proc = net.a.spawn([tmp_path / "sockperf", *client.format(net.b.ip4).split()[1:]], cwd=tmp_path)
    ended(proc, within=20.0)
    if server:
        assert "avg-latency=" in proc.stdout and "percentile 99.000" in proc.stdout
        assert (tmp_path / "result.json").read_text().count("\n") > 100
        pids = net.b.run(["pgrep", "-f", f"^{tmp_path}/sockperf sr"]).stdout.split()
        for pid in pids:
            os.kill(int(pid), signal.SIGTERM)
    else:
        assert number(r"Message Rate is (\d+)", proc.stdout) > 100


@pytest.mark.parametrize("compat", [False, True])
def test_exit_codes(net, netdyno, compat):
    words = ["--compat"] if compat else []
    dead = ["-i", net.b.ip4, "-p", net.b.free_port(), "-t", "1"]
    for line, code in ((["pp", "--tcp", *dead], 3), (["pp", *dead], 1), (["pp", "-t", "0"], 2), (["pp", "-m", "13"], 2)):
        proc = net.a.spawn([netdyno, "sockperf", *line, *words])
        ended(proc, code=0 if compat else code)


def test_beside_the_native_server(net, netdyno, real):
    port, other = net.b.free_port(), net.b.free_port()
    server = net.b.spawn([netdyno, "serve", "-p", other, "--also", f"sockperf:{port}"])
    for proto in ("tcp", "udp"):
        poll("the server", lambda p=proto: net.b.listening(port, p), 10.0 * slow())
        proc = net.a.spawn([real, "pp", "-i", net.b.ip4, "-p", port, "-t", "1", *(["--tcp"] if proto == "tcp" else [])])
        ended(proc, within=20.0)
        assert "avg-latency" in proc.stdout, proc.describe(40)
    server.send_signal(signal.SIGTERM)
    ended(server)
