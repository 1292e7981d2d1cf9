# SPDX-License-Identifier: MIT
"""Groups: clients that begin together at one server, one sum over all of them."""
import json
import re
import signal

import pytest

from kit.report import check_report, near

SHORT = ("-t", "1s", "--warmup", "0.2s", "-i", "0.2s")
LINES = ("-o", "json", "--json-lines")


@pytest.fixture
def member(netdyno, slow):
    """member(host, server, *args, verb=, group=, expect=): starts one client of a group."""

    def start(host, server, *args, verb="stream", group="lab", expect=3):
        proc = host.spawn([netdyno, verb, server.host.ip4, "-p", server.port, "--group", group,
                           "--expect", expect, *args, *LINES])
        proc.report = lambda: json.loads(proc.stdout.splitlines()[-1])
        proc.ends = lambda code: ends(proc, code)
        return proc

    def ends(proc, code):
        assert proc.wait(60 * slow) == code, proc.describe()

    return start


def rows(report, direction):
    return [m for m in report["group"]["members"] if m["direction"] == direction]


def check_group(reports, clients):
    """All tell of the same group: its rows are the clients' own figures, its sum theirs."""
    group = reports[0]["group"]
    assert group["expected"] == group["complete"] == clients and not group["partial"]
    for report in reports:
        assert report["group"] == group
        assert not report["partial"]
    for which, t in enumerate(group["totals"]):
        of = rows(reports[0], t["direction"])
        own = [r["directions"][which] for r in reports]
        assert [m["number"] for m in of] == list(range(1, clients + 1))
        assert {d["label"] for d in own} == {t["direction"]}
        key = "transactions_per_s" if own[0]["transactional"] else "goodput_bps"
        for d in own:
            assert any(m[key] == pytest.approx(d[key]) and m["flows"] == d["flows"] for m in of)
        assert t[key] == pytest.approx(sum(m[key] for m in of))
        assert t["flows"] == sum(m["flows"] for m in of)
        assert sum(m["share_ratio"] for m in of) == pytest.approx(1)
        first, last = [m["first_ms"] for m in of], [m["last_ms"] for m in of]
        assert t["start_skew_ms"] == pytest.approx(max(last) - min(first)) and min(first) > -1
        begin, end = max(m["window_start_s"] for m in of), min(m["window_end_s"] for m in of)
        assert t["window_start_s"] == pytest.approx(begin)
        assert t["window_s"] == pytest.approx(max(end - begin, 0))
        assert 0 <= t["overlap_ratio"] <= 1
    return group


# --- as it should go

def test_three_hosts(lab, serve, member, slow):
    net = lab(hosts=3)
    server = serve(net.b)
    clients = [member(host, server, *SHORT, "-u", "-l", 1000, "-P", n, "-b", f"{10 * n}M")
               for n, host in enumerate((net.a, net.r, net.b), 1)]
    for client in clients:
        client.ends(0)
    reports = [c.report() for c in clients]
    group = check_group(reports, 3)
    total, = group["totals"]
    assert total["flows"] == 6 and total["lost"] == sum(m["lost"] for m in group["members"])
    if slow == 1:
        assert near(total["goodput_bps"], 60e6, 0.2)
    for report in reports:
        check_report(report)
        assert report["server"]["overlapped_tests"] == 0
    assert re.search(r"^netdyno: group 'lab': 3 clients client to server, 6 flows", server.stderr,
                     re.M)
    assert len(re.findall(r"^netdyno: test . from .*, group 'lab': UDP", server.stderr, re.M)) == 3


@pytest.mark.parametrize("args", [
    ("stream", "-n", "2M", "--warmup", 0), ("stream", *SHORT, "-R", "-b", "20M", "-P", 2),
    ("stream", *SHORT, "--bidir", "-b", "20M"), ("stream", *SHORT, "--shape", "rr"),
    ("packets", *SHORT, "--rate", "2k", "-P", 2), ("packets", *SHORT, "--rate", "2k", "-R")],
    ids=["bytes", "reverse", "bidir", "rr", "packets", "packets-reverse"])
def test_ways(pair, member, args):
    clients = [member(pair.a, pair.server, *args[1:], verb=args[0], expect=2) for _ in range(2)]
    for client in clients:
        client.ends(0)
    check_group([c.report() for c in clients], 2)


def test_two_groups_and_one_alone(pair, member, stream_json):
    clients = [member(pair.a, pair.server, *SHORT, "-b", "10M", group=f"no {n % 2}", expect=2)
               for n in range(4)]
    assert stream_json(pair.a, pair.server, "-n", "100k")["group"] is None
    for client in clients:
        client.ends(0)
    for n in range(2):
        check_group([c.report() for c in clients[n::2]], 2)


def test_reports(pair, netdyno, member, slow):
    """What people read, and what spreadsheets do."""
    argv = [netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "--group", "lab", "--expect", 3,
            *SHORT, "-b", "5M", "-q"]
    procs = [pair.a.spawn([*argv, "-o", name]) for name in ("text", "csv", "xml")]
    for proc in procs:
        assert proc.wait(60 * slow) == 0, proc.describe()
    text, csv, xml = (p.stdout for p in procs)
    assert "\nGroup 'lab': 3 of 3 clients ran together\n  Together " in text
    lines = csv.splitlines()
    assert len({line.count(",") for line in lines}) == 1
    assert [line.split(",")[1] for line in lines[-4:]] == [
        *(f"client {n} of the group" for n in (1, 2, 3)), "group"]
    assert "<group>\n    <name>lab</name>" in xml


def test_once_is_one_group(lab, serve, member, netdyno, slow):
    net = lab()
    server = serve(net.b, "--once")
    clients = [member(net.a, server, *SHORT, "-b", "5M", expect=2) for _ in range(2)]
    for client in clients:
        client.ends(0)
    assert server.wait(20 * slow) == 0


# --- as it may go


def refused(client, words, code=3):
    client.ends(code)
    said = client.stderr.splitlines()[-1]
    assert all(word in said for word in words), client.stderr
    assert json.loads(client.stdout.splitlines()[-1])["error"]["sentence"] in said


def test_group_that_lacks_members_is_refused(pair, member):
    clients = [member(pair.a, pair.server, *SHORT, "--group-wait", "1s") for _ in range(2)]
    for client in clients:
        refused(client, ["group 'lab'", "of 3 clients came within 1s"])


def test_leaving_frees_a_place(pair, netdyno, member, slow):
    first = pair.a.spawn([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "--group", "lab",
                          "--expect", 2])
    first.wait_line("waiting for group 'lab' of 2 clients", 10 * slow)
    first.send_signal(signal.SIGINT)
    assert first.wait(10 * slow) != 0
    pair.server.wait_line("test 1 from", 10 * slow, "stderr")
    clients = [member(pair.a, pair.server, *SHORT, "-b", "5M", expect=2) for _ in range(2)]
    for client in clients:
        client.ends(0)
    check_group([c.report() for c in clients], 2)


@pytest.mark.parametrize("args, words", [
    (("-t", "2s", "--expect", 2), ["-t 3s", "2s"]),
    (("-t", "3s", "-R", "--expect", 2), ["other directions"]),
    (("-t", "3s", "--bidir", "--expect", 2), ["other directions"]),
    (("-t", "3s", "--expect", 3), ["--expect 2, not 3"])],
    ids=["time", "reverse", "bidir", "expect"])
def test_all_want_the_same(pair, netdyno, slow, args, words):
    where = [netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "--group", "lab"]
    first = pair.a.spawn([*where, "-t", "3s", "--expect", 2])
    first.wait_line("waiting for group 'lab'", 10 * slow)
    done = pair.a.run([*where, *args])
    assert done.returncode == 3
    said, = done.stderr.splitlines()
    assert "group 'lab': the others have" in said and all(word in said for word in words)
    first.stop()


def test_group_over_the_servers_limit_is_refused(lab, serve, member):
    net = lab()
    refused(member(net.a, serve(net.b, "--max-tests", 2), *SHORT), ["--expect", "'3'", "2 tests"])


def test_killed_member_makes_the_report_partial(pair, member, slow):
    long = ("-t", "4s", "--warmup", 0, "-i", "0.2s", "-b", "5M")
    clients = [member(pair.a, pair.server, *long) for _ in range(3)]
    for client in clients:
        client.wait_line('"interval"', 20 * slow)
    clients[1].kill()
    for client in clients[::2]:
        client.ends(1)
        report = client.report()
        group, = [report["group"]]
        assert report["partial"] and "2 of 3 clients ran to the end" in report["partial_reason"]
        assert group["complete"] == 2 and group["partial"]
        assert group["totals"][0]["members"] == 2
        dead, = [m for m in group["members"] if not m["complete"]]
        assert dead["error"] and dead["share_ratio"] is None
        assert not report["directions"][0]["failed_flows"]
    assert re.search("^netdyno: group 'lab': 2 clients .*partial: ", pair.server.stderr, re.M)


# --- the command line

@pytest.mark.parametrize("args, words", [
    (("--group", "lab"), "--group needs --expect"), (("--expect", "3"), "--expect needs --group"),
    (("--group", "lab", "--expect", "1"), "--expect: '1' is outside 2"),
    (("--group", "lab", "--expect", "1001"), "--expect: '1001'"),
    (("--group", "x" * 65, "--expect", "2"), "1 to 64 characters"),
    (("--group", "", "--expect", "2"), "--group"),
    (("--group", "a\tb", "--expect", "2"), "printable"),
    (("--group", "ä", "--expect", "2"), "printable")],
    ids=["no-expect", "no-group", "one", "many", "long", "empty", "tab", "latin"])
def test_command_lines(lab, netdyno, args, words):
    done = lab().a.run([netdyno, "stream", "192.0.2.1", *args])
    assert done.returncode == 2
    said, = done.stderr.splitlines()
    assert words in said


def test_searches_are_alone(lab, netdyno):
    done = lab().a.run([netdyno, "packets", "192.0.2.1", "--find-rate", "--group", "lab",
                        "--expect", "2"])
    assert done.returncode == 2 and "--find-rate" in done.stderr
