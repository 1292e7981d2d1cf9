# SPDX-License-Identifier: MIT
"""Ways to send and to receive streams: both ends agree to the byte, and say how it was done."""
import pytest

from kit.report import check_report, side_of, warnings

TX = ["copy", "zerocopy", "sendfile", "splice"]
RX = ["copy", "trunc", "splice", "mmap"]
PAIRS = [(tx, rx) for tx in TX for rx in RX]
WAYS = pytest.mark.parametrize("tx,rx", PAIRS, ids=["-".join(p) for p in PAIRS])
QUICK = ("-t", "1s", "--warmup", "0.1s", "-i", "0.25s")


@pytest.fixture
def alone_json(lab, serve, stream_json):
    net = lab()
    server = serve(net.a)
    return lambda *args: stream_json(net.a, "127.0.0.1", "-p", server.port, *args)


def run(pair, stream_json, *args):
    report = stream_json(pair.a, pair.server, *args)
    check_report(report)
    return report


def sent_by(report, d):
    return side_of(report, d, "sender")["run"]


@WAYS
@pytest.mark.parametrize("flows,length", [(1, "1Mi"), (5, "99999")])
def test_bytes_are_exact(pair, stream_json, tx, rx, flows, length):
    report = run(pair, stream_json, "-n", 30000001, "-P", flows, "-l", length, "--tx", tx,
                 "--rx", rx)
    d, = report["directions"]
    assert d["total_sent_bytes"] == d["total_received_bytes"] == 30000001
    assert report["plan"]["tx"] == tx and report["plan"]["rx"] == rx
    told = sent_by(report, d)
    assert (told["tx_zerocopy"] > 0) == (tx == "zerocopy")
    assert told["tx_copied"] <= told["tx_zerocopy"] <= told["tx_calls"]


@WAYS
def test_both_directions_by_time(pair, stream_json, tx, rx):
    report = run(pair, stream_json, *QUICK, "-P", 3, "--bidir", "--tx", tx, "--rx", rx)
    for d in report["directions"]:
        assert d["received_bytes"] > 0 and d["failed_flows"] == 0
        assert d["total_sent_bytes"] == d["total_received_bytes"]


@pytest.mark.parametrize("tx", TX)
def test_small_buffers_and_odd_pieces(pair, stream_json, tx):
    report = run(pair, stream_json, "-n", 3000007, "-P", 3, "-l", 7001, "--sndbuf", 5000,
                 "--rcvbuf", 5000, "-R", "--tx", tx, "--rx", "trunc")
    assert report["directions"][0]["total_received_bytes"] == 3000007


@pytest.mark.parametrize("tx", TX)
def test_a_rate_is_not_passed(pair, stream_json, tx):
    report = run(pair, stream_json, *QUICK, "-b", "80M", "-P", 4, "--tx", tx, "--rx", "trunc")
    d, = report["directions"]
    assert 0 < d["goodput_bps"] < 85e6


def test_max_names_its_pair(pair, stream_json):
    report = run(pair, stream_json, *QUICK, "--max", "-P", 4)
    assert report["plan"]["tx"] == "splice" and report["plan"]["rx"] == "trunc"
    assert report["directions"][0]["message_bytes"] == 1 << 20
    assert "no_copy" in warnings(report)


def test_copies_after_all_are_said(alone_json):
    report = alone_json("-n", "50M", "-P", 2, "--tx", "zerocopy")
    check_report(report)
    assert "copied" in warnings(report)  # the loopback interface always copies


@pytest.mark.parametrize("depth", [1, 8])
def test_posted_without_a_copy(pair, stream_json, netdyno, depth):
    if "uring" not in pair.a.run([netdyno, "stream", "--help"]).stdout:
        pytest.skip("built without liburing")
    report = run(pair, stream_json, "-n", 30000001, "-P", 3, "--engine", "uring", "--tx",
                 "zerocopy", "--depth", depth)
    d, = report["directions"]
    assert d["total_received_bytes"] == 30000001
    told = sent_by(report, d)
    assert told["tx_copied"] <= told["tx_zerocopy"] and told["tx_zerocopy"] > 0


def test_max_beside_a_choice(pair, stream_json):
    report = run(pair, stream_json, "-n", "10M", "--max", "--tx", "sendfile")
    assert report["plan"]["tx"] == "sendfile" and report["plan"]["rx"] == "trunc"


@pytest.mark.parametrize("lowat", ["auto", "off", "1", "64Ki", "1Mi"])
@pytest.mark.parametrize("rx", RX)
def test_wake_up_marks_hold_nothing_back(pair, stream_json, lowat, rx):
    report = run(pair, stream_json, "-n", 5000003, "-P", 7, "--rx", rx, "--lowat", lowat)
    assert report["directions"][0]["total_received_bytes"] == 5000003


REFUSED = [
    (("--max", "-u"), "--max is for TCP"),
    (("--max", "--verify"), "--max and --verify"),
    (("--max", "--shape", "rr"), "--max has no meaning"),
    (("--max", "--engine", "uring"), "--engine uring and --max exclude each other"),
    (("--lowat", "64Ki", "-u"), "--lowat is for TCP"),
    (("--lowat", "64Ki", "-b", "1M"), "--lowat excludes -b"),
    (("--lowat", "64Ki", "--shape", "rr"), "--lowat has no meaning"),
    (("--lowat", "lots"), "--lowat"),
    (("--tx", "trunc"), "--tx"),
    (("--tx", "zerocopy", "--verify"), "--tx zerocopy and --verify"),
    (("--rx", "trunc", "--verify"), "--rx trunc and --verify"),
    (("--rx", "mmap", "-u"), "cannot move datagrams"),
]


@pytest.mark.parametrize("args,words", REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_what_cannot_be_is_refused_in_one_sentence(pair, netdyno, args, words):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "1M", *args])
    assert done.returncode in (1, 2, 3)
    assert words in done.stderr
