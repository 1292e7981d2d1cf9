# SPDX-License-Identifier: MIT
"""Packets: every lost datagram stands in the right row, and the search finds a known limit."""
import json
import random
import signal
import time

import pytest

from kit.net import Rule, poll, slow
from kit.report import check_report, near, total

QUICK = ("-t", "1s", "--warmup", "0.1s", "-i", "0.25s")
STAGES = ["offered", "taken by the socket", "queueing discipline", "interface out",
          "between, or not seen", "interface in", "backlog of a CPU", "fragments missing", "no such port", "checksum",
          "receive buffer full", "given by the socket", "read by the program"]


@pytest.fixture
def packets(netdyno, pair):
    """packets(*args): runs `netdyno packets` from a to the server in b, returns the report."""

    def run(*args, code=0, target=None, timeout=60.0):
        argv = [netdyno, "packets", target or pair.b.ip4, "-p", pair.server.port, *args]
        done = pair.a.run([*argv, "-o", "json", "-q"], timeout=timeout * slow())
        said = f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == code, said
        report = json.loads(done.stdout)
        check_report(report)
        check_ledger(report)
        return report

    return run


def ledger(report, which=0):
    return {row["stage"]: row for row in report["directions"][which]["ledger"]}


def check_ledger(report):
    """What was lost at the stages and what was read is what was offered."""
    for which, d in enumerate(report["directions"]):
        rows = ledger(report, which)
        assert list(rows) == STAGES
        lost = {name: row["lost_here"] for name, row in rows.items()}
        assert None not in lost.values(), rows
        assert rows["offered"]["counted"] == sum(lost.values()) + rows["read by the program"][
            "counted"], rows
        assert rows["offered"]["counted"] == d["loss"]["offered"]
        assert sum(lost.values()) == d["loss"]["lost"] + d["loss"]["refused"]


def places(report, which=0):
    """Stages that lost datagrams, and how many."""
    return {name: row["lost_here"] for name, row in ledger(report, which).items()
            if row["lost_here"]}


def one_in_a_hundred(pair, size):
    return pair.b.loss(every=100, min_payload=size, max_payload=size, dport=pair.server.port)


@pytest.mark.parametrize("size", [1, 7, 8, 18, 1472])
def test_what_the_network_drops_is_between(pair, packets, size):
    rule = one_in_a_hundred(pair, size)
    report = packets("-l", size, "-n", 5000 * size, "--rate", 10000)
    dropped, passed = rule.counts()
    assert dropped == 50 and dropped + passed == 5000
    assert places(report) == {"between, or not seen": dropped}
    loss = report["directions"][0]["loss"]
    assert loss["tail"] == (1 if size >= 8 else None)  # the last of them is the 5000th
    counted = 0 if size >= 8 else None
    assert (loss["duplicate"], loss["reordered"]) == (counted, counted)


def test_what_the_receive_buffer_drops_is_there(pair, packets):
    report = packets(*QUICK, "--rcvbuf", "4Ki", "-l", 1000, "-b", "200M", "-P", 4)
    lost = places(report)
    assert lost.pop("receive buffer full") > 0
    # an overloaded CPU may drop some before, and that is another row
    assert set(lost) <= {"backlog of a CPU", "interface in"}


def test_what_a_qdisc_drops_is_there(pair, packets):
    pair.a.rate("10mbit", queue_ms=5)
    report = packets(*QUICK, "-l", 1000, "--rate", 4000, "--sndbuf", "4Mi")
    lost = places(report)
    dropped = lost.pop("queueing discipline")
    assert dropped > 0 and not lost
    assert dropped == report["directions"][0]["loss"]["lost"]
    assert dropped <= pair.a.qdisc()["drops"]


def test_what_a_socket_refuses_is_there(pair, packets):
    rule = pair.a.loss(every=10, where="out", min_payload=100, max_payload=100,
                       dport=pair.server.port)
    report = packets("-l", 100, "-n", 100 * 2000, "--rate", 5000)
    assert places(report) == {"taken by the socket": rule.dropped}


def test_losses_of_two_kinds_are_told_apart(pair, packets):
    pair.a.rate("10mbit", queue_ms=5)
    rule = one_in_a_hundred(pair, 1000)
    report = packets(*QUICK, "-l", 1000, "--rate", 4000, "--sndbuf", "4Mi")
    lost = places(report)
    assert lost.pop("between, or not seen") == rule.dropped
    assert list(lost) == ["queueing discipline"]


@pytest.mark.plain
@pytest.mark.parametrize("family", ["ip", "ip6"])
def test_fragments_that_are_missing_are_there(pair, packets, family):
    """Two fragments a datagram: each that is lost costs one."""
    rule = pair.b.lose_fragments(100, family)
    report = packets("-l", 2000, "--fragment", "-n", 2000 * 2000, "--rate", 5000,
                     target=pair.b.ip4 if family == "ip" else pair.b.ip6)
    assert rule.passed > 1500
    assert places(report) == {"fragments missing": rule.dropped}
    assert report["directions"][0]["loss"]["unassembled"] == rule.dropped > 0


def nft(host, script):
    done = host.run(["nft", "-f", "-"], input=script)
    if done.returncode != 0:
        pytest.skip(f"this kernel or nft cannot: {done.stderr.splitlines()[0]}")


def counted(host, table):
    listed = host.run(["nft", "-j", "list", "counters"], check=True).stdout
    return next(i["counter"]["packets"] for i in json.loads(listed)["nftables"]
                if "counter" in i and i["counter"]["table"] == table)


@pytest.mark.plain
@pytest.mark.parametrize("family", ["ip4", "ip6"])
@pytest.mark.parametrize("stage, change", [("checksum", "@th,160,16 set 0x1234"),
                                           ("no such port", "udp dport set 9")],
                         ids=["checksum", "port"])
def test_what_udp_turns_away_is_there(pair, packets, stage, change, family):
    """One in a hundred is bent on its way, another one in a hundred is dropped behind that."""
    # else the kernel leaves the sum to the interface, and nobody looks at it
    pair.a.run(["ethtool", "-K", pair.a.dev, "tx", "off"], check=True)
    size, key = 100, f"udp dport {pair.server.port} udp length 108"
    nft(pair.a, f"""table netdev bent {{
  counter n {{ }}
  chain c {{
    type filter hook egress device "{pair.a.dev}" priority 0
    {key} numgen inc mod 100 == 7 counter name n {change}
  }}
}}
""")
    rule = one_in_a_hundred(pair, size)
    report = packets("-l", size, "-n", 5000 * size, "--rate", 10000,
                     target=getattr(pair.b, family))
    assert counted(pair.a, "bent") == 50
    assert places(report) == {stage: 50, "between, or not seen": rule.dropped}


def copy_every(pair, every, size):
    """Every so manieth datagram leaves a twice."""
    nft(pair.a, f"""table netdev twice {{
  counter n {{ }}
  chain c {{
    type filter hook egress device "{pair.a.dev}" priority 0
    udp dport {pair.server.port} udp length {size + 8} numgen inc mod {every} == 1 \
      counter name n dup to "{pair.a.dev}"
  }}
}}
""")


@pytest.mark.plain
@pytest.mark.parametrize("family", ["ip4", "ip6"])
@pytest.mark.parametrize("size", [8, 16, 100])
def test_copies_hide_no_loss(pair, packets, size, family):
    rule = one_in_a_hundred(pair, size)
    copy_every(pair, 50, size)
    report = packets("-l", size, "-n", 5000 * size, "--rate", 10000,
                     target=getattr(pair.b, family))
    dropped, passed = rule.counts()
    loss = report["directions"][0]["loss"]
    assert loss["received"] + loss["duplicate"] == passed
    # of a datagram and its copy one may be dropped: then neither is lost nor came twice
    copies = dropped + passed - loss["sent"]
    assert copies > 0 and loss["lost"] == dropped - (copies - loss["duplicate"])
    assert loss["reordered"] == 0


@pytest.mark.plain
def test_copies_without_numbers_are_said(pair, netdyno):
    """More came than were sent: a ledger of datagrams without numbers says that it is blind."""
    copy_every(pair, 50, 7)
    done = pair.a.run([netdyno, "packets", pair.b.ip4, "-p", pair.server.port, "-l", 7, "-n",
                       7 * 5000, "--rate", 10000, "-o", "json", "-q"], timeout=60 * slow())
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    loss = report["directions"][0]["loss"]
    copies = counted(pair.a, "twice")
    assert copies >= 100 and loss["received"] == 5000 + copies and loss["duplicate"] is None
    said = {w["key"]: w["sentence"] for w in report["warnings"]}
    assert f"{copies} more datagrams came than were sent" in said["surplus"]


@pytest.mark.plain
def test_what_overtakes_is_counted(pair, packets):
    """Every fourth datagram takes a second cable, where it waits."""
    pair.join(pair.a, pair.b)
    dev = pair.a.devs[-1]
    mac = pair.b.run(["cat", f"/sys/class/net/{pair.b.devs[-1]}/address"], check=True).stdout
    pair.a.rate("2mbit", dev=dev, queue_ms=2000, burst=1600)
    pair.a.ip(f"route add {pair.b.ip4} dev {dev} table 100")
    pair.a.ip(f"neigh replace {pair.b.ip4} lladdr {mac.strip()} dev {dev}")
    pair.a.ip("rule add fwmark 1 table 100")
    nft(pair.a, f"""table ip slow {{
  counter n {{ }}
  chain c {{
    type route hook output priority 0
    udp dport {pair.server.port} udp length 108 numgen inc mod 4 == 1 \
      counter name n meta mark set 1
  }}
}}
""")
    report = packets("-l", 100, "-n", 100 * 2000, "--rate", 10000)
    loss = report["directions"][0]["loss"]
    assert counted(pair.a, "slow") == 500
    assert loss["lost"] == loss["duplicate"] == 0
    assert 0 < loss["reordered"] <= 500


def test_stream_has_the_same_ledger(pair, stream_json):
    rule = one_in_a_hundred(pair, 1000)
    report = stream_json(pair.a, pair.server, "-u", "-l", 1000, "-n", "2M", "-b", "40M")
    check_ledger(report)
    assert places(report) == {"between, or not seen": rule.dropped}
    assert report["directions"][0]["loss"]["unplaced"] == rule.dropped


@pytest.mark.parametrize("flows", [1, 4])
def test_a_stream_with_a_small_receive_buffer(pair, stream_json, flows):
    report = stream_json(pair.a, pair.server, "-u", *QUICK, "-l", 1000, "-b", "200M", "-P", flows,
                         "--rcvbuf", "4Ki")
    check_ledger(report)
    lost = places(report)
    full = lost.pop("receive buffer full")
    assert full == sum(row["dropped_messages"] for row in report["directions"][0]["flow_rows"]) > 0
    assert set(lost) <= {"backlog of a CPU", "interface in"}


@pytest.mark.parametrize("rate", [("-b", "30M"), ()], ids=["paced", "unlimited"])
def test_a_stream_through_a_shaper(pair, stream_json, rate):
    pair.a.rate("10mbit", queue_ms=5)
    report = stream_json(pair.a, pair.server, "-u", *QUICK, "-l", 1000, *rate)
    check_ledger(report)
    lost = places(report)
    dropped = lost.pop("queueing discipline")
    # the socket may refuse what the shaper's queue holds against its send buffer
    assert set(lost) <= {"taken by the socket"}
    # a segment or two of the control connection may be dropped there, too
    assert pair.a.qdisc()["drops"] - 20 <= dropped <= pair.a.qdisc()["drops"]


@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",)], ids=["forth", "back", "both"])
def test_three_kinds_of_packets_agree_without_offloads(packets, way):
    report = packets(*QUICK, "--rate", 5000, "-P", 4, *way)
    for d in report["directions"]:
        p = d["packets"]
        assert d["message_bytes"] == 18 and d["agreed"]
        assert p["sent_per_s"] == p["tx_stack_per_s"] and p["read_per_s"] == p["rx_stack_per_s"]
        for name in ("udp_out_per_s", "udp_in_per_s", "tx_wire_per_s", "rx_wire_per_s"):
            assert p[name] > 0
        assert p["tx_nic"] and p["rx_nic"]
        assert p["send_calls"] > 0 and p["burst_p50"] >= 1
        assert p["gap_p50_us"] <= p["gap_p99_us"] <= p["gap_max_us"]
        sent = total(d["intervals"], "sent_messages")
        assert sent == d["loss"]["sent"]


def test_interfaces_count_what_programs_do(pair, packets):
    before = pair.b.counters()["rx_packets"]
    report = packets("-n", 18 * 20000, "--rate", 20000)
    rows = ledger(report)
    assert rows["interface out"]["counted"] >= 20000 and rows["interface in"]["counted"] >= 20000
    assert pair.b.counters()["rx_packets"] - before >= 20000
    # beside the test its introductions and its control connection: a handful
    assert rows["interface in"]["counted"] <= 20000 + 500
    assert rows["given by the socket"]["counted"] >= rows["read by the program"]["counted"] == 20000


def test_sizes_take_turns(pair, packets):
    sizes = (64, 512, 1400)
    counts = [pair.b.loss(min_payload=s, max_payload=s, dport=pair.server.port) for s in sizes]
    report = packets(*QUICK, "-l", ",".join(map(str, sizes)), "--rate", 6000)
    seen = [c.passed for c in counts]
    assert sum(seen) == report["directions"][0]["loss"]["sent"] > 0
    assert max(seen) - min(seen) <= 64
    rate = report["directions"][0]["packets"]["sent_per_s"]
    assert rate < 6000 * 1.02


def test_imix(pair, packets):
    shares = {18: 7, 548: 4, 1472: 1}
    counts = {s: pair.b.loss(min_payload=s, max_payload=s, dport=pair.server.port) for s in shares}
    report = packets(*QUICK, "-l", "imix", "--rate", 6000)
    seen = {s: c.passed for s, c in counts.items()}
    assert sum(seen.values()) == report["directions"][0]["loss"]["sent"] > 0
    assert report["directions"][0]["message_sizes"] == "imix: 7 of 18, 4 of 548, 1 of 1472 bytes"
    for size, share in shares.items():
        assert abs(seen[size] - sum(seen.values()) * share / 12) <= 64, seen
    assert [(s["bytes"], s["count"]) for s in report["plan"]["workloads"][0]["sizes"]] == list(
        shares.items())


def test_imix_over_ipv6(pair, packets):
    report = packets(*QUICK, "-l", "imix", "--rate", 2000, target=pair.b.ip6)
    assert [s["bytes"] for s in report["plan"]["workloads"][0]["sizes"]] == [8, 528, 1452]
    assert report["directions"][0]["loss"]["lost"] == 0


@pytest.mark.parametrize("sizes, said", [("64,7", "'7'"), ("64,", "''"), ("x", "'x'"),
                                         ("64,70000", "70000")])
def test_sizes_that_make_no_sense(pair, netdyno, sizes, said):
    done = pair.a.run([netdyno, "packets", pair.b.ip4, "-l", sizes])
    assert done.returncode == 2 and "-l" in done.stderr and said in done.stderr


def test_spread_takes_a_block_of_ports(pair, packets):
    """Eight flows from eight ports that differ in their last three bits."""
    rules = [Rule(pair.b, "in", f"udp dport {pair.server.port} udp length 26 udp sport & 7 == {k}",
                  ["counter name passed accept"]) for k in range(8)]
    report = packets("-n", 18 * 1000, "--rate", 5000, "-P", 8, "--spread")
    assert [r.passed for r in rules] == [125] * 8
    assert report["directions"][0]["agreed"]


def limit(pair, per_second, size, burst=200):
    """No more than so many datagrams of this size a second come in."""
    match = f"udp dport {pair.server.port} udp length {size + 8}"
    return Rule(pair.b, "in", match,
                [f"limit rate over {per_second}/second burst {burst} packets "
                 "counter name dropped drop",
                 "counter name passed accept"])


def check_search(report):
    search = report["search"]
    trials = search["trials"]
    bound = search["bound_ratio"]
    assert [t["number"] for t in trials] == list(range(1, len(trials) + 1))
    for t in trials:
        too_many = t["lost"] > bound * t["sent"]
        assert (t["reason"] == "loss") == too_many and (t["reason"] in ("loss", "queue")) != t["passed"], t
        if t["reason"] == "queue":
            assert t["delivered_per_s"] < t["offered_per_s"] * (1 - bound), t
    assert any(t["purpose"] == "re-test" and t["passed"] for t in trials)
    assert search["retests_passed"] >= 2
    return search


def holds(search, truth):
    """The interval holds the truth; it is narrow unless the machine was too busy to send at that rate, which is said."""
    assert search["low_per_s"] <= truth * 1.002, search
    assert search["failed_per_s"] is None or search["failed_per_s"] >= truth * 0.998, search
    if search["confidence"] in ("high", "medium"):
        assert near(search["found_per_s"], truth, 0.08), search


@pytest.mark.plain
def test_find_rate_finds_a_packet_filter(pair, packets, netdyno):
    limit(pair, 5000, 100)
    report = packets("--find-rate=0.5%", "--trial", "0.5s", "-l", 100, "--rate", 20000, timeout=150)
    search = check_search(report)
    assert search["limit"] == "loss"
    holds(search, 5000 / (1 - 0.005))
    assert near(search["found_per_s"], 5000, 0.05), search
    assert search["passed_per_s"] < search["failed_per_s"] <= search["passed_per_s"] * 1.05, search
    assert search["trials"][0]["asked_per_s"] == 20000 and not search["trials"][0]["passed"]


@pytest.mark.plain
def test_find_rate_finds_a_shaper(pair, packets):
    pair.a.rate("10mbit", queue_ms=20)
    report = packets("--find-rate", "0%", "--trial", "0.5s", "-l", 1000, "--sndbuf", "4Mi",
                     "--rate", 3000, timeout=150)
    # a frame of 1042 bytes: headers and what Ethernet puts in front are counted, too
    search = check_search(report)
    holds(search, 10e6 / 8 / 1042)
    assert near(search["found_per_s"], 10e6 / 8 / 1042, 0.05), search


@pytest.mark.plain
@pytest.mark.parametrize("bound, queue_ms, burst", [(0, 1000, None), (0.1, 1000, 4096), (0.1, 60, 65536)],
                         ids=["a second", "a second, no burst", "a burst"])
def test_find_rate_finds_what_a_queue_hides(pair, packets, bound, queue_ms, burst):
    """What a short trial puts into a queue, or takes from a bucket, is not lost; the rate found is none of that."""
    pair.a.rate("10mbit", queue_ms=queue_ms, burst=burst)
    report = packets(f"--find-rate={bound}%", "-l", 1000, "--trial", "0.5s", "--rate", 1500, "--sndbuf", "16Mi",
                     timeout=150)
    search = check_search(report)
    holds(search, 10e6 / 8 / 1042 / (1 - bound / 100))
    if queue_ms == 1000:
        assert any(t["reason"] == "queue" for t in search["trials"]), search


@pytest.mark.plain
@pytest.mark.parametrize("bound, passes", [(0.5, False), (2, True)])
def test_find_rate_where_one_in_a_hundred_is_lost(pair, packets, bound, passes):
    one_in_a_hundred(pair, 100)
    report = packets(f"--find-rate={bound}%", "-l", 100, "--trial", "0.2s", "--rate", 500, "--drain", "0.1s",
                     timeout=110)
    search = report["search"]
    if passes:
        check_search(report)
        assert (search["found_per_s"], search["limit"], search["failed_per_s"]) == (500, "asked", None)
    else:  # at rates so low that a trial has fewer than a hundred, it may be that none is lost
        assert search["found_per_s"] is None or search["found_per_s"] < 250, search
        assert search["trials"][0]["reason"] == "loss"


@pytest.mark.plain
def test_find_rate_that_nothing_limits(packets):
    search = check_search(packets("--find-rate", "--trial", "300ms", "--rate", 2000))
    assert search["limit"] == "asked" and search["found_per_s"] == 2000
    assert search["failed_per_s"] is None


@pytest.mark.plain
def test_find_rate_when_all_is_lost(pair, packets):
    pair.b.loss(percent=100, dport=pair.server.port, min_payload=100)
    search = packets("--find-rate", "--trial", "200ms", "-l", 100, "--rate", 1000, "--drain",
                     "200ms")["search"]
    assert search["found_per_s"] is None and search["confidence"] is None
    assert all(not t["passed"] for t in search["trials"])


def test_find_rate_keeps_what_it_found(pair, netdyno):
    """A trial that cannot begin takes nothing from those before it."""
    client = pair.a.spawn([netdyno, "packets", pair.b.ip4, "-p", pair.server.port, "--find-rate", "--trial", "1s",
                           "--warmup", "0s", "-l", 100, "--rate", 1000, "--connect-timeout", "0.5s", "-o", "json"])
    pair.server.wait_line("test .* from ", 30 * slow(), "stderr")
    with Rule(pair.b, "in", f"tcp dport {pair.server.port} tcp flags & (syn | ack) == syn", ["drop"]):
        assert client.wait(60 * slow()) == 3, client.describe()
    report = json.loads(client.stdout)
    assert report["partial"] and "no answer from" in report["partial_reason"], report["partial_reason"]
    trials = report["search"]["trials"]
    assert len(trials) >= 1 and trials[0]["sent"] > 0
    assert report["directions"][0]["loss"]["offered"] == trials[-1]["sent"]


def test_find_rate_is_interrupted_at_any_instant(pair, netdyno):
    """Between trials, too: what was found so far is reported."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(4):
        before = pair.server.stderr.count(": test ")
        client = pair.a.spawn([netdyno, "packets", pair.b.ip4, "-p", pair.server.port, "--find-rate", "--trial",
                               "0.2s", "--warmup", "0s", "-l", 100, "--rate", 1000, "-P", 20, "-o", "json"])
        poll("a trial is over", lambda b=before: pair.server.stderr.count(": test ") > b, 30 * slow())
        time.sleep(rng.uniform(0, 0.3))  # not to wait for anything: any instant will do
        client.send_signal(signal.SIGINT)
        code = client.wait(30 * slow())
        report = json.loads(client.stdout)
        assert code == (1 if report["partial"] else 0), client.describe()
        assert len(report["search"]["trials"]) >= 1


@pytest.mark.parametrize("args, said", [
    (("--find-rate", "--bidir"), "--bidir"), (("--find-rate", "-n", "1M"), "-n"),
    (("--find-rate", "-t", "5s"), "--trial"), (("--find-rate=60%",), "50%"),
    (("0.5%",), "one HOST")])
def test_find_rate_that_makes_no_sense(pair, netdyno, args, said):
    done = pair.a.run([netdyno, "packets", pair.b.ip4, *args])
    assert done.returncode == 2 and said in done.stderr


def test_text_has_all_of_it(pair, netdyno):
    one_in_a_hundred(pair, 18)
    done = pair.a.run([netdyno, "packets", pair.b.ip4, "-p", pair.server.port, *QUICK, "--rate",
                       "5k", "-q"], check=True)
    for words in ("Packets", "Counted by", "interfaces", "CPU cost", "Calls", "Ledger", "balance",
                  "paced by schedule", *STAGES):
        assert words in done.stdout, words
    table = done.stdout[:done.stdout.index("CPU, in cores")]
    assert max(map(len, table.splitlines())) <= 100, table


def test_pieces_are_not_called_packets(pair, netdyno):
    done = pair.a.run([netdyno, "packets", pair.b.ip4, "-p", pair.server.port, *QUICK, "-q",
                       "--gso", "64", "--gro", "on"], check=True)
    if "sent by gso 64" not in done.stdout:
        pytest.skip("no segmentation offload here")
    assert "\n  Datagrams " in done.stdout and "\n  Packets " not in done.stdout, done.stdout
    assert "per million datagrams" in done.stdout


@pytest.mark.parametrize("engine", ["blocking", "epoll", "uring"])
def test_every_engine_counts_calls_and_pieces(pair, packets, netdyno, engine):
    known = pair.a.run([netdyno, "packets", "--help"], check=True).stdout
    if engine == "uring" and "uring" not in known:
        pytest.skip("this program is built without liburing")
    report = packets(*QUICK, "--rate", 5000, "-P", 2, "-T", 2, "--engine", engine)
    p = report["directions"][0]["packets"]
    assert p["tx_stack_per_s"] == p["sent_per_s"] > 0
    assert p["rx_stack_per_s"] == p["read_per_s"] > 0
    assert p["send_calls"] > 0 and p["burst_max"] >= 1 and p["gap_max_us"] > 0
