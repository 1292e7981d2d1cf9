# SPDX-License-Identifier: MIT
"""The server: many clients, bad clients, clients that vanish, and its own end."""
import json
import random
import re
import signal
import socket
import struct
import threading
import time

import pytest

from kit.net import poll
from kit.report import check_report, warnings

LINES = ("-o", "json", "--json-lines")


def spawn(pair, netdyno, *args, host=None):
    """A client with one line for each event; .report() is the last of them."""
    host = host or pair.a
    proc = host.spawn([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, *args, *LINES])
    proc.report = lambda: json.loads(proc.stdout.splitlines()[-1])
    return proc


def works(pair, stream_json):
    """The server still does its work, and does it right."""
    check_report(stream_json(pair.a, pair.server, "-n", "100k", "-P", 2))


def logged(pair, slow, regex, timeout=15):
    return pair.server.wait_line(regex, timeout * slow, "stderr")


def sentence(done, code):
    """It ended with this exit code and one line on stderr, which is returned."""
    assert done.returncode == code, done
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("netdyno: "), done.stderr
    return lines[0]


# --- several at once

@pytest.mark.parametrize("udp", [(), ("-u", "-b", "5M")], ids=["tcp", "udp"])
def test_clients_at_once_are_kept_apart(pair, netdyno, slow, udp):
    clients = [spawn(pair, netdyno, "-t", "2s", "--warmup", "0.2s", "-P", n, *udp)
               for n in (1, 2, 4)]
    for client, flows in zip(clients, (1, 2, 4)):
        assert client.wait(30 * slow) == 0, client.describe()
        report = client.report()
        d = check_report(report)
        assert d["flows"] == flows and d["received_bytes"] > 0
        assert report["server"]["overlapped_tests"] == 2
        assert "overlapped" in warnings(report)
    assert len(re.findall("^netdyno: test . from .* received", pair.server.stderr, re.M)) == 3


def test_a_test_alone_has_no_overlap(pair, stream_json):
    for _ in range(2):
        report = stream_json(pair.a, pair.server, "-n", "100k")
        assert "overlapped" not in warnings(report)
        assert not report["server"]["overlapped_tests"]


# --- limits

def test_max_tests(lab, serve, netdyno, stream_json, slow):
    net = lab()
    net.server = serve(net.b, "--max-tests", 1)
    first = spawn(net, netdyno, "-t", "20s", "-b", "1M", "--warmup", 0)
    first.wait_line('"interval"', 15 * slow)
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", net.server.port])
    said = sentence(done, 3)
    assert "full" in said and "1" in said
    first.stop()
    logged(net, slow, "test 1 from")
    works(net, stream_json)


def test_max_flows_and_time(lab, serve, netdyno, stream_json):
    net = lab()
    net.server = serve(net.b, "--max-flows", 8, "--max-time", "5s")
    where = [netdyno, "stream", net.b.ip4, "-p", net.server.port]
    said = sentence(net.a.run([*where, "-P", 9]), 3)
    assert "9" in said and "8" in said and "-P" in said
    said = sentence(net.a.run([*where, "-P", 5, "--bidir"]), 3)
    assert "10" in said and "8" in said
    said = sentence(net.a.run([*where, "-t", "5s", "--warmup", "1s"]), 3)
    assert "6s" in said and "5s" in said and "-t" in said
    check_report(stream_json(net.a, net.server, "-P", 8, "-t", "1s", "--warmup", "0.1s"))


def test_bytes_are_welcome_where_time_is_limited(lab, serve, netdyno, stream_json, slow):
    """The server's limit is the test's, which nobody has asked for."""
    net = lab()
    server = serve(net.b, "--max-time", "5s")
    check_report(stream_json(net.a, server, "-n", "1M"))
    begin = time.monotonic()
    client = net.a.spawn(
        [netdyno, "stream", net.b.ip4, "-p", server.port, "-n", "1G", "-b", "1M", "-o", "json"])
    assert client.wait(60 * slow) in (0, 1), client.describe()
    assert time.monotonic() - begin < 15 * slow
    assert 0 < json.loads(client.stdout)["directions"][0]["total_received_bytes"] < 1000000000


def test_bytes_are_within_the_longest_time_too(lab, serve, netdyno, slow):
    """-n with a rate that would take an hour."""
    net = lab()
    net.server = serve(net.b, "--max-time", "2s")
    begin = time.monotonic()
    client = spawn(net, netdyno, "-n", "100M", "-b", "100k", "-t", "2s")
    code = client.wait(60 * slow)
    assert time.monotonic() - begin < 10 * slow
    assert code in (0, 1, 3), client.describe()
    assert client.report()["directions"][0]["total_received_bytes"] < 100000000


def test_allow(lab, serve, netdyno, stream_json):
    net = lab()
    other = net.a.add_addr("10.77.1.77/24")
    net.server = serve(net.b, "--allow", "10.77.1.1/32", "--allow", "192.0.2.0/24")
    works(net, stream_json)
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", net.server.port, "-B", other])
    assert sentence(done, 3)
    done = net.a.run([netdyno, "stream", net.b.ip6, "-p", net.server.port])
    assert sentence(done, 3)
    works(net, stream_json)


def test_allow_of_ipv6(lab, serve, netdyno, stream_json):
    net = lab()
    net.server = serve(net.b, "--allow", "fd00:77::/32")
    check_report(stream_json(net.a, net.b.ip6, "-p", net.server.port, "-n", "1k"))
    assert sentence(net.a.run([netdyno, "stream", net.b.ip4, "-p", net.server.port]), 3)


def test_once(lab, serve, netdyno, stream_json, slow):
    net = lab()
    server = serve(net.b, "--once", "-o", "json")
    report = stream_json(net.a, server, "-n", "1M")
    check_report(report)
    assert server.wait(10 * slow) == 0
    own = json.loads(server.stdout)
    assert own["directions"][0]["received_bytes"] == report["directions"][0]["received_bytes"]
    assert own["directions"][0]["goodput_bps"] == report["directions"][0]["goodput_bps"]
    assert not net.b.listening(server.port)


def test_once_is_not_used_up_by_visitors(lab, serve, netdyno, stream_json, slow):
    net = lab()
    server = serve(net.b, "--once", "--max-flows", 8)
    with net.a.socket() as s:
        s.connect((net.b.ip4, server.port))
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        closed(s, 5 * slow)
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", server.port, "-P", 9])
    assert done.returncode == 3  # --max-flows
    check_report(stream_json(net.a, server, "-n", "1M"))
    assert server.wait(10 * slow) == 0


@pytest.mark.parametrize("args, tests", [
    (("latency", "-t", "1s", "--load", "stream,2,down"), 2),
    (("packets", "--find-rate", "--trial", "0.2s", "-l", 100, "--rate", 500), 2)], ids=["loaded", "search"])
def test_once_is_a_session_of_several_tests(lab, serve, netdyno, slow, args, tests):
    """Others are refused between them, and the server ends when no more comes."""
    net = lab()
    server = serve(net.b, "--once")
    verb, *rest = args
    done = net.a.run([netdyno, verb, net.b.ip4, "-p", server.port, "--warmup", "0s", *rest, "-o", "json"],
                     timeout=60 * slow)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["partial"] is False
    assert server.wait(20 * slow) == 0
    assert server.stderr.count(": test ") >= tests, server.stderr


def test_once_does_not_wait_for_a_session_that_broke_off(lab, serve, netdyno, slow):
    net = lab()
    server = serve(net.b, "--once")
    client = net.a.spawn([netdyno, "packets", net.b.ip4, "-p", server.port, "--find-rate", "--trial", "0.5s",
                          "-l", 100, "--rate", 500])
    server.wait_line(": test 1 ", 30 * slow, "stderr")
    client.send_signal(signal.SIGKILL)
    assert server.wait(20 * slow) == 0


def test_once_survives_a_run_that_cannot_be_made(lab, serve, netdyno, stream_json):
    net = lab()
    server = net.b.spawn(["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", netdyno, "serve",
                          "--once"])
    server.port = 7575
    server.wait_line("listening", 20, "stderr")
    done = net.a.run([netdyno, "stream", net.b.ip4, "-P", 500, "-T", 1])
    assert done.returncode == 3 and "descriptors" in done.stderr
    if server.returncode is None:
        check_report(stream_json(net.a, server, "-n", "1M"))


# --- strangers

def connect(pair, n):
    sockets = []
    for _ in range(n):
        s = pair.a.socket()
        s.settimeout(10)
        s.connect((pair.b.ip4, pair.server.port))
        sockets.append(s)
    return sockets


def closed(s, timeout):
    """The other end closes, politely or not."""
    s.settimeout(timeout)
    try:
        while s.recv(4096):
            pass
    except ConnectionResetError:
        pass


def test_idle_connections(pair, stream_json, slow):
    """A thousand that say nothing, or half of something, are closed after 5 s."""
    sockets = connect(pair, 1000 if slow == 1 else 200)
    try:
        for n, data in enumerate((b"\0", b"N", b"NDF1" + b"\x17" * 10, b"\0\0\1\0")):
            sockets[n].sendall(data)
        works(pair, stream_json)
        for s in sockets:
            closed(s, 20 * slow)
    finally:
        for s in sockets:
            s.close()
    works(pair, stream_json)


GARBAGE = {
    "http": b"GET /index.html HTTP/1.1\r\nHost: example\r\n\r\n",
    "huge length": b"\xff\xff\xff\xff{",
    "16 MiB and a byte": struct.pack(">I", (1 << 24) + 1) + b"{",
    "most allowed": struct.pack(">I", (1 << 24) - 1) + b"{" * 100000,
    "empty message": struct.pack(">I", 0),
    "no json": struct.pack(">I", 10) + b"{" + b"\0" * 9,
    "deep": struct.pack(">I", 20001) + b'{"a":' + b"[" * 19996,
    "unknown message": struct.pack(">I", 11) + b'{"m":"foo"}',
    "out of order": struct.pack(">I", 11) + b'{"m":"bye"}',
    "result first": struct.pack(">I", 24) + b'{"m":"result","side":{}}',
    "preamble of nobody": b"NDF1" + b"\x17" * 24,
    "preamble and more": b"NDF1" + b"\x17" * 24 + b"x" * 100000,
    "tls": bytes.fromhex("160301020001000 1fc0303".replace(" ", "")) + b"\x55" * 500,
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage(pair, stream_json, slow, data):
    """Whatever is said, the connection is closed, also when the visitor stays."""
    s, = connect(pair, 1)
    with s:
        try:
            s.sendall(data)
            works(pair, stream_json)
            if data != GARBAGE["most allowed"]:  # it has 30 s to say the rest
                closed(s, 12 * slow)
        except (ConnectionResetError, BrokenPipeError):
            pass
    works(pair, stream_json)


def test_random_garbage(pair, stream_json):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    dice = random.Random(seed)
    for _ in range(60):
        s, = connect(pair, 1)
        with s:
            data = bytes(dice.getrandbits(8) for _ in range(dice.randrange(1, 300)))
            if dice.random() < 0.5:
                data = struct.pack(">I", dice.randrange(2, 400)) + b"{" + data
            try:
                s.sendall(data)
            except (ConnectionResetError, BrokenPipeError):
                pass
    with pair.a.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(200):
            data = bytes(dice.getrandbits(8) for _ in range(dice.choice((0, 1, 28, 32, 32, 500))))
            s.sendto(b"NDU1" + data[4:] if dice.random() < 0.5 else data,
                     (pair.b.ip4, pair.server.port))
    works(pair, stream_json)


def test_strangers_during_a_test(pair, netdyno, stream_json, slow):
    client = spawn(pair, netdyno, "-t", "2s", "--warmup", "0.2s", "-P", 4, "-b", "50M")
    client.wait_line('"connected"', 10 * slow)
    stop = threading.Event()

    def visit():
        while not stop.is_set():
            for data in (GARBAGE["http"], GARBAGE["preamble of nobody"], GARBAGE["no json"]):
                s, = connect(pair, 1)
                with s:
                    s.sendall(data)
            time.sleep(0.005)

    thread = threading.Thread(target=visit, daemon=True)
    thread.start()
    try:
        assert client.wait(30 * slow) == 0
    finally:
        stop.set()
        thread.join(10)
    check_report(client.report())


# --- clients that vanish

def test_client_killed_in_setup(pair, netdyno, stream_json, slow):
    with pair.b.drop(proto="udp", dport=pair.server.port):
        client = spawn(pair, netdyno, "-u", "-b", "1M")
        client.wait_line('"connected"', 10 * slow)
        poll("proposal", lambda: len(established(pair)) >= 1, 5 * slow)
        client.kill()
        logged(pair, slow, "test 1 from|control connection")
    works(pair, stream_json)


def established(pair):
    done = pair.b.run(["ss", "-Htn", "state", "established", "sport", "=",
                       f":{pair.server.port}"])
    return done.stdout.splitlines()


@pytest.mark.parametrize("way", [(), ("-R",), ("-u", "-b", "10M"), ("-u", "-b", "10M", "-R"),
                                 ("--bidir",)], ids="_".join)
@pytest.mark.parametrize("when", ["warmup", "measure"])
def test_client_killed(pair, netdyno, stream_json, slow, when, way):
    warmup = "20s" if when == "warmup" else "0.1s"
    client = spawn(pair, netdyno, "-t", "20s", "-P", 3, "--warmup", warmup, "-i", "0.1s", *way)
    client.wait_line(f'"phase":"{when}"', 20 * slow)
    client.kill()
    line = logged(pair, slow, "test 1 from.*").group()
    assert "partial" in line
    works(pair, stream_json)
    assert not [line for line in established(pair)]


def test_report_names_the_client_that_vanished(pair, netdyno, tmp_path, slow):
    port, file = pair.b.free_port(), tmp_path / "report.json"
    server = pair.b.spawn([netdyno, "serve", "-p", port, "--once", "-o", "json", "-O", file])
    server.wait_line("listening", 10 * slow)
    client = pair.a.spawn([netdyno, "stream", pair.b.ip4, "-p", port, "-t", "20s", "--warmup", 0,
                           "--json-lines", "-i", "0.1s"])
    client.wait_line('"event":"interval"', 20 * slow)
    client.kill()
    server.wait(20 * slow)
    report = json.loads(file.read_text())
    assert report["partial"] is True and report["client"] is None
    assert [part["peer_address"] for part in report["server"]["parts"]] == [pair.a.ip4]


def test_client_killed_at_the_end(pair, netdyno, stream_json, slow):
    """While the tail of a slow flow is on its way."""
    pair.a.rate("2mbit", queue_ms=20)
    client = spawn(pair, netdyno, "-t", "1s", "--warmup", 0, "--sndbuf", "4Mi")
    client.wait_line('"event":"phase","text":"drain"', 20 * slow)
    client.kill()
    pair.a.rate(None)
    assert "partial" in logged(pair, slow, "test 1 from.*").group()
    works(pair, stream_json)


def test_cable_cut(pair, netdyno, stream_json, slow):
    """Both ends notice in 10 s and tell what they have; a cable put back serves the next."""
    client = spawn(pair, netdyno, "-t", "60s", "-P", 2, "--warmup", 0, "-i", "0.2s", "-b", "20M")
    client.wait_line('"event":"interval"', 20 * slow)
    begin = time.monotonic()
    pair.a.down()
    assert client.wait(25 * slow) in (1, 3)
    assert time.monotonic() - begin < 16 * slow
    report = client.report()
    assert report["event"] == "result" and report["partial"] is True
    assert report["directions"][0]["sent_bytes"] > 0
    assert "partial" in logged(pair, slow, "test 1 from.*").group()
    pair.a.up()
    pair.wait_path(pair.a, pair.b)
    works(pair, stream_json)


def test_stopped_client_is_given_up(pair, netdyno, stream_json, slow):
    client = spawn(pair, netdyno, "-t", "60s", "--warmup", 0, "-i", "0.2s", "-b", "20M")
    client.wait_line('"event":"interval"', 20 * slow)
    client.send_signal(signal.SIGSTOP)
    assert "partial" in logged(pair, slow, "test 1 from.*", 16).group()
    client.send_signal(signal.SIGCONT)
    assert client.wait(15 * slow) in (1, 3)
    works(pair, stream_json)


# --- the server's end

def partial(client, code=1):
    report = client.report()
    assert report["event"] == "result" and report["partial"] is True, client.describe()
    assert report["partial_reason"] and "partial" in warnings(report)
    assert client.returncode == code
    last = client.stderr.splitlines()[-1]
    assert last.startswith("netdyno: partial: ")
    return report


@pytest.mark.parametrize("way", [(), ("-R",), ("-u", "-b", "10M")], ids="_".join)
def test_server_killed(pair, netdyno, slow, way):
    client = spawn(pair, netdyno, "-t", "60s", "-P", 2, "--warmup", 0, "-i", "0.2s", *way)
    client.wait_line('"event":"interval"', 20 * slow)
    pair.server.kill()
    begin = time.monotonic()
    assert client.wait(20 * slow) in (1, 3)
    assert time.monotonic() - begin < 13 * slow
    if client.returncode == 1:
        report = partial(client)
        d, = report["directions"]
        theirs = "sent_bytes" if way == ("-R",) else "received_bytes"
        assert d[theirs] is None, "the server told no result"
        assert any((row[theirs] or 0) > 0 for row in d["intervals"]), "but what it had read, or sent, until then"
        assert all(row["phase"] == "measure" for row in d["intervals"] if row["sent_bytes"] is not None)
        if way != ("-R",):
            assert d["sent_bytes"] > 0


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_server_asked_to_end_in_a_test(pair, netdyno, slow, sig):
    client = spawn(pair, netdyno, "-t", "60s", "-P", 2, "--warmup", 0, "-i", "0.2s", "-b", "20M")
    client.wait_line('"event":"interval"', 20 * slow)
    assert pair.server.stop(sig, 10 * slow) == 0
    client.wait(10 * slow)
    report = partial(client)
    d, = report["directions"]
    assert d["received_bytes"] > 0 and d["goodput_bps"] > 0
    assert "partial" in pair.server.stderr
    assert "Sanitizer" not in pair.server.stderr


def test_server_asked_to_end_while_idle(pair, slow):
    connect(pair, 3)
    assert pair.server.stop(signal.SIGINT, 10 * slow) == 0
    assert pair.server.stdout == ""


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("way", [(), ("-R",)], ids=["forth", "back"])
def test_client_asked_to_end(pair, netdyno, stream_json, slow, sig, way):
    client = spawn(pair, netdyno, "-t", "60s", "-P", 2, "--warmup", 0, "-i", "0.2s", *way,
                   "-b", "20M")
    client.wait_line('"event":"interval"', 20 * slow)
    client.send_signal(sig)
    client.wait(10 * slow)
    report = partial(client)
    d, = report["directions"]
    assert d["received_bytes"] > 0 and d["goodput_bps"] > 0
    assert sig.name in report["partial_reason"]
    assert "partial" in logged(pair, slow, "test 1 from.*").group()
    works(pair, stream_json)


def test_client_asked_to_end_in_the_warmup(pair, netdyno, slow):
    client = spawn(pair, netdyno, "-t", "20s", "--warmup", "20s", "-i", "0.2s", "-b", "20M")
    client.wait_line('"phase":"warmup"', 20 * slow)
    client.send_signal(signal.SIGINT)
    client.wait(10 * slow)
    report = partial(client)
    assert report["directions"][0]["total_received_bytes"] > 0
    assert not report["directions"][0]["received_bytes"]


def test_client_asked_to_end_in_setup(pair, netdyno, stream_json, slow):
    with pair.b.drop(proto="udp", dport=pair.server.port):
        client = spawn(pair, netdyno, "-u", "-b", "1M")
        client.wait_line('"connected"', 10 * slow)
        client.send_signal(signal.SIGINT)
        assert client.wait(5 * slow) in (1, 3)
    assert client.report()["event"] == "failed"
    assert len([x for x in client.stderr.splitlines() if x.startswith("netdyno:")]) == 1
    works(pair, stream_json)


def test_client_asked_twice_ends_at_once(pair, netdyno, slow):
    client = spawn(pair, netdyno, "-t", "60s", "--warmup", 0, "-i", "0.2s", "-b", "20M")
    client.wait_line('"event":"interval"', 20 * slow)
    pair.b.drop()
    pair.a.drop()
    client.send_signal(signal.SIGINT)
    time.sleep(0.5)  # the second within 300 ms counts as the same key press
    begin = time.monotonic()
    client.send_signal(signal.SIGINT)
    assert client.wait(5 * slow) in (1, 3)
    assert time.monotonic() - begin < 2 * slow
    pair.server.kill()  # it would wait for the results of a client that is gone


# --- where it listens

def test_listens_on_several_addresses(lab, serve, stream_json, netdyno):
    net = lab()
    second = net.b.add_addr("10.77.1.50/24")
    third = net.b.add_addr("10.77.1.51/24")
    server = serve(net.b, "--listen", net.b.ip4, "--listen", f"{second},[{net.b.ip6}]")
    for target in (net.b.ip4, second, net.b.ip6):
        for kind in ((), ("-u", "-b", "10M")):
            check_report(stream_json(net.a, target, "-p", server.port, "-n", "10k", *kind))
    sentence(net.a.run([netdyno, "stream", third, "-p", server.port]), 3)
    assert server.stderr.count("listening on") == 3


@pytest.mark.parametrize("option, right, wrong", [("-4", "ip4", "ip6"), ("-6", "ip6", "ip4")])
def test_one_family_only(lab, serve, stream_json, netdyno, option, right, wrong):
    net = lab()
    server = serve(net.b, option)
    for kind in ((), ("-u", "-b", "10M")):
        check_report(stream_json(net.a, getattr(net.b, right), "-p", server.port, "-n", "10k",
                                 *kind))
    sentence(net.a.run([netdyno, "stream", getattr(net.b, wrong), "-p", server.port]), 3)


def test_answers_from_the_address_that_was_asked(lab, serve, stream_json):
    """UDP to a second address of the server: the answer must not come from the first."""
    net = lab()
    second = net.b.add_addr("10.77.1.50/24")
    server = serve(net.b)
    report = stream_json(net.a, second, "-p", server.port, "-u", "-n", "10k", "-b", "10M", "-R")
    check_report(report)
    assert second in report["server"]["address"]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["tcp", "udp"])
def test_port_in_use(lab, netdyno, kind):
    net = lab()
    port = net.b.free_port()
    with net.b.socket(socket.AF_INET6, kind) as s:
        s.bind(("::", port))
        if kind == socket.SOCK_STREAM:
            s.listen()
        said = sentence(net.b.run([netdyno, "serve", "-p", port]), 1)
    assert str(port) in said and "in use" in said


def test_two_servers_on_one_port(pair, netdyno, stream_json):
    said = sentence(pair.b.run([netdyno, "serve", "-p", pair.server.port]), 1)
    assert str(pair.server.port) in said
    works(pair, stream_json)


def test_address_of_another_machine(lab, netdyno):
    net = lab()
    said = sentence(net.b.run([netdyno, "serve", "--listen", "10.77.1.99"]), 1)
    assert "10.77.1.99" in said


def test_server_reports_each_test(lab, serve, stream_json, slow):
    net = lab()
    server = serve(net.b, "-o", "json", "--json-lines")
    for n in (1, 2):
        report = stream_json(net.a, server, "-n", "1M", "-R")
        result = poll("report of the server", lambda: results(server)[n - 1:], 10 * slow)[0]
        for key in ("received_bytes", "goodput_bps", "total_sent_bytes"):
            assert result["directions"][0][key] == report["directions"][0][key]


def results(server):
    text = server.stdout
    whole = text[:text.rfind("\n") + 1]
    return [e for e in map(json.loads, whole.splitlines()) if e["event"] == "result"]


def test_threads_of_a_server_are_a_limit(lab, serve, stream_json):
    """Also where the client asks for more; both ends then have that many, and keep to the server's CPU."""
    net = lab()
    server = serve(net.b, "-T", "1", "--pin", "0")
    for asked in ((), ("-T", "2")):
        report = stream_json(net.a, server, "-P", "2", *asked, "-t", "1s", "--warmup", "0s")
        assert [report[end]["threads"] for end in ("client", "server")] == [1, 1]


@pytest.mark.parametrize("argv", [("serve", "-p", "0"), ("stream", "192.0.2.1")], ids=["serve", "stream"])
def test_a_cpu_that_is_not_there_is_refused(lab, netdyno, argv):
    done = lab().a.run([netdyno, *argv, "--pin", "1023"])
    assert done.returncode == 2 and "--pin: CPU 1023" in done.stderr
