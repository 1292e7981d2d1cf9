# SPDX-License-Identifier: MIT
"""What sockperf's options do on the wire and on the screen, and what its server bears: both ends ours, or a socket."""
import collections
import os
import re
import signal
import socket
import struct

import pytest

from kit.net import Lab, poll, slow
from kit.ntttcp import ended

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(90)]
GROUP = "239.7.8.9"
IP_RECVTTL = 12 # socket does not have it


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


@pytest.fixture
def serve(net, netdyno):
    """serve(words): a server on host b; returns (port, Proc)."""
    def body(*words):
        port = net.b.free_port()
        proc = net.b.spawn([netdyno, "sockperf", "server", "-p", port, *words])
        poll(f"port {port}", lambda: net.b.listening(port, "tcp" if "--tcp" in words else "udp"), 10.0 * slow())
        return port, proc

    yield body
    for proc in net.a.procs + net.b.procs:
        proc.kill()


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


def stop(server):
    server.send_signal(signal.SIGINT)
    ended(server, within=10.0)
    return server.stdout


def message(number=1, flags=3, length=None, payload=b""):
    return struct.pack(">QHI", number, flags, 14 + len(payload) if length is None else length) + payload


def hear(host, group=None):
    """A socket that hears a group, or its own address, and with each datagram what its header said."""
    s = host.socket(kind=socket.SOCK_DGRAM)
    s.bind((group or host.ip4, 0))
    if group:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(host.ip4))
    for option in (IP_RECVTTL, socket.IP_RECVTOS):
        s.setsockopt(socket.IPPROTO_IP, option, 1)
    s.settimeout(10 * slow())
    return s


def next_one(s):
    """(number, flags, length, what its header said) of the next datagram"""
    data, extra, _, _ = s.recvmsg(2000, 256)
    heads = {kind: value[0] for _, kind, value in extra}
    return *struct.unpack(">QHI", data[:14]), heads.get(socket.IP_TTL), heads.get(socket.IP_TOS)


@pytest.mark.parametrize("mode, words, first, ttl", [
    ("pp", [], [(0, 7), (0, 7), (1, 3)], 2),
    ("ul --reply-every=10", ["--mc-ttl", "7"], [(0, 5), (0, 5), (1, 1)], 7),
    ("tp --mps=100", ["--mc-ttl", "1"], [(0, 5), (0, 5), (1, 1)], 1),
    ("tp --mps=100", ["--dontwarmup"], [(1, 1), (2, 1)], 2),
])
def test_to_a_group(net, netdyno, mode, words, first, ttl):
    with hear(net.b, GROUP) as s:
        proc = net.a.spawn([netdyno, "sockperf", *mode.split(), "-i", GROUP, "-p", s.getsockname()[1], "-t", "1", "-m", "20",
                            "--mc-tx-if", net.a.ip4, "--mc-rx-if", net.a.ip4, *words])
        assert [next_one(s)[:4] for _ in first] == [(n, flags, 20, ttl) for n, flags in first]
        proc.wait(20.0 * slow())


@pytest.mark.parametrize("loops", [False, True])
def test_own_messages_to_a_group(net, netdyno, loops):
    with hear(net.a, GROUP) as here, hear(net.b, GROUP) as there:
        here.settimeout(0)
        for s in here, there:
            port = s.getsockname()[1]
            proc = net.a.spawn([netdyno, "sockperf", "tp", "-i", GROUP, "-p", port, "--mc-tx-if", net.a.ip4, "-t", "1", "--mps",
                                "100", *(["--mc-loopback-enable"] if loops else [])])
            ended(proc, within=20.0)
        assert next_one(there)[0] == 0
        if loops:
            assert next_one(here)[0] == 0
        else:
            with pytest.raises(BlockingIOError):
                here.recv(10)


@pytest.mark.parametrize("passes", [True, False])
def test_source_of_a_group(net, netdyno, serve, passes):
    at = lambda host: ["-i", GROUP, "--mc-rx-if", host.ip4, "--mc-tx-if", host.ip4]
    port, server = serve(*at(net.b), "--mc-source-filter", net.a.ip4 if passes else "192.0.2.99")
    proc = net.a.spawn([netdyno, "sockperf", "pp", *at(net.a), "-p", port, "-t", "1"])
    ended(proc, code=0 if passes else 1, within=20.0)
    assert ("messages received and handled" in stop(server)) == passes


def test_type_of_service(net, netdyno):
    with hear(net.b) as s:
        proc = net.a.spawn([netdyno, "sockperf", "tp", "-i", net.b.ip4, "-p", s.getsockname()[1], "-t", "1", "--mps", "50", "--tos",
                            "0xb9"])
        while next_one(s)[1] != 1: # a question of ours goes first
            pass
        assert next_one(s)[4] == 0xb9
        ended(proc, within=20.0)


@pytest.mark.plain
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_threads(net, netdyno, serve, tcp):
    words = ["--tcp"] if tcp else []
    port, server = serve(*words)
    for mode in ("tp --mps 3000", "pp", "ul --mps 3000 --reply-every 10"):
        proc = net.a.spawn([netdyno, "sockperf", *mode.split(), *words, "-i", net.b.ip4, "-p", port, "-t", "1", "--threads", "3"])
        if mode == "pp":
            poll("three threads", lambda: len(os.listdir(f"/proc/{proc.pid}/task")) >= 4, 10.0 * slow())
        ended(proc, within=20.0)
        if mode.startswith("tp"):
            sent = number(r"Total of (\d+) messages sent", proc.stdout)
            assert number(r"Receiver: (\d+) of", proc.stdout) + number(r"(\d+) lost", proc.stdout) == sent
            assert sent <= 3100
        else:
            assert number(r"Total (\d+) observations", proc.stdout) > 10
    stop(server)


@pytest.mark.parametrize("words", [[], ["--tcp-skip-blocking-send"]], ids=["waits", "skips"])
def test_what_a_full_socket_does_not_take(net, netdyno, serve, words):
    port, server = serve()
    net.a.rate("5mbit", queue_ms=2000)
    try:
        proc = net.a.spawn([netdyno, "sockperf", "tp", "-i", net.b.ip4, "-p", port, "-t", "1", "-m", "1000", "--buffer-size", "6000",
                            "--mps", "3000", *words])
        ended(proc, within=30.0)
    finally:
        net.a.rate(None)
    sent = number(r"Total of (\d+) messages sent", proc.stdout)
    if words: # a schedule of 3000, of which some went nowhere
        skipped = number(r"sec \((\d+) messages skipped\)", proc.stdout)
        assert 0 < skipped and sent + skipped <= 3100
    else:
        assert "skipped" not in proc.stdout
    assert sent > 50
    stop(server)


@pytest.mark.parametrize("words", [[], ["--tcp"]], ids=["udp", "tcp"])
def test_a_server_is_stopped_as_soon_as_its_port_is_seen(serve, words):
    for _ in range(4):
        _, server = serve(*words)
        text = stop(server)
        assert text.endswith("Test end (interrupted by user)\nsockperf: No messages were received on the server.\n"
                             "sockperf: cleanupAfterLoop() exit\n"), text


def pids_with(word):
    """Processes that were started with this word."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if str(word).encode() in f.read().split(b"\0"):
                    yield int(pid)
        except OSError: # it is gone
            pass


@pytest.mark.parametrize("words", [[], ["--tcp"]], ids=["udp", "tcp"])
def test_background_is_told_whether_it_works(net, netdyno, words):
    """The first server returns when its port is open, the second one cannot have it and says so, as does a client."""
    port = net.b.free_port()
    server = [netdyno, "sockperf", "server", "-p", port, "--daemonize", *words]
    first = net.b.spawn(server)
    ended(first, within=20.0)
    pid, = pids_with(port)
    try:
        assert first.stdout.startswith("sockperf: Running as daemon\n")
        assert os.readlink(f"/proc/{pid}/fd/1") == "/dev/null"
        second = net.b.spawn(server)
        ended(second, code=1, within=20.0)
        assert "Address already in use (errno=98" in second.stdout
    finally:
        os.kill(pid, signal.SIGINT)
    poll("end of the server", lambda: not list(pids_with(port)), 10.0 * slow())
    if words:
        client = net.a.spawn([netdyno, "sockperf", "pp", "-i", net.b.ip4, "-p", port, "--daemonize", *words])
        ended(client, code=3, within=20.0)


def test_a_stream_that_is_full_ends_in_time(net, netdyno, serve):
    port, server = serve("--tcp")
    proc = net.a.spawn([netdyno, "sockperf", "ul", "--tcp", "-i", net.b.ip4, "-p", port, "-t", "2", "-m", "60000", "--mps", "1000",
                        "--tcp-skip-blocking-send"])
    proc.wait_line("Starting test")
    server.send_signal(signal.SIGSTOP)
    proc.wait(20.0 * slow())
    server.send_signal(signal.SIGCONT)
    assert proc.returncode is not None
    stop(server)


def test_addresses_take_turns(net, netdyno, serve, tmp_path):
    """One burst is under way at a time, and no answer is out of order, over both protocols."""
    udp, tcp = serve(), serve("--tcp")
    feed = tmp_path / "feed"
    feed.write_text(f"U:{net.b.ip4}:{udp[0]}\n" + f"T:{net.b.ip4}:{tcp[0]}\n" * 2)
    proc = net.a.spawn([netdyno, "sockperf", "pp", "-f", feed, "-t", "1", "-b", "2"])
    ended(proc, within=20.0)
    assert re.search(r"\[ 0\] IP = .* # UDP\n\[ 1\] IP = .* # TCP\n\[ 2\] IP = .* # TCP\n", proc.stdout), proc.stdout
    assert "out-of-order messages = 0" in proc.stdout, proc.stdout
    sent = number(r"SentMessages=(\d+)", proc.stdout)
    handled = [number(r"Total (\d+) messages", stop(server)) for _, server in (udp, tcp)]
    # the last round may be cut, by a burst of each; a datagram that is lost takes a while, and no other's turn
    assert abs(handled[1] - 2 * handled[0]) <= 4 and abs(sum(handled) - sent) <= 4


def test_one_server_of_both_protocols(net, netdyno, tmp_path):
    """Lines of TCP and of UDP in a server's file: each is answered, and its report counts all of them."""
    ports = [net.b.free_port() for _ in range(3)]
    feed = tmp_path / "feed"
    feed.write_text(f"T:{net.b.ip4}:{ports[0]}\nU:{net.b.ip4}:{ports[1]}\nT:{net.b.ip4}:{ports[2]}\n")
    server = net.b.spawn([netdyno, "sockperf", "sr", "-f", feed, "-g"])
    server.wait_line("to block on socket", 10.0 * slow(), "stdout")
    proc = net.a.spawn([netdyno, "sockperf", "pp", "-f", feed, "-t", "1"])
    ended(proc, within=20.0)
    sent = number(r"SentMessages=(\d+)", proc.stdout)
    assert number(r"ReceivedMessages=(\d+)", proc.stdout) > 10
    text = stop(server)
    assert re.search(r"\[ 0\] IP = .* # TCP\n\[ 1\] IP = .* # UDP\n\[ 2\] IP = .* # TCP\n", text), text
    assert text.count("Starting new session") == text.count("Summary: Total Dropped/OOO:") == 1, text
    assert 0 <= sent - number(r"Total (\d+) messages received and handled", text) <= 3
    server = net.b.spawn([netdyno, "sockperf", "sr", "-f", feed])
    server.wait_line("to block on socket", 10.0 * slow(), "stdout")
    second = net.b.spawn([netdyno, "sockperf", "sr", "-f", feed])
    ended(second, code=1, within=20.0)
    assert "Address already in use" in second.stdout
    stop(server)


@pytest.mark.parametrize("mode", ["pp", "ul --reply-every 10 --mps 1000", "tp --mps 1000"])
def test_streams_beside_a_group(net, netdyno, tmp_path, mode):
    """A line of TCP and a group in one file, at both ends: each address has its share of the messages."""
    feed = tmp_path / "feed"
    feed.write_text(f"T:{net.b.ip4}:{net.b.free_port()}\nU:{GROUP}:{net.b.free_port()}\n")
    at = lambda host: ["-f", feed, "--mc-rx-if", host.ip4, "--mc-tx-if", host.ip4]
    server = net.b.spawn([netdyno, "sockperf", "sr", *at(net.b), "-A", "1"])
    server.wait_line("to block on socket", 10.0 * slow(), "stdout")
    proc = net.a.spawn([netdyno, "sockperf", *mode.split(), *at(net.a), "-t", "1"])
    ended(proc, within=20.0)
    sent = number(r"(?:SentMessages=|Total of )(\d+)", proc.stdout)
    handled = number(r"Total (\d+) messages received and handled", stop(server))
    assert handled > 20 and abs(sent - handled) <= (4 if mode == "pp" else max(4, sent // 10))


@pytest.mark.parametrize("mode, words, code", [("pp", [], 1), ("ul", [], 1), ("tp", [], 1), ("pp", ["--compat"], 0)])
def test_a_server_that_is_killed_is_no_timer(net, netdyno, serve, mode, words, code):
    port, server = serve("--tcp")
    proc = net.a.spawn([netdyno, "sockperf", mode, "--tcp", "-i", net.b.ip4, "-p", port, "-t", "20", "--mps", "1000", *words])
    proc.wait_line("Starting test")
    server.kill()
    ended(proc, code=code, within=15.0)
    assert "sockperf: ERROR: A connection was forcibly closed by a peer (errno=0 Success)\n" in proc.stdout, proc.stdout
    assert "interrupted by timer" not in proc.stdout, proc.stdout


def test_an_address_that_ends_gives_its_turn_away(net, netdyno, serve, tmp_path):
    (gone, first), (stays, second) = serve("--tcp"), serve("--tcp")
    feed = tmp_path / "feed"
    feed.write_text(f"T:{net.b.ip4}:{gone}\nT:{net.b.ip4}:{stays}\n")
    proc = net.a.spawn([netdyno, "sockperf", "pp", "-f", feed, "-t", "2"])
    proc.wait_line("Starting test")
    first.kill()
    proc.wait(20.0 * slow())
    assert proc.returncode == 0
    assert "WARNING: 1 of 2 connections were closed" in proc.stdout and "interrupted by timer" in proc.stdout, proc.stdout
    assert number(r"Total (\d+) messages", stop(second)) > 100


def test_gaps(net, netdyno, serve):
    port, server = serve("-g")
    with net.b.loss(every=7, proto="udp", dport=port) as lost:
        proc = net.a.spawn([netdyno, "sockperf", "ul", "-i", net.b.ip4, "-p", port, "-t", "1", "--mps", "500"])
        ended(proc, within=20.0)
        dropped = lost.dropped
    sent = number(r"SentMessages=(\d+)", proc.stdout)
    text = stop(server)
    who = re.search(r"sockperf: Starting new session: (\[[\d.]+:\d+\]) *\n", text)
    assert who and net.a.ip4 in who[1], text
    gaps = [tuple(map(int, g)) for g in re.findall(
        re.escape(who[1]) + r" +Total Dropped/OOO: (\d+) +GAP:\((\d+)\) +\[(\d+) - (\d+)\]\n", text)]
    assert gaps and all(last - first + 1 == n for _, n, first, last in gaps)
    assert [total for total, *_ in gaps] == [sum(n for _, n, *_ in gaps[:k + 1]) for k in range(len(gaps))]
    missing = number(re.escape(who[1]) + r" +Summary: Total Dropped/OOO: (\d+)", text)
    assert missing == gaps[-1][0]
    # those behind the last that came, or in front of the first, are in no gap; a socket may have been full
    handled = number(r"Total (\d+) messages received and handled", text)
    assert 0 < missing <= sent - handled and dropped > 0


def test_activity(net, netdyno, serve):
    port, server = serve("-a", "100")
    proc = net.a.spawn([netdyno, "sockperf", "tp", "-i", net.b.ip4, "-p", port, "-t", "1", "--mps", "2000", "-A", "50"])
    ended(proc, within=20.0)
    sent = number(r"Total of (\d+) messages", proc.stdout)
    rows = re.findall(r"^ +(\d+) \[usec\] +(\d+) \[msg/s\] +(\d+) \[msg\]$", proc.stdout, re.M)
    assert len(rows) >= sent // 50 - 1 > 5
    assert proc.stdout.count("    -- Interval --     -- Message Rate --  -- Total Message Count --\n") == (len(rows) + 19) // 20
    totals = [int(r[2]) for r in rows]
    assert totals == sorted(set(totals)) and totals[-1] <= sent
    text = stop(server)
    handled = number(r"Total (\d+) messages received and handled", text)
    dots = re.search(r"^(\.+)\nsockperf: Test end", text, re.M)
    assert dots and len(dots[1]) <= handled // 100 and (slow() > 1 or len(dots[1]) >= handled // 200)


@pytest.mark.parametrize("words, is_met", [
    ("pp --mps=200", True), ("ul", True), ("tp --mps=500", True),
    ("pp --mps=100000000", False), ("tp --mps=1000000000 --tcp", False), ("pp", True),
])
def test_a_rate_that_is_never_met_is_said(net, netdyno, serve, words, is_met):
    port, _ = serve(*[w for w in words.split() if w == "--tcp"])
    proc = net.a.spawn([netdyno, "sockperf", *words.split(), "-i", net.b.ip4, "-p", port])
    ended(proc, within=20.0)
    line = "sockperf: Info: The requested message-per-second rate is too high. Try tuning --mps or --burst arguments\n"
    assert proc.stdout.count(line) == (not is_met)


@pytest.mark.parametrize("mode", ["pp --mps=200", "ul --mps=200 --reply-every=2"])
def test_servers_are_told_apart(net, netdyno, tmp_path, mode):
    """Two answer, the second not all of it; a third that was not told of is heard by nobody."""
    log = tmp_path / "log.csv"
    with hear(net.b) as first, hear(net.b) as second, hear(net.b) as third:
        proc = net.a.spawn([netdyno, "sockperf", *mode.split(), "-i", net.b.ip4, "-p", first.getsockname()[1],
                            "-t", "1", "--srv-num", "2", "--full-log", log])
        answered = 0
        first.settimeout(0.1)
        while proc.returncode is None:
            try:
                data, whose = first.recvfrom(2000)
            except TimeoutError:
                continue
            which, flags = struct.unpack(">QH", data[:10])
            if flags & 2:
                answered += 1
                for k, s in enumerate((first, second, third)):
                    if k != 1 or which % 20:
                        s.sendto(message(which, 2), whose)
    ended(proc, within=10.0)
    text = proc.stdout
    blocks = re.split(r"sockperf: =+ Printing statistics for Server No: (\d)\n", text)
    assert blocks[1::2] == ["0", "1"]
    assert [number(r"# dropped messages = (\d+)", b) > 0 for b in blocks[2::2]] == [False, True]
    n = [number(r"Total (\d+) observations", b) for b in blocks[2::2]]
    assert n[0] > n[1] > 0 and number(r"ReceivedMessages=(\d+)", text) >= sum(n)
    assert number(r"ReceivedMessages=(\d+)", text) <= 2 * answered
    pieces = log.read_text().split("-" * 30 + "\n")
    assert len(pieces) == 7 and pieces[6] == ""
    for k in (0, 1):
        assert f"Server No: {k}\n" in pieces[2 + 2 * k]
        assert len(pieces[3 + 2 * k].splitlines()) == n[k] + 1


@pytest.mark.plain
def test_a_flood_from_many_is_told(net, netdyno, serve):
    """Though what its clients ask before they begin may be lost in it."""
    port, _ = serve()
    proc = net.a.spawn([netdyno, "sockperf", "tp", "-i", net.b.ip4, "-p", port, "--threads", "32", "-t", "1"])
    ended(proc, within=20.0)
    found = re.search(r"Receiver: (?:told of (\d+) of 32 flows: )?(\d+) of (\d+) messages arrived; (\d+) lost", proc.stdout)
    assert found, proc.stdout
    there, sent, lost = (int(found[k]) for k in (2, 3, 4))
    assert 0 < there == sent - lost and (found[1] or sent == number(r"Total of (\d+) messages", proc.stdout))


def test_pieces_of_a_stream_are_no_messages(net, serve):
    """Nor is what does not come from a client."""
    port, server = serve("--tcp")
    for piece in (b"abc", message(flags=2), message(flags=7), message(), b""):
        with net.a.socket() as s:
            s.settimeout(10 * slow())
            s.connect((net.b.ip4, port))
            s.sendall(piece)
            s.shutdown(socket.SHUT_WR)
            while s.recv(100):
                pass
    assert "sockperf: Total 1 messages received and handled\n" in stop(server)


# ---- what a server bears

def cpu_s(proc):
    with open(f"/proc/{proc.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(params=["sockperf", "beside"])
def both(request, net, netdyno):
    """Address of a server of TCP and of UDP."""
    port = net.b.free_port()
    if request.param == "beside":
        procs = [net.b.spawn([netdyno, "serve", "-p", net.b.free_port(), "--also", f"sockperf:{port}"])]
    else:
        procs = [net.b.spawn([netdyno, "sockperf", "sr", "-p", port, *words]) for words in ([], ["--tcp"])]
    for proto in "tcp", "udp":
        poll("the server", lambda p=proto: net.b.listening(port, p), 10.0 * slow())
    yield (net.b.ip4, port), procs
    for proc in procs:
        assert proc.returncode is None, proc.describe(40)
        proc.send_signal(signal.SIGINT)
        ended(proc, within=15.0)
    for proc in net.a.procs:
        proc.kill()


def is_answered(net, at):
    """It takes and answers a message of either kind, from somebody new."""
    for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
        with net.a.socket(kind=kind) as s:
            s.settimeout(0.5 if kind == socket.SOCK_DGRAM else 10 * slow())
            s.connect(at)
            for k in range(20 * slow()):
                s.send(message(k, payload=b"after"))
                try:
                    # one that was late answers what was asked before
                    assert s.recv(100) in [message(n, 2, payload=b"after") for n in range(k + 1)]
                    break
                except TimeoutError: # a socket that is full may have dropped it
                    assert kind == socket.SOCK_DGRAM and k + 1 < 20 * slow()


def test_bears_runts(net, both):
    at, _ = both
    with net.a.socket(kind=socket.SOCK_DGRAM) as s:
        s.connect(at)
        for n in range(14):
            s.send(bytes(n))
            s.send(b"\xff" * n)
        for _ in range(1000):
            s.send(b"")
        s.settimeout(5 * slow())
        s.send(message(9, payload=b"one"))
        assert s.recv(100) == message(9, 2, payload=b"one")
    is_answered(net, at)


def test_bears_many_connections(net, both):
    at, procs = both
    socks = [net.a.socket() for _ in range(300)]
    try:
        for s in socks:
            s.settimeout(10 * slow())
            s.connect(at)
        for k, s in enumerate(socks):
            s.send(message(k))
        for k, s in enumerate(socks):
            assert s.recv(100) == message(k, 2)
        for s in socks[:150]: # not a word of goodbye
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        is_answered(net, at)
        for k, s in enumerate(socks[150:]):
            s.send(message(k))
            assert s.recv(100) == message(k, 2)
    finally:
        for s in socks:
            s.close()
    assert sum(map(cpu_s, procs)) < 2.0 * slow()


def test_bears_the_deaf(net, both):
    """They send, and do not read what comes back."""
    at, procs = both
    deaf = [net.a.socket() for _ in range(10)]
    big, sent = message(1, payload=b"d" * 60000), collections.Counter()
    try:
        for s in deaf:
            s.connect(at)
            s.setblocking(False)
        for _ in range(200):
            for k, s in enumerate(deaf):
                try:
                    sent[k] += s.send(big[sent[k] % len(big):])
                except BlockingIOError:
                    pass
        is_answered(net, at)
        deaf[0].settimeout(10 * slow())
        assert deaf[0].recv(1 << 20)[:14] == message(1, 2, len(big))
    finally:
        for s in deaf:
            s.close()
    is_answered(net, at)
    assert sum(map(cpu_s, procs)) < 5.0 * slow()


def test_bears_stopped_and_killed_clients(net, netdyno, both):
    at, _ = both
    clients = [net.a.spawn([netdyno, "sockperf", *words.split(), "-i", at[0], "-p", at[1], "-t", "30"])
               for words in ("pp --tcp", "pp", "tp --tcp -m 60000", "ul --tcp --mps max -m 1000 --reply-every 1")]
    for proc in clients:
        proc.wait_line("Starting test", 10.0 * slow())
        proc.send_signal(signal.SIGSTOP)
    is_answered(net, at)
    for proc in clients:
        proc.kill()
    is_answered(net, at)


def test_bears_a_flood(net, netdyno, both):
    """Who asks over TCP is answered beside it; who asks over UDP, now and then."""
    at, _ = both
    flood = net.a.spawn([netdyno, "sockperf", "tp", "-i", at[0], "-p", at[1], "-t", "30", "--threads", "2"])
    flood.wait_line("Starting test", 10.0 * slow())
    for _ in range(5):
        is_answered(net, at)
    flood.kill()
    is_answered(net, at)
