# SPDX-License-Identifier: MIT
"""Our NTttcp against ends that are led word by word: every byte of the synchronisation is compared."""
import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest

from kit import ntttcp
from kit.net import Lab, poll, slow
from ntttcp_peers import (BUSY, E, FIN, FINISHED, FREE, L, R, RST, UNKNOWN, W, X, LinuxReceiver, LinuxSender,
                          Receiver, Sender, WindowsReceiver, WindowsSender)

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(40)]
WAY = pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
SHORTENED = 0  # exit code of a test that was ended before its time, as of the original
LANGUAGE = pytest.mark.parametrize("windows", [False, True], ids=["linux words", "windows words"])


@pytest.fixture(scope="module")
def net():
    with Lab() as net:
        yield net


@pytest.fixture
def host(net):
    """The host of nearly all these tests; what one leaves running is gone before the next."""
    yield net.b
    for proc in net.b.procs + net.a.procs:
        proc.kill()


@pytest.fixture
def base(host):
    """A data port with free ones around it, outside the range that connections get."""
    return host.free_port() // 2


@pytest.fixture
def folder(tmp_path, netdyno):
    return ntttcp.links(tmp_path, netdyno)


@pytest.fixture
def ours(folder, host, base):
    """ours("-r", ...): start our end, with Linux words; windows=True: with the other ones."""
    def start(role, *words, ports=2, windows=False, ready=None, name="ntttcp"):
        if windows:
            line = [role, "-m", f"{ports},*,127.0.0.1", "-p", base, "--dialect=windows", *words]
            wait = base + ports - 1
        else:
            line = [f"{role}127.0.0.1", "-P", ports, "-p", base, *words]
            wait = "threads created"
        if role == "-s":
            wait = None
        return ntttcp.start(folder, host, [name, *line], ready=ready or wait)

    return start


def words(*pairs):
    """("X", 10, 5, 5, ...) as they cross the sync connection, sender first."""
    text, who = [], "sr"
    for i, word in enumerate(pairs):
        value = ord(word) if isinstance(word, str) and len(word) == 1 else word
        text.append(f"{who[i % 2]} {value & 0xffffffff:08x}" if isinstance(value, int) else value)
    return text


def figure(proc, label):
    """A figure of our console report, of the Linux layout."""
    found = re.search(rf"{label}\s*:([0-9.]+)", proc.stdout)
    assert found, proc.describe(60)
    return float(found[1])


def check_report(proc, least_s=0.0, most_s=60.0, data=True):
    assert least_s - 0.05 * slow() <= figure(proc, "test duration") <= most_s + 0.1 * slow()
    if data:
        assert figure(proc, "total bytes") > 0


def begin(peer, cycle, agreed=None):
    """Lead a scripted sender until its data flows."""
    assert peer.ask(X) == UNKNOWN and peer.ask(cycle) == (cycle if agreed is None else agreed)
    peer.connect()
    assert peer.ask(R) == R
    peer.flood()


def see_off(proc, *peers):
    """The receiver's time is over: its senders leave."""
    proc.wait_line("Test cycle finished", 5 * slow())
    for peer in peers:
        peer.still()
        peer.hang_up()


def wait_free(host, base):
    """Until the receiver is ready for another sender: that the last one has left needs a moment."""
    def free():
        with LinuxSender(host, base) as probe:
            return probe.ask(X) == UNKNOWN
    poll("a free receiver", free, 5 * slow(), 0.05)


def agree(peer, cycle, agreed=None, state=FREE):
    """Lead our sender to its data connections."""
    peer.answer()
    assert peer.hear() == X
    peer.say(state)
    assert peer.hear() == cycle
    peer.say(cycle if agreed is None else agreed)


def serve(peer, cycle, conns=1, **more):
    """Lead our sender until its data flows."""
    agree(peer, cycle, **more)
    peer.take(conns)
    assert peer.hear() == R
    peer.drain()
    peer.say(R)


def see_stop(peer):
    """Our sender says that it has ended, and leaves."""
    assert peer.hear() == E
    peer.say(FINISHED)
    assert peer.hear() == FIN


# --- receiver: words

@WAY
def test_receiver_plain_run(host, base, ours, udp):
    proc = ours("-r", "-t", 1, *["-u"] * udp)
    with LinuxSender(host, base, ports=2, udp=udp) as peer:
        assert peer.ask(X) == UNKNOWN and peer.ask(1) == 1
        peer.connect()
        assert peer.ask(R) == R
        peer.flood(1000 if udp else 65536, b"B" if udp else b"A")
        see_off(proc, peer)
        ntttcp.ended(proc, within=4)
        assert peer.sync == words("X", 10, 1, 1, "R", "R", "s FIN")
        check_report(proc, 1, 1)
        assert figure(proc, "total bytes") <= sum(peer.bytes)
        assert "sender" not in proc.stderr, proc.stderr


def test_receiver_with_warmup_and_cooldown_is_stopped(host, base, ours):
    proc = ours("-r", "-t", 3)
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, 3)
        proc.wait_line("Network activity", 5 * slow())
        peer.wait_bytes(1 << 20)
        peer.still()  # what keeps this test busy is no part of the answer's time
        begun = time.monotonic()
        assert peer.ask(E) == FINISHED
        assert time.monotonic() - begun < 1.0 * slow()
        peer.hang_up()
        ntttcp.ended(proc, code=SHORTENED, within=4)
        assert peer.sync == words("X", 10, 3, 3, "R", "R", "E", 13, "s FIN")
        check_report(proc, 0, 3)


@pytest.mark.parametrize("given, proposed, agreed", [
    ((), 5, 5), ((), 1, 1), (("-t", 2), 5, 5), (("-t", 5), 2, 5), (("-t", 5), 5, 5),
    (("-t", 5), 0, 0), (("-t", 0), 5, 0), (("-t", 0), 0, 0), (("-t", 5), -3, 5),
    (("-W", 3, "-t", 10, "-C", 2), 5, 10), (("-M", "-t", 2), 5, 2), (("-M", "-t", 2), 0, 2),
    (("-M", "-t", 7), 3, 7),
])
def test_receiver_agrees_on_a_time(host, base, ours, given, proposed, agreed):
    ours("-r", *given)
    with LinuxSender(host, base) as peer:
        state = FREE if "-M" in given else UNKNOWN
        assert peer.ask(X) == state
        assert peer.ask(proposed) == agreed
        assert peer.sync == words("X", state, proposed, agreed)


@pytest.mark.parametrize("cycle", [E, L, R, X])
def test_receiver_takes_a_time_that_looks_like_a_command(host, base, ours, cycle):
    proc = ours("-r")
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, cycle)
        peer.wait_bytes(1 << 18)
        assert peer.ask(E) == FINISHED
        peer.hang_up()
        ntttcp.ended(proc, code=SHORTENED, within=4)
        assert peer.sync == words("X", 10, cycle, cycle, "R", "R", "E", 13, "s FIN")


def test_receiver_takes_fragments_and_two_words_at_once(host, base, ours):
    proc = ours("-r", "-t", 5)
    with LinuxSender(host, base, ports=2) as peer:
        peer.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"\0\0\0X":
            peer.link.sendall(bytes([byte]))
            assert byte or peer.is_silent(0.02)
        assert peer.hear() == UNKNOWN
        peer.connect()
        peer.say(2, R)
        assert peer.hear() == 5 and peer.hear() == R
        peer.flood()
        peer.wait_bytes(1 << 18)
        assert peer.ask(E) == FINISHED
        peer.hang_up()
        ntttcp.ended(proc, code=SHORTENED, within=4)


def test_receiver_is_busy(host, base, ours):
    proc = ours("-r", "-t", 5)
    with LinuxSender(host, base, ports=2) as peer, LinuxSender(host, base) as early:
        assert peer.ask(X) == UNKNOWN and peer.ask(5) == 5
        assert early.ask(X) == BUSY, "agreed with somebody else"
        early.hang_up()
        peer.connect()
        assert peer.ask(R) == R
        peer.flood()
        with LinuxSender(host, base) as late:
            assert late.ask(X) == BUSY
            late.hang_up()
            assert late.sync == early.sync == words("X", 12) + ["s FIN"]
        peer.wait_bytes(1 << 18)
        assert peer.ask(E) == FINISHED
        peer.hang_up()
    ntttcp.ended(proc, code=SHORTENED, within=4)


def test_receiver_is_free_again_when_a_sender_leaves_before_the_start(host, base, ours):
    proc = ours("-r")
    with LinuxSender(host, base, ports=2) as peer:
        assert peer.ask(X) == UNKNOWN and peer.ask(60) == 60
        peer.connect()
    with LinuxSender(host, base, ports=2) as peer:
        # that the first one has left needs a moment to be seen
        wait_free(host, base)
        begin(peer, 1)
        see_off(proc, peer)
    ntttcp.ended(proc, within=4)
    check_report(proc, 1, 1)


@pytest.mark.parametrize("junk", [b"GET / HTTP/1.0\r\n\r\n", b"\0\0\0R", b"\xff\xff\xff\xff", b"\0"])
def test_receiver_turns_strangers_away(host, base, ours, junk):
    ours("-r", "-t", 1)
    with LinuxSender(host, base) as stranger, LinuxSender(host, base) as peer:
        stranger.link.sendall(junk)
        if len(junk) >= 4:
            assert stranger.hear() in (FIN, RST)
        assert peer.ask(X) == UNKNOWN and peer.ask(1) == 1


def test_receiver_survives_a_port_scan(host, base, ours):
    proc = ours("-r", "-t", 1)
    for port in (base - 1, base, base + 1, base + 1000, base + 1001):
        with host.socket() as probe:
            probe.connect(("127.0.0.1", port))
    with LinuxSender(host, base, ports=2) as peer:
        wait_free(host, base)
        begin(peer, 1)
        see_off(proc, peer)
    ntttcp.ended(proc, within=4)
    check_report(proc, 1, 1)


# --- receiver: several senders

def test_receiver_of_two_senders(host, base, ours):
    proc = ours("-r", "-M", "-t", 2)
    with LinuxSender(host, base, ports=2) as a, LinuxSender(host, base, ports=2) as b:
        assert a.ask(X) == FREE and a.ask(5) == 2
        a.connect()
        assert a.ask(R) == W and a.is_silent()
        assert b.ask(X) == FREE and b.ask(3) == 2
        b.connect()
        assert b.ask(L) == R and a.hear() == R
        a.flood()
        b.flood()
        proc.wait_line("Test cycle finished", 6 * slow())
        for peer in (a, b):
            peer.still()
            assert peer.is_silent(0.05), "no stale word"
            peer.hang_up()
        ntttcp.ended(proc, within=4)
        assert a.sync == words("X", 11, 5, 2, "R", "W", "r 00000052") + ["s FIN"]
        assert b.sync == words("X", 11, 3, 2, "L", "R", "s FIN")
        check_report(proc, 2, 2)


def test_receiver_of_two_is_stopped_by_one(host, base, ours):
    proc = ours("-r", "-M", "-t", 5)
    with LinuxSender(host, base, ports=2) as a, LinuxSender(host, base, ports=2) as b:
        for peer, word, reply in ((a, R, W), (b, L, R)):
            assert peer.ask(X) == FREE and peer.ask(5) == 5
            peer.connect()
            assert peer.ask(word) == reply
        assert a.hear() == R
        a.flood()
        b.flood()
        a.wait_bytes(1 << 18)
        assert a.ask(E) == FINISHED
        a.hang_up()
        b.still()
        b.hang_up()
        ntttcp.ended(proc, code=SHORTENED, within=4)


def test_receiver_of_eight_senders(host, base, ours):
    """Seven may wait with the original; here at least they may."""
    proc = ours("-r", "-M", "-t", 1, ports=1)
    peers = [LinuxSender(host, base) for _ in range(8)]
    try:
        for peer in peers:
            assert peer.ask(X) == FREE and peer.ask(9) == 1
            peer.connect()
            last = peer is peers[-1]
            assert peer.ask(L if last else R) == (R if last else W)
        for peer in peers[:-1]:
            assert peer.hear() == R
            peer.flood(1000)
        proc.wait_line("Test cycle finished", 5 * slow())
    finally:
        for peer in peers:
            peer.close()
    ntttcp.ended(proc, within=4)


def test_receiver_does_not_know_the_last_one(host, base, ours):
    """Without -M there is none: it is refused, and the next sender is served."""
    ours("-r", "-t", 1)
    with LinuxSender(host, base, ports=2) as peer:
        assert peer.ask(X) == UNKNOWN and peer.ask(1) == 1
        peer.connect()
        assert peer.ask(L) == E
        peer.hang_up()

    wait_free(host, base)


# --- receiver: interrupts and ends

def test_receiver_is_interrupted_before_the_test(ours):
    proc = ours("-r")
    proc.send_signal(signal.SIGINT)
    ntttcp.ended(proc, code=1, within=2)


def test_receiver_waits_no_longer_than_it_was_told_to(ours):
    proc = ours("-r", "-t", "1", "-to", "300", windows=True)
    ntttcp.ended(proc, code=3, within=10)
    assert "no sender came within 300 ms (-to)" in proc.stdout


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_receiver_is_interrupted(host, base, ours, sig):
    proc = ours("-r", "-t", 30)
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, 1, agreed=30)
        peer.wait_bytes(1 << 18)
        proc.wait_line("Real-time throughput", 5 * slow())  # bytes sent may wait in buffers
        proc.send_signal(sig)
        ntttcp.ended(proc, code=SHORTENED, within=3)
        check_report(proc, 0, 3)
        assert peer.hear() in (FIN, RST)


@pytest.mark.parametrize("says", [True, False], ids=["E", "no word"])
def test_receiver_without_limit_ends_with_its_sender(host, base, ours, says):
    proc = ours("-r", "-t", 0)
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, 0)
        peer.wait_bytes(1 << 18)
        if says:
            assert peer.ask(E) == FINISHED
    ntttcp.ended(proc, within=4)


def test_receiver_does_not_wait_for_a_sender_that_is_gone(host, base, ours):
    proc = ours("-r", "-t", 30)
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, 30)
        peer.wait_bytes(1 << 18)
    ntttcp.ended(proc, code=None, within=5)
    assert "Totals" in proc.stdout


def test_receiver_goes_on_without_the_sync_connection(host, base, ours):
    proc = ours("-r", "-t", 2)
    with LinuxSender(host, base, ports=2) as peer:
        begin(peer, 2)
        peer.wait_bytes(1 << 18)
        peer.hang_up()
        ntttcp.ended(proc, within=6)
        check_report(proc, 2, 2)


def test_receiver_takes_connections_that_come_late(host, base, ours):
    proc = ours("-r", "-t", 1)
    with LinuxSender(host, base, ports=2) as peer, Sender(host, base, ports=2) as late:
        begin(peer, 1)
        late.connect(2)
        late.flood()
        late.wait_bytes(1 << 18)
        see_off(proc, peer)
        late.close()
        ntttcp.ended(proc, within=4)


def test_receiver_resets_are_the_end_of_that_connection_only(host, base, ours):
    proc = ours("-r", "-t", 1)
    with LinuxSender(host, base, ports=2) as peer, Sender(host, base) as rude:
        assert peer.ask(X) == UNKNOWN and peer.ask(1) == 1
        peer.connect()
        rude.connect()
        assert peer.ask(R) == R
        peer.flood()
        rude.data[0].sendall(b"A" * 5000)
        rude.data[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        rude.close()
        see_off(proc, peer)
        ntttcp.ended(proc, within=4)
        check_report(proc, 1, 1)
        assert figure(proc, "total bytes") <= sum(peer.bytes) + 5000


# --- receiver: other senders

@WAY
@pytest.mark.parametrize("told", [True, False], ids=["-N", "not told"])
def test_receiver_of_a_sender_without_sync(host, base, ours, told, udp):
    proc = ours("-r", "-t", 1, *["-N"] * told, *["-u"] * udp, ready="threads created")
    with Sender(host, base, ports=2, udp=udp) as peer:
        peer.connect(1 if udp else 2)
        peer.flood(1000 if udp else 65536)
        proc.wait_line("Test cycle finished", 5 * slow())
        peer.close()
        ntttcp.ended(proc, within=4)
        check_report(proc, 1, 1)
        assert figure(proc, "total bytes") <= sum(peer.bytes)


@pytest.mark.parametrize("windows, words", [(False, []), (False, ["-u"]), (True, [])],
                         ids=["linux words", "udp", "windows words"])
def test_receiver_loses_nothing_of_a_sender_without_sync(host, base, ours, windows, words):
    """It is not told of: its first byte begins the test, whenever its connections came."""
    udp = "-u" in words
    proc = ours("-r", "-t", 2, *words, windows=windows)
    with Sender(host, base, ports=2, udp=udp) as peer:
        peer.connect()
        assert udp or peer.data[0].getpeername()
        assert "Network activity" not in proc.stdout
        for sock in peer.data:
            for _ in range(10):
                sock.send(b"A" * 1000)
        proc.wait_line("Network activity", 2 * slow())
        if not udp:
            peer.close()
        ntttcp.ended(proc, within=5)
        # half a second's silence used to be waited for, and all before it was lost
        if windows:
            assert re.search(r"^ +0\.019073 ", proc.stdout, re.M), proc.stdout
        else:
            assert figure(proc, "total bytes") == 20 * 1000


def test_receiver_of_connections_that_say_nothing(host, base, ours):
    """They are neither a test nor in the way of one."""
    proc = ours("-r", "-t", 1)
    with Sender(host, base, ports=2) as idle, LinuxSender(host, base, ports=2) as peer:
        idle.connect(3)
        begin(peer, 1)
        see_off(proc, peer)
        ntttcp.ended(proc, within=4)
        check_report(proc, 1, 1)


@pytest.mark.parametrize("offset, windows, code", [
    (1001, False, 0), (1001, True, 1), (-1, True, 0), (-1, False, 1), (1, False, 1)],
    ids=["token", "token, windows words", "sync, windows words", "sync", "data"])
def test_receiver_whose_port_is_in_use(host, base, ours, offset, windows, code):
    """Ports of the other tool are a courtesy: one in use is named. Its own ones it needs."""
    with host.socket() as taken:
        taken.bind(("127.0.0.1", base + offset))
        taken.listen(1)
        if code:
            line = ["-m", "2,*,127.0.0.1", "--dialect=windows"] if windows else ["-r127.0.0.1", "-P", 2]
            proc = ours("-r", *line[windows + 1:], windows=windows, ready="in use")
            ntttcp.ended(proc, code=code, within=3)
            assert f":{base + offset}: Address already in use" in proc.stderr
            return
        proc = ours("-r", "-t", 1, windows=windows)
        assert f":{base + offset}: Address already in use: not served" in proc.stderr
        if windows:
            with WindowsSender(host, base, ports=2) as peer:
                peer.connect()
                assert peer.tokens()[0] == [b"X", b"X"]
                peer.flood()
                ntttcp.ended(proc, within=6)
        else:
            with LinuxSender(host, base, ports=2) as peer:
                begin(peer, 1)
                see_off(proc, peer)
                ntttcp.ended(proc, within=4)


@pytest.mark.parametrize("role, address, code", [("-r", "10.9.8.7", 23), ("-a", "10.9.8.7", 24)])
def test_address_of_another_machine(folder, host, base, role, address, code):
    """The original's codes, which scripts may know."""
    line = ["-r" + address] if role == "-r" else ["-s127.0.0.1", "-a", address]
    proc = ntttcp.start(folder, host, ["ntttcp", *line, "-P", 1, "-p", base])
    ntttcp.ended(proc, code=code, within=3)
    assert address in proc.stderr


@WAY
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "-N"])
def test_serve_takes_tcp_and_udp(folder, netdyno, host, base, udp, sync):
    """Beside the native server, one set of ports takes whichever comes, time after time."""
    proc = host.spawn([netdyno, "serve", "-p", base + 500, "--also", f"ntttcp:{base}+2", "-v"])
    poll("ports", lambda: host.listening(base) and host.listening(base, "udp")
         and host.listening(base - 1), 5 * slow())
    for turn in (1, 2):
        peer = ntttcp.start(folder, host, ["ntttcp", "-s127.0.0.1", "-P", 2, "-n", 1, "-t", 1,
                                           "-p", base, *["-u", "-b", "1k"] * udp, *["-N"] * (not sync)])
        ntttcp.ended(peer, within=5)
        poll(f"test {turn}", lambda n=turn: f"ntttcp test {n}: " in proc.stderr, 6 * slow())
    first = re.search(r"ntttcp test 1: .*", proc.stderr)[0]
    assert ("UDP" in first or "udp" in first) == udp, first
    proc.send_signal(signal.SIGINT)
    proc.wait(8 * slow())


@WAY
def test_serve_goes_on_without_a_taken_port(folder, netdyno, host, base, udp):
    """A port in use is named, and the others are served: more than once."""
    with host.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as taken:
        taken.bind(("0.0.0.0", base + 1))
        if not udp:
            taken.listen()
        proc = host.spawn([netdyno, "serve", "-p", base + 500, "--also", f"ntttcp:{base}+2"])
        proc.wait_line("not served", 5 * slow())
        poll("ports", lambda: host.listening(base) and host.listening(base - 1), 5 * slow())
        for turn in (1, 2):
            peer = ntttcp.start(folder, host, ["ntttcp", "-s127.0.0.1", "-P", 1, "-n", 1, "-t", 1,
                                               "-p", base, *["-u"] * udp])
            ntttcp.ended(peer, within=5)
            poll(f"test {turn}", lambda n=turn: f"ntttcp test {n}: " in proc.stderr, 6 * slow())
        proc.send_signal(signal.SIGINT)
        proc.wait(8 * slow())


def test_receiver_without_sync_has_no_sync_port(host, base, ours):
    ours("-r", "-N")
    for port in (base - 1, base + 1000, base + 1001):
        assert not host.listening(port)


def test_receiver_ends_when_all_senders_have(host, base, ours):
    """The original waits for ever here."""
    proc = ours("-r", "-N", "-t", 20)
    with Sender(host, base, ports=2) as peer:
        peer.connect()
        peer.flood()
        proc.wait_line("Real-time", 5 * slow())
        assert "Network activity" not in proc.stdout
        peer.wait_bytes(1 << 18)
    ntttcp.ended(proc, code=None, within=4)
    assert "Totals" in proc.stdout


@WAY
@LANGUAGE
def test_receiver_of_a_windows_sender(host, base, ours, windows, udp):
    proc = ours("-r", "-t", 1, *["-u"] * udp, windows=windows)
    with WindowsSender(host, base, ports=2, udp=udp) as peer:
        peer.connect()
        got, after = peer.tokens()
        assert got == [b"X", b"X"] and after == [b"", b""], "one byte, then the end"
        peer.flood(128 if udp else 65536)
        ntttcp.ended(proc, within=6)
        peer.still()
        assert min(peer.bytes) > 0
        assert "Totals" in proc.stdout


@LANGUAGE
def test_receiver_of_a_windows_sender_without_sync(host, base, ours, windows):
    proc = ours("-r", "-t", 1, windows=windows)
    with Sender(host, base, ports=2) as peer:
        peer.connect()
        peer.flood()
        ntttcp.ended(proc, within=6)
        assert "Totals" in proc.stdout


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
@pytest.mark.parametrize("fill, code", [(b"A", 0), (b"B", 1)], ids=["A", "B"])
def test_receiver_verifies(host, base, ours, fill, code, udp):
    """-d: what is no letter A is told, and is no success."""
    proc = ours("-r", "-t", 1, "-d", "-ns", "-l", 1000, *(["-u"] if udp else []), windows=True)
    with Sender(host, base, ports=2, udp=udp) as peer:
        peer.connect()
        peer.flood(1000, fill)
        ntttcp.ended(proc, code, within=6)
        assert "Totals" in proc.stdout
        assert ("data is corrupted" in proc.stdout) == (code != 0)
        assert ("differ from what was sent" in proc.stderr) == (code != 0)


def test_receiver_of_fewer_windows_threads_than_ports(host, base, ours):
    proc = ours("-r", "-t", 1, ports=4)
    with WindowsSender(host, base, ports=2) as peer:
        peer.connect()
        assert peer.tokens() == ([b"X", b"X"], [b"", b""])
        peer.flood()
        ntttcp.ended(proc, within=6)
        check_report(proc, 1, 1)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "-ns"])
def test_receiver_tells_ports(host, base, ours, sync):
    proc = ours("-r", "-t", 1, "-sp", *[] if sync else ["-ns"], windows=True, ready=base)
    with WindowsSender(host, base, ports=2) as peer:
        told = [peer.ask_port() for _ in range(2)]
        assert told == [(base + 1 + i).to_bytes(4, "little") for i in range(2)]
        peer.connect(first=1)
        if sync:
            assert peer.tokens(first=1) == ([b"X", b"X"], [b"", b""])
        peer.flood()
        ntttcp.ended(proc, within=6)
        assert "Totals" in proc.stdout


def test_receiver_serves_one_after_the_other(host, base, ours):
    """-H: three kinds of senders, none announced."""
    proc = ours("-r", "-H", "-t", 1)

    def over(n):
        proc_has(n, "Totals:")

    def of_linux(n):
        with LinuxSender(host, base, ports=2) as peer:
            begin(peer, 1)
            proc_has(n, "Test cycle finished")
            peer.still()
            peer.hang_up()
            over(n)

    def proc_has(n, text):
        poll(f"{text} {n}", lambda: proc.stdout.count(text) >= n, 6 * slow())

    of_linux(1)
    with WindowsSender(host, base, ports=2) as peer:
        peer.connect()
        assert peer.tokens()[0] == [b"X", b"X"]
        peer.flood()
        over(2)
    with Sender(host, base, ports=2) as peer:
        peer.connect()
        peer.flood()
        over(3)
    of_linux(4)
    proc.send_signal(signal.SIGINT)
    ntttcp.ended(proc, code=None, within=3)


# --- sender: words

@pytest.mark.parametrize("udp, state", [(False, FREE), (True, FREE), (False, FINISHED)],
                         ids=["tcp", "udp", "used before"])
def test_sender_plain_run(host, base, ours, udp, state):
    with LinuxReceiver(host, base, ports=2, udp=udp) as peer:
        proc = ours("-s", "-n", 2, "-l", 1 if udp else 2, "-t", 1, *["-u", "-b", "1k"] * udp)
        serve(peer, 1, state=state, conns=4)
        assert peer.hear() == FIN, "no E: its time was the whole cycle"
        ntttcp.ended(proc, within=4)
        assert peer.sync == words("X", state, 1, 1, "R", "R", "s FIN")
        check_report(proc, 1, 1)
        if udp:
            assert peer.sizes == {1024} and peer.fill == {ord("B")}
        else:
            assert peer.wait_ended() == {FIN} and peer.fill == {ord("A")}
            assert figure(proc, "total bytes") <= sum(peer.bytes)
            assert "8 connections created in" in proc.stdout
            assert "8 connections tested" in proc.stdout


def test_sender_with_warmup_and_cooldown_says_stop(host, base, ours):
    with LinuxReceiver(host, base, ports=2) as peer:
        proc = ours("-s", "-n", 1, "-W", 1, "-t", 1, "-C", 1)
        serve(peer, 3)
        begun = time.monotonic()
        assert peer.hear() == E
        assert 2.9 < time.monotonic() - begun < 3 + 1.0 * slow(), "data flows the whole cycle"
        peer.say(FINISHED)
        assert peer.hear() == FIN
        ntttcp.ended(proc, within=3)
        assert peer.sync == words("X", 11, 3, 3, "R", "R", "E", 13, "s FIN")
        check_report(proc, 1, 1)


def test_sender_of_a_longer_cycle(host, base, ours):
    """It sends as long as the receiver wants, and measures as long as it was told."""
    with LinuxReceiver(host, base, ports=1) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, ports=1)
        serve(peer, 1, agreed=2)
        begun = time.monotonic()
        assert peer.hear() == E
        assert time.monotonic() - begun > 1.9
        peer.say(FINISHED)
        assert peer.hear() == FIN
        ntttcp.ended(proc, within=3)
        check_report(proc, 1, 1)
        assert "Test cycle time negotiated is: 2 seconds" in proc.stdout


@pytest.mark.parametrize("state", [FREE, UNKNOWN], ids=["old receiver", "ours"])
@pytest.mark.parametrize("cycle", [E, L, R, X])
def test_sender_avoids_a_time_that_looks_like_a_command(host, base, ours, cycle, state):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", cycle, ports=1)
        proposed = cycle + (state == FREE)
        agree(peer, proposed, state=state)
        peer.take(1)
        assert peer.hear() == R
        peer.say(E)
        assert peer.hear() == FIN
        ntttcp.ended(proc, code=24, within=3)
        assert peer.sync == words("X", state, proposed, proposed, "R", "E", "s FIN")


def test_sender_of_several_waits_for_the_last(host, base, ours):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, ports=1)
        agree(peer, 1)
        peer.take(1)
        assert peer.hear() == R
        peer.say(W)
        assert peer.is_silent(0.5)
        assert "Network activity" not in proc.stdout
        peer.drain()
        peer.say(R)
        assert peer.hear() == FIN
        ntttcp.ended(proc, within=4)
        assert peer.sync == words("X", 11, 1, 1, "R", "W", "r 00000052") + ["s FIN"]
        check_report(proc, 1, 1)


def test_sender_is_the_last_one(host, base, ours):
    """It gets R twice; the second time is no news, whenever it is read."""
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-L", "-n", 1, "-W", 1, "-t", 1, ports=1)
        agree(peer, 2)
        peer.take(1)
        assert peer.hear() == L
        peer.drain()
        peer.say(R, R)
        assert peer.hear() == E
        peer.say(FINISHED)
        assert peer.hear() in (FIN, RST)
        ntttcp.ended(proc, within=3)
        check_report(proc, 1, 1)


# --- sender: what goes wrong

REFUSALS = {
    "busy": lambda peer: (peer.hear(), peer.say(BUSY)),
    "closed at once": lambda peer: peer.hang_up(),
    "closed instead of a state": lambda peer: (peer.hear(), peer.hang_up()),
    "closed instead of a time": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.hang_up()),
    "negative time": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.say(-1)),
    "rejected": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.say(1), peer.take(1),
                              peer.hear(), peer.say(E)),
    "not ready": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.say(1), peer.take(1),
                               peer.hear(), peer.say(1)),
    "closed instead of R": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.say(1),
                                         peer.take(1), peer.hear(), peer.hang_up()),
    "closed while waiting": lambda peer: (peer.hear(), peer.say(FREE), peer.hear(), peer.say(1),
                                          peer.take(1), peer.hear(), peer.say(W), peer.hang_up()),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_sender_is_refused(host, base, ours, why):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, ports=1)
        peer.answer()
        REFUSALS[why](peer)
        if not why.startswith("closed"):
            assert peer.hear() in (FIN, RST)
        ntttcp.ended(proc, code=24, within=3)
    assert re.search(r"^[0-9:]{8} ERR : .{10,}$", proc.stdout, re.M), proc.stdout
    if why == "busy":
        assert peer.sync == words("X", 12, "s FIN")
        assert "busy" in proc.stdout
    assert "Totals" not in proc.stdout


@pytest.mark.plain
def test_sender_gets_no_answer(host, base, ours):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, ports=1)
        peer.answer()
        ntttcp.ended(proc, code=24, within=8)
    assert "ERR : " in proc.stdout


@pytest.mark.parametrize("given", [(), ("-N",), ("-u",)], ids=["sync", "-N", "udp"])
def test_sender_without_receiver(ours, given):
    proc = ours("-s", "-t", 1, *given)
    ntttcp.ended(proc, code=24, within=3)
    assert "refused" in proc.stdout


def test_sender_of_more_ports_than_there_are(host, base, ours):
    """The original waits 20 minutes."""
    with LinuxReceiver(host, base, ports=1) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, ports=2)
        agree(peer, 1)
        ntttcp.ended(proc, code=24, within=4)
    assert f":{base + 1}" in proc.stdout and "refused" in proc.stdout


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_sender_is_interrupted(host, base, ours, sig):
    with LinuxReceiver(host, base, ports=2) as peer:
        proc = ours("-s", "-n", 1, "-t", 5)
        serve(peer, 5)
        peer.wait_bytes(1 << 18)
        proc.send_signal(sig)
        see_stop(peer)
        ntttcp.ended(proc, code=SHORTENED, within=3)
        assert peer.sync == words("X", 11, 5, 5, "R", "R", "E", 13, "s FIN")
        check_report(proc, 0, 5)


def test_sender_is_interrupted_before_the_start(host, base, ours):
    with LinuxReceiver(host, base, ports=1) as peer:
        proc = ours("-s", "-n", 1, "-t", 5, ports=1)
        agree(peer, 5)
        peer.take(1)
        assert peer.hear() == R
        proc.send_signal(signal.SIGINT)
        ntttcp.ended(proc, code=1, within=3)
        assert peer.hear() in (FIN, RST)


def test_sender_without_limit_says_stop(host, base, ours):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 0, ports=1)
        serve(peer, 0)
        peer.wait_bytes(1 << 18)
        proc.send_signal(signal.SIGINT)
        see_stop(peer)
        ntttcp.ended(proc, within=3)


def test_sender_loses_its_receiver(host, base, ours):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 20, ports=1)
        serve(peer, 20)
        peer.wait_bytes(1 << 18)
        peer.close()
        ntttcp.ended(proc, code=None, within=4)


def test_sender_whose_stop_is_not_answered(host, base, ours):
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-W", 1, "-t", 1, ports=1)
        serve(peer, 2)
        assert peer.hear() == E
        peer.hang_up()
        ntttcp.ended(proc, within=5)
        check_report(proc, 1, 1)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "-ns"])
def test_windows_sender_waits_for_a_late_receiver(host, base, ours, sync):
    """Its data connections are refused at first."""
    proc = ours("-s", "-t", 1, *[] if sync else ["-ns"], windows=True)
    proc.wait_line("Copyright", 5 * slow())
    time.sleep(0.7)  # a time in which they are
    with WindowsReceiver(host, base, ports=2) as peer:
        peer.take()
        if sync:
            assert peer.tokens() == [b"X", b"X"]
        peer.drain()
        ntttcp.ended(proc, within=6)


def test_windows_sender_tries_one_refused_port_again(host, base, ours):
    """The other connections stay: a receiver takes one on each port, and no second."""
    with WindowsReceiver(host, base) as first:
        proc = ours("-s", "-t", 1, "-ns", windows=True)
        first.take()
        assert first.is_quiet(0.7 * slow())
        with WindowsReceiver(host, base + 1) as second:
            second.take()
            for peer in (first, second):
                peer.drain()
            ntttcp.ended(proc, within=6)
        assert len(first.bytes) == len(second.bytes) == 1 and first.bytes[0] > 0
    assert re.search(r"^ +1 +\d\.\d+ +[1-9]", proc.stdout, re.M), proc.stdout


@pytest.mark.plain
def test_windows_sender_names_the_port_that_stays_refused(host, base, ours):
    with WindowsReceiver(host, base) as peer:
        proc = ours("-s", "-t", 1, "-ns", windows=True)
        peer.take()
        ntttcp.ended(proc, code=None, within=14)
    assert proc.returncode != 0
    assert f"127.0.0.1:{base + 1}: Connection refused" in proc.stderr


@pytest.mark.plain
def test_windows_sender_without_receiver(ours):
    """The tries take ten seconds, then it says so."""
    proc = ours("-s", "-t", 1, windows=True)
    begun = time.monotonic()
    ntttcp.ended(proc, code=None, within=14)
    assert time.monotonic() - begun > 9 and proc.returncode != 0
    assert "refused" in proc.stderr


@pytest.mark.parametrize("given, hold", [((), True), (("-N",), True), (("-C", 1), False)],
                         ids=["sync", "-N", "says E"])
def test_sender_keeps_its_connections(host, base, ours, given, hold):
    """A receiver whose clock runs a little longer would wait for ever for more."""
    with LinuxReceiver(host, base) as peer:
        proc = ours("-s", "-n", 1, "-t", 1, *given, ports=1)
        if "-N" in given:
            peer.take(1)
            peer.drain()
        else:
            serve(peer, 2 if "-C" in given else 1)
        proc.wait_line("Test cycle finished", 5 * slow())
        if not hold:
            assert peer.hear() == E
            assert not peer.ended
            peer.say(FINISHED)
            return
        held = time.monotonic()
        peer.wait_ended()
        assert time.monotonic() - held > 0.3
        ntttcp.ended(proc, within=3)


# --- sender: connections

def test_sender_has_fixed_source_ports(host, base, ours):
    first = base // 2 + 2000
    with LinuxReceiver(host, base, ports=2) as peer:
        proc = ours("-s", "-n", 2, "-l", 2, "-f", first, "-t", 1)
        agree(peer, 1)
        peer.take(4)
        seen = [sorted(sock.getpeername()[1] for sock in peer.data[i:i + 4]) for i in (0, 4)]
        assert seen == [list(range(first, first + 4)), list(range(first + 4, first + 8))]
        assert peer.hear() == R
        peer.drain()
        peer.say(R)
        assert peer.hear() == FIN
        ntttcp.ended(proc, within=4)


@WAY
def test_sender_without_sync(host, base, ours, udp):
    with Receiver(host, base, ports=2, udp=udp) as peer:
        proc = ours("-s", "-N", "-n", 1, "-t", 1, *["-u", "-b", "500"] * udp)
        peer.take(1)
        peer.drain()
        ntttcp.ended(proc, within=4)
        if udp:
            assert peer.sizes == {500} and peer.fill == {ord("B")}
        else:
            assert peer.wait_ended() == {FIN} and peer.fill == {ord("A")}
            assert figure(proc, "total bytes") <= sum(peer.bytes)
        check_report(proc, 1, 1)


@pytest.mark.parametrize("role, words", [("-s", ["-u", "-b", "500"]), ("-s", []), ("-r", []), ("-r", ["-u"])],
                         ids=lambda v: " ".join(v) or "tcp")
def test_who_is_held_up_keeps_its_time(host, base, ours, role, words):
    """Over the end of its second; a stopped process stands for one that other programs keep from the CPU."""
    peer = (Sender if role == "-r" else Receiver)(host, base, ports=2, udp="-u" in words)
    with peer:
        proc = ours(role, "-N", "-t", 1, *words, *["-n", 1] * (role == "-s"))
        if role == "-r":
            peer.connect()
            peer.flood(500)
        else:
            peer.take(1)
            peer.drain()
        proc.wait_line("Real-time", 5 * slow())
        proc.send_signal(signal.SIGSTOP)
        time.sleep(0.9)
        proc.send_signal(signal.SIGCONT)
        proc.wait_line("Test cycle finished", 5 * slow())
        peer.close()
        ntttcp.ended(proc, within=4)
        check_report(proc, 1, 1)


def workers_of(proc):
    """The CPUs that each thread with an affinity of its own may use."""
    lists = [re.search(r"Cpus_allowed_list:\s*(\S+)", Path(task, "status").read_text())[1]
             for task in Path(f"/proc/{proc.pid}/task").iterdir()]
    whole = re.search(r"Cpus_allowed_list:\s*(\S+)", Path("/proc/self/status").read_text())[1]
    return sorted(cpus for cpus in lists if cpus != whole)


def test_receiver_short_of_descriptors(host, base, folder):
    """Those that it cannot take are connected all the same, as far as their sender sees."""
    line = ["ntttcp", "-r127.0.0.1", "-P", 2, "-p", base, "-t", 1]
    proc = host.spawn(["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", folder / line[0], *line[1:]])
    proc.wait_line("threads created", 10 * slow())
    with LinuxSender(host, base, ports=2) as peer:
        assert peer.ask(X) == UNKNOWN and peer.ask(1) == 1
        peer.connect(64)
        assert peer.ask(R) == R
        peer.flood()
        see_off(proc, peer)
        ntttcp.ended(proc, within=4)
    assert proc.stderr.count("no descriptors are left") == 1, proc.stderr
    assert figure(proc, "total bytes") > 0


@WAY
def test_threads_stay_where_they_are_mapped(host, base, folder, udp):
    """At both ends; each mapping's figures are those of its ports."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("one CPU: every thread is on it")
    line = ["-m", *(f"1,{cpu},127.0.0.1" for cpu in cpus), "-t", 2, "-p", base, "--dialect=windows"]
    first = ntttcp.start(folder, host, ["ntttcp", "-r", *line, *["-u"] * udp], ready=base + 1)
    second = ntttcp.start(folder, host, ["ntttcp", "-s", *line, *["-u"] * udp])
    for end in (first, second):
        poll("pinned threads", lambda end=end: workers_of(end) == [str(cpu) for cpu in cpus], 10 * slow())
    for end in (first, second):
        ntttcp.ended(end, within=8)
        rows = re.findall(r"^ +([0-9]+) +[0-9.]+ +([0-9.]+) +[0-9.]+$", end.stdout, re.M)
        assert [row[0] for row in rows] == ["0", "1"] and all(float(row[1]) > 0 for row in rows)


@pytest.mark.parametrize("more", [[], ["-u"], ["-u", "-uc"], ["-ns"], ["-u", "-ns"]], ids=" ".join)
def test_round_trips(host, base, folder, more):
    """Each buffer is answered, so both ends count the same; one that is lost stops its thread for a moment."""
    line = ["-m", "2,*,127.0.0.1", "-t", 1, "-p", base, "-rt", "-l", 100, "--dialect=windows", *more]
    first, second = ntttcp.both(folder, (host, ["ntttcp", "-r", *line]), (host, ["ntttcp", "-s", *line]),
                                ready=base + 1, within=6)
    times = re.search(r"^Latency\(ns\)\n.*\n=.*\n *([0-9]+) +([0-9]+) +([0-9]+)$", second.stdout, re.M)
    mean, least, most = (int(t) for t in times.groups())
    assert 0 < least <= mean <= most
    sizes = [float(re.search(r"Throughput\(MB/s\)\n=.*\n *([0-9.]+)", end.stdout)[1]) for end in (first, second)]
    assert min(sizes) * 2**20 > 2 * 200 * 10, "more than a few for each thread"
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)


@pytest.mark.parametrize("role", ["-r", "-s"])
@LANGUAGE
def test_a_cpu_that_is_not_here(base, ours, role, windows):
    proc = ours(role, "-m", "1,4095,127.0.0.1", windows=windows, ready=base)
    ntttcp.ended(proc, code=9 if windows else 255, within=3)
    assert "-m: CPU 4095 is not one that this program may use here" in proc.stderr


@WAY
@LANGUAGE
def test_sender_of_a_windows_receiver(host, base, ours, windows, udp):
    """With Linux words it finds out by itself."""
    size = ["-l" if windows else "-b", "128"] if udp else []
    more = [] if windows else ["-n", 1]
    with WindowsReceiver(host, base, ports=2, udp=udp) as peer:
        proc = ours("-s", "-t", 1, *more, *["-u"] * udp, *size, windows=windows)
        peer.take()
        assert peer.tokens() == [b"X", b"X"]
        peer.drain()
        ntttcp.ended(proc, within=6)
        assert peer.is_quiet(), "one connection for each port"
        assert peer.fill == {ord("A" if windows or not udp else "B")}
        if udp:
            assert peer.sizes == {128}


def test_sender_leaves_the_end_to_a_windows_receiver(host, base, ours):
    """It takes an end of the connection for an error: here it has a second more to go."""
    with WindowsReceiver(host, base, ports=2) as peer:
        proc = ours("-s", "-t", 1, windows=True)
        peer.take()
        assert peer.tokens() == [b"X", b"X"]
        begun = time.monotonic()
        peer.drain()
        peer.wait_ended()
        assert time.monotonic() - begun > 1.3
        ntttcp.ended(proc, within=6)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "-ns"])
def test_sender_asks_for_ports(host, base, ours, sync):
    with WindowsReceiver(host, base, ports=2, first=1) as peer:
        proc = ours("-s", "-t", 1, "-sp", *[] if sync else ["-ns"], windows=True)
        peer.tell_ports()
        peer.take()
        if sync:
            assert peer.tokens(first=1) == [b"X", b"X"]
        peer.drain()
        ntttcp.ended(proc, within=6)
        assert peer.fill == {ord("A")}


@pytest.mark.plain
def test_sender_without_tokens_gives_up(host, base, ours):
    """A Windows receiver without sync, a sender with: said within the time of its tries."""
    with Receiver(host, base, ports=2) as peer:
        proc = ours("-s", "-t", 1, windows=True)
        peer.take()
        ntttcp.ended(proc, code=None, within=14)
        assert proc.returncode != 0 and "-ns" in proc.stdout + proc.stderr


@pytest.mark.parametrize("count", [1, 3])
def test_windows_sender_counts_buffers(host, base, ours, count):
    with Receiver(host, base, ports=2) as peer:
        proc = ours("-s", "-ns", "-n", count, "-l", 1000, windows=True)
        peer.take()
        peer.drain()
        ntttcp.ended(proc, within=5)
        assert peer.wait_ended() == {FIN}
        assert peer.bytes == [1000 * count] * 2


def test_sender_of_two_receivers(host, base, folder):
    first = LinuxReceiver(host, base)
    second = LinuxReceiver(host, base, address="127.0.0.2")
    with first, second:
        proc = ntttcp.start(folder, host, ["ntttcp", "-s", "-m", "1,*,127.0.0.1", "1,*,127.0.0.2",
                                           "-p", base, "-W", 1, "-t", 1])
        for peer in (first, second):
            peer.answer()
            assert peer.hear() == X
        for peer in (first, second):
            peer.say(FREE)
        for peer in (first, second):
            assert peer.hear() == 2
            peer.say(2)
        for peer in (first, second):
            peer.take()
        for peer in (first, second):
            assert peer.hear() == R
            peer.drain()
            peer.say(R)
        for peer in (first, second):
            assert peer.hear() == E
        for peer in (first, second):
            peer.say(FINISHED)
        for peer in (first, second):
            assert peer.hear() == FIN
            assert peer.sync == words("X", 11, 2, 2, "R", "R", "E", 13, "s FIN")
        ntttcp.ended(proc, within=3)
        check_report(proc, 1, 1)
        assert "2 connections tested" in proc.stdout


def test_sender_binds_to_its_address_and_interface(net, folder, host, base):
    """-a, as root."""
    ntttcp.start(folder, host, ["ntttcp", f"-r{host.ip4}", "-P", 1, "-t", 2, "-p", base],
                 ready="threads created")
    proc = ntttcp.start(folder, net.a, ["ntttcp", f"-s{host.ip4}", "-P", 1, "-n", 1, "-t", 2,
                                        "-p", base, "-a", net.a.ip4], ready="Network activity")
    seen = net.a.run(["ss", "-Htn", "dst", f"{host.ip4}:{base}"]).stdout
    assert f"{net.a.ip4}%{net.a.dev}:" in seen, seen
    ntttcp.ended(proc, within=5)


# --- both ours

def test_our_ends_trade_results(host, base, folder):
    """On the same connection, where old ends would only have said E."""
    line = ["-p", base, "-P", 2, "-t", 1]
    first, second = ntttcp.both(folder, (host, ["ntttcp", "-r127.0.0.1", *line]),
                                (host, ["ntttcp", "-s127.0.0.1", "-n", 2, *line]), within=6)
    check_report(first, 1, 1)
    check_report(second, 1, 1)
