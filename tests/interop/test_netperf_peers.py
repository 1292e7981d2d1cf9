# SPDX-License-Identifier: MIT
"""Our netperf and netserver against ends that are led message by message."""
import signal
import socket
import struct
import time

import pytest

from kit.net import Lab, poll, slow
from kit.ntttcp import ended
from netperf_peers import (CONNECT, MEASURE, ROUTE, SEND, UNKNOWN, Client, Server, TESTS, rows,
                           wait_port)

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(60)]
FAMILY = pytest.mark.parametrize("address", ["127.0.0.1", "::1"], ids=["ipv4", "ipv6"])
SENDING = ["TCP_STREAM", "UDP_STREAM", "TCP_SENDFILE"]
TURNS = ["TCP_RR", "UDP_RR"]
NEW = ["TCP_CRR", "TCP_CC"]


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


@pytest.fixture
def host(net):
    """The host of all these tests; what one leaves running is gone before the next."""
    yield net.b
    for proc in net.b.procs:
        proc.kill()


@pytest.fixture
def server(host, netdyno):
    """server("-Z", ...): start our netserver; returns its port."""
    def start(*words):
        port = host.free_port()
        start.proc = host.spawn([netdyno, "netserver", "-D", "-p", port, *words])
        wait_port(host, port)
        return port

    return start


@pytest.fixture
def netperf(host, netdyno):
    """netperf(peer, "TCP_RR", ...): start our netperf against a peer."""
    def start(peer, test, *words, length=1):
        return host.spawn([netdyno, "netperf", "-H", peer.address, "-p", peer.port, "-t", test, "-l",
                           length, "-P", "0", *words])

    return start


# --- our server

@FAMILY
@pytest.mark.parametrize("test", SENDING)
def test_server_counts_what_came(host, server, test, address):
    with Client(host, server(), address) as c:
        for _ in range(2):
            c.ask(test)
            sent = c.run(0.2, size=1000)
            got = c.results()
            assert got.error == 0 and got.received == sent
            assert 0 < got.elapsed <= 2.0 * slow()
            assert got.rx_calls > 0
        assert c.leave()


@FAMILY
@pytest.mark.parametrize("test", TURNS)
@pytest.mark.parametrize("turn", [(1, 1), (100, 700)], ids=["1,1", "100,700"])
def test_server_counts_turns(host, server, test, turn, address):
    with Client(host, server(), address) as c:
        for _ in range(2):
            answer = c.ask(test, request=turn[0], response=turn[1])
            assert (answer.recv_size, answer.send_size) == turn
            done = c.run(0.2)
            got = c.results()
            assert got.transactions == done and got.error == 0
            assert (got.received, got.sent) == (done * turn[0], done * turn[1])


@FAMILY
@pytest.mark.parametrize("test", NEW)
def test_server_counts_connections(host, server, test, address):
    """The results come soon, not after the original's four seconds."""
    with Client(host, server(), address) as c:
        for _ in range(2):
            c.ask(test)
            done = c.run(1.0)
            got = c.results(3.0)
            assert got.transactions == done and got.error == 0


@pytest.mark.parametrize("test", NEW)
def test_server_ends_after_so_many_connections(host, server, test):
    with Client(host, server()) as c:
        c.ask(test, length=-5)
        for _ in range(5):
            c.connect()
            if test == "TCP_CRR":
                c.data.sendall(b"n")
                assert len(c.data.recv(1)) == 1
            assert c.data.recv(16) == b""
        assert c.results(5.0).transactions == 5


@FAMILY
def test_server_sends_for_its_time(host, server, address):
    with Client(host, server(), address) as c:
        for _ in range(2):
            answer = c.ask("TCP_MAERTS")
            assert answer.send_size > 0
            got = c.run()
            told = c.results()
            assert told.sent == got > 0 and told.received == 0
            assert 0.9 <= told.elapsed <= 2.0 * slow()


def test_server_sends_datagrams(host, server):
    with Client(host, server()) as c:
        c.ask("UDP_MAERTS", send_size=1000)
        c.data.settimeout(5.0 * slow())
        assert len(c.data.recv(1 << 16)) == 1000
        assert c.results().sent >= 1000


def test_server_tells_buffers_and_sizes(host, server):
    with Client(host, server()) as c:
        answer = c.ask("TCP_STREAM", rcvbuf=65536, sndbuf=32768, recv_size=4000)
        assert (answer.rcvbuf, answer.sndbuf, answer.recv_size) == (131072, 65536, 4000)
        answer_port = answer.port
        c.run(0.1)
        got = c.results()
        assert got.rcvbuf == 131072 and got.cc and got.retransmits == 0
        answer = c.ask("UDP_STREAM")
        assert answer.rcvbuf == answer.recv_size or answer.recv_size == 65507
        assert answer.port != answer_port
        c.run(0.1)
        got = c.results()
        assert got.cc == "" and got.retransmits == -1


def test_server_measures_cpu_when_asked(host, server):
    with Client(host, server()) as c:
        answer = c.ask("TCP_STREAM", flags=ROUTE | MEASURE)
        assert answer.flags & MEASURE and answer.rate == 100.0
        c.run(0.5)
        got = c.results()
        assert got.method == 8 and got.cpus > 0 and 0 < got.cpu <= 100
        assert 0 <= got.user <= 100 and 0 <= got.system <= 100
        answer = c.ask("TCP_STREAM")
        assert not answer.flags & MEASURE and answer.rate == 0
        c.run(0.1)
        assert rows(c.results().raw).get(0x50) is None


def test_server_takes_the_port_that_was_asked(host, server):
    wanted = host.free_port()
    with Client(host, server()) as c, Client(host, c.link.getpeername()[1]) as d:
        assert c.ask("TCP_STREAM", port=wanted).port == wanted
        other = d.ask("TCP_STREAM", port=wanted).port
        assert other not in (0, wanted)  # the original takes another one and says nothing
        c.run(0.1)
        d.run(0.1)
        assert c.results().received > 0 and d.results().received > 0


@pytest.mark.parametrize("test", ["TCP_STREAM", "UDP_STREAM"])
@pytest.mark.parametrize("words", [{"server_ip": 0xc000024d}, {"cpu": 77}, {"cpu": 4095}],
                         ids=["address", "cpu", "high cpu"])
def test_server_passes_over_what_is_not_here(host, server, test, words):
    """An address that is another machine's, which translates addresses, or a CPU that there is not."""
    with Client(host, server()) as c:
        c.ask(test, **words)
        sent = c.run(0.2, size=1000)
        got = c.results()
        assert got.error == 0 and got.received == sent


def test_server_serves_many_at_once(host, server):
    port = server()
    clients = [Client(host, port) for _ in range(20)]
    try:
        for c in clients:
            c.ask("TCP_RR")
            c.connect()
        for c in clients:
            for _ in range(10):
                c.data.sendall(b"n")
                assert len(c.data.recv(1)) == 1
        for c in clients:
            c.finish()
            assert c.results().transactions == 10
    finally:
        for c in clients:
            c.close()


def test_server_takes_messages_in_pieces(host, server):
    with Client(host, server()) as c:
        c.ask("TCP_STREAM", pieces=41)
        sent = c.run(0.1)
        assert c.results().received == sent


def test_server_answers_what_is_no_test(host, server):
    with Client(host, server()) as c:
        assert struct.unpack_from(">4I", c.call(5))[::2] == (5, 0x42c80000)
        for kind in (4, 37, 540, 12345):
            assert struct.unpack_from(">2I", c.call(kind))[1] == UNKNOWN
        assert b",Deprecated,Deprecated" in c.call(600)
        assert struct.unpack_from(">I", c.call(1))[0] == 3
        c.phrase("nobody asked")
        c.ask("TCP_STREAM")
        sent = c.run(0.1)
        assert c.results().received == sent


@pytest.mark.parametrize("test", ["TCP_STREAM", "UDP_STREAM", "TCP_RR"])
def test_server_takes_the_usual_protocol(host, server, test):
    """0: what the original sends for "-- -T" and a name that it does not know."""
    with Client(host, server()) as c:
        assert c.ask(test, protocol=0).error == 0
        sent = c.run(0.1, size=1000)
        got = c.results()
        assert sent in (got.received, got.transactions)


def test_server_refuses_what_it_cannot(host, server):
    with Client(host, server()) as c:
        for words in ({"protocol": 132}, {"kind": 3}, {"family": 7}, {"direction": 8}, {"direction": 0}):
            c.say(c.request("TCP_STREAM", **words))
            assert struct.unpack_from(">2I", c.hear_raw())[1] not in (0, UNKNOWN)
        c.ask("TCP_STREAM")
        sent = c.run(0.1)
        assert c.results().received == sent


def test_server_wants_its_passphrase(host, server):
    port = server("-Z", "secret")
    with Client(host, port) as c:
        c.phrase("secret")
        c.ask("TCP_STREAM")
        sent = c.run(0.1)
        assert c.results().received == sent
    with Client(host, port) as c:
        c.phrase("secrets")
        assert c.hear_raw() is None
    with Client(host, port) as c:
        c.say(c.request("TCP_STREAM"))
        assert c.hear_raw() is None


def test_server_waits_for_late_data(host, server):
    """-s: the original's timer runs from its answer and would have ended this test."""
    with Client(host, server()) as c:
        c.ask("TCP_STREAM")
        assert c.is_silent(5.5)
        sent = c.run(0.1)
        assert c.results().received == sent


def test_server_ends_a_test_that_does_not(host, server):
    with Client(host, server()) as c:
        c.ask("TCP_STREAM")
        c.connect().sendall(b"n" * 1000)
        got = c.results(10.0)  # a second, and four
        assert got.received == 1000 and got.error == 0


def test_server_forgets_clients_that_vanish(host, server):
    port = server()
    for test in ("TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_STREAM", "TCP_CRR"):
        with Client(host, port) as c:
            c.ask(test)
            if test != "TCP_CRR":
                c.connect()
            c.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with Client(host, port) as c:
        c.ask("TCP_STREAM")
        sent = c.run(0.1)
        assert c.results().received == sent
    server.proc.send_signal(signal.SIGTERM)
    ended(server.proc, code=None)


# --- our client

@FAMILY
@pytest.mark.parametrize("test", [t for t in TESTS if t not in ("UDP_MAERTS", *NEW)])
def test_client_runs(host, netperf, test, address):
    with Server(host, address, junk=0x5a) as s:
        proc = netperf(s, test)
        s.take()
        s.whole()
        assert s.is_left()
        ended(proc)
        done = s.done
        if TESTS[test][1] == SEND:
            assert done["tx"] > 0
        else:
            assert done["rx"] > 0
        assert 0.9 <= done["elapsed"] <= 3.0 * slow()
        if test in TURNS:
            assert done["transactions"] > 0 and done["sizes"] == {1}


@FAMILY
@pytest.mark.parametrize("test", NEW)
def test_client_connects(host, netperf, test, address):
    with Server(host, address, junk=0x5a) as s:
        proc = netperf(s, test)
        s.take()
        s.whole()
        ended(proc)
        assert s.done["transactions"] > 1 and len(s.done["peers"]) > 1


@pytest.mark.parametrize("test, flags, direction", [
    ("TCP_STREAM", ROUTE, 4), ("TCP_MAERTS", ROUTE, 2), ("TCP_RR", ROUTE, 6), ("UDP_RR", ROUTE, 6),
    ("TCP_CRR", ROUTE | CONNECT, 6)])
def test_client_asks_as_the_original(host, netperf, test, flags, direction):
    """All that a command line without options says, but for rings and the client's own port."""
    with Server(host) as s:
        netperf(s, test)
        s.take()
        assert s.hear() == 97
        q = s.request
        mine = {"type": 97, "cpu": -1, "sndbuf": -1, "send_size": -1, "send_align": 8, "rcvbuf": -1,
                "recv_size": -1, "recv_align": 8, "flags": flags, "length": 1, "port": 0, "family": 4,
                "kind": 2 if test == "UDP_RR" else 1, "protocol": 17 if test == "UDP_RR" else 6,
                "direction": direction, "priority": -1, "tos": -1, "cc": "", "file": ""}
        assert {k: getattr(q, k) for k in mine} == mine
        assert not any(q.raw[208:])


def test_client_passes_its_options_on(host, netperf):
    with Server(host) as s:
        netperf(s, "TCP_STREAM", "-C", "-T", "0,1", "-Y", "0x10,cs5", "-y", "3,4", "-a", "64,128", "-A",
                "256,512", "-o", "4,8", "-O", "12,16", "-W", "3,5", "-S", "-F", "/dev/zero,/etc/group",
                "--", "-P", "0,7002", "-D", "-K", ",reno", "-s", "100K,200K", "-S", "150K,250K", "-m",
                "4K", "-M", "8K")
        s.take()
        s.hear()
        assert s.request.raw[:0x3c].hex(" ", 4) == (
            "00000061 00000001 00025800 ffffffff 00000100 0000000c 00000003 ffffffff "
            "0003e800 00002000 00000200 00000010 00000005 ffffffff 80000029")
        assert (s.request.port, s.request.priority, s.request.tos) == (7002, 4, 0xa0)
        assert (s.request.cc, s.request.file) == ("reno", "/etc/group")


def test_client_sends_what_a_file_holds(host, netperf, tmp_path):
    """Over and over; without a file it is the original's pattern."""
    (tmp_path / "fill").write_bytes(b"abc")
    for words, wanted in (("-F", tmp_path / "fill"), b"abc"), ((), b"netperf\0"):
        with Server(host) as s:
            netperf(s, "TCP_STREAM", *words, "--", "-m", 24 * 100)
            s.take()
            s.hear()
            s.reply()
            sock = s._keep(s.data.accept()[0])
            got = b""
            while len(got) < 2400:
                got += sock.recv(2400 - len(got))
            assert got == wanted * (2400 // len(wanted))
            sock.close()


def test_client_does_not_begin_with_an_empty_file(host, netperf):
    with Server(host) as s:
        proc = netperf(s, "TCP_STREAM", "-F", "/dev/null")
        s.take()
        s.hear()
        s.reply()
        assert ended(proc, code=None) != 0
        assert "'/dev/null': nothing is in it" in proc.stdout + proc.stderr


@pytest.mark.parametrize("test", NEW)
def test_client_connects_from_its_ports(host, netperf, test):
    """One that somebody has is left out."""
    with Server(host) as s:
        taken = s._socket()
        taken.bind(("0.0.0.0", 0))
        first = min(taken.getsockname()[1], 65530)
        proc = netperf(s, test, "--", "-p", f"{first},{first + 5}", length=-40)
        s.take()
        s.whole()
        ended(proc)
        ports = s.done["peers"]
        assert ports <= set(range(first, first + 6)) - {taken.getsockname()[1]}
        assert len(ports) >= 4 and s.done["transactions"] >= 40


def test_client_insists(host, netperf):
    """-U: the data port refuses at first."""
    with Server(host) as s:
        proc = netperf(s, "TCP_RR", "--", "-U")
        s.take()
        s.hear()
        late = s.data = s._socket()
        late.bind((s.address, 0))
        s.listen = lambda: late.getsockname()[1]
        s.reply()
        assert s.is_silent(0.4)
        late.listen(5)
        s.serve()
        s.results()
        ended(proc)
        assert s.done["transactions"] > 0


def test_client_waits_as_long_as_asked(host, netperf):
    """-e: a request is given up after so long, and the next one is sent."""
    with Server(host) as s:
        netperf(s, "UDP_RR", "--", "-e", "2", length=10)
        s.take()
        s.hear()
        s.reply()
        s.data.settimeout(10 * slow())
        s.data.recv(100)
        begun = time.monotonic()
        assert s.data.recv(100) != b""
        assert 1.9 < time.monotonic() - begun < 3.5 * slow()


@pytest.mark.parametrize("test, words, calls", [
    ("TCP_STREAM", ("-m", "1000"), "LOCAL_SEND_CALLS"), ("TCP_MAERTS", (), "LOCAL_RECV_CALLS"),
    ("UDP_STREAM", ("-m", "1000", "-R", "1"), "LOCAL_SEND_CALLS")])
def test_client_times_each_call(host, netperf, test, words, calls):
    with Server(host) as s:
        proc = netperf(s, test, "--", *words, "-k", "MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P99_LATENCY,"
                       "MAX_LATENCY,STDDEV_LATENCY," + calls)
        s.take()
        s.whole()
        ended(proc)
    said = {k: float(v) for k, v in (row.split("=") for row in proc.stdout.split())}
    assert 0 <= said["MIN_LATENCY"] <= said["P50_LATENCY"] <= said["P99_LATENCY"]
    assert said["P99_LATENCY"] <= said["MAX_LATENCY"] and said["MIN_LATENCY"] <= said["MEAN_LATENCY"]
    assert said["STDDEV_LATENCY"] >= 0 and 0 < said["MEAN_LATENCY"] * said[calls] < 3e6 * slow()


def test_client_says_its_passphrase(host, netperf):
    with Server(host) as s:
        proc = netperf(s, "TCP_RR", "-Z", "secret")
        s.take()
        assert s.hear() == 6 and s.raw[8:15] == b"secret\0"
        s.whole()
        ended(proc)


def test_client_sends_three_goodbyes(host, netperf):
    with Server(host) as s:
        netperf(s, "UDP_STREAM", "--", "-m", "100")
        s.take()
        s.hear()
        s.reply()
        empty = 0
        while empty < 3:
            empty += s.data.recv(1 << 16) == b""
        s.done = dict.fromkeys(("rx", "tx", "rx_calls", "tx_calls", "transactions", "elapsed"), 1)
        s.results()
        assert s.is_left()


@pytest.mark.parametrize("code", [98, UNKNOWN])
def test_client_ends_when_it_is_refused(host, netperf, code):
    with Server(host) as s:
        proc = netperf(s, "TCP_STREAM")
        s.take()
        s.hear()
        s.reply(error=code)
        assert ended(proc, code=None) != 0
        assert str(code) in proc.stdout + proc.stderr


def test_client_ends_when_the_server_does(host, netperf):
    with Server(host) as s:
        proc = netperf(s, "TCP_STREAM")
        s.take()
        s.hear()
        s.link.close()
        assert ended(proc, code=None) != 0
        assert proc.stderr.startswith("recv_response: ") and proc.returncode == 1


@pytest.mark.parametrize("kept", [True, False])
def test_client_tells_the_pace_that_is_kept(host, netperf, kept):
    """A server without intervals says so in its answer."""
    names = "REMOTE_INTERVAL_BURST,REMOTE_INTERVAL_USECS"
    with Server(host) as s:
        proc = netperf(s, "TCP_MAERTS", "-b", ",7", "-w", ",2", "--", "-k", names)
        s.take()
        s.hear()
        assert (s.request.burst, s.request.interval) == (7, 2000)
        s.reply(**({"burst": 7, "interval": 2000} if kept else {}))
        s.serve()
        s.results()
        ended(proc)
    assert ("keeps no pace" in proc.stderr) == (not kept), proc.describe(40)
    assert [line.split("=")[1] for line in proc.stdout.split()] == (["7", "2000"] if kept else ["0", "0"])


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGALRM])
@pytest.mark.parametrize("test", ["TCP_STREAM", "UDP_STREAM", "TCP_RR"])
def test_client_is_interrupted(host, netperf, test, sig):
    """The test ends early, and its results are whole."""
    with Server(host) as s:
        proc = netperf(s, test, length=30)
        s.take()
        s.hear()
        s.reply()
        s.start()
        poll("data", lambda: s.done.get("rx", 0) > 0, 10.0 * slow())
        proc.send_signal(sig)
        s.wait()
        s.results()
        ended(proc)


def test_client_gets_cpu(host, netperf):
    with Server(host) as s:
        proc = netperf(s, "TCP_STREAM", "-C")
        s.take()
        s.hear()
        assert s.request.flags & MEASURE
        s.reply()
        s.start()
        s.wait()
        s.results()
        ended(proc)
    with Server(host) as s:
        proc = netperf(s, "REM_CPU")
        s.take()
        assert s.hear() == 5
        s.say(struct.pack(">4I", 5, 0, 0x42c80000, 7) + bytes(640))
        ended(proc)
