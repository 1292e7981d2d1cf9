# SPDX-License-Identifier: MIT
"""Latency beside a load: two tests as one result, every mix of transports and directions, and what ends it early."""

import json
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from kit import net as kitnet  # noqa: E402

QUEUE_MS = 200
SHORT = ("-t", "1s", "--warmup", "0.2s")


def argv_of(netdyno, server, *args):
    return [netdyno, "latency", server.host.ip4, "-p", server.port, *args]


def ask(netdyno, pair, *args):
    done = pair.a.run(argv_of(netdyno, pair.server, *SHORT, *args, "-o", "json"), timeout=60 * kitnet.slow())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def added(report, name):
    return next(row for row in report["loaded"]["added"] if row["name"] == name)


@pytest.mark.parametrize("args, loads", [
    (("--load", "stream"), [("tcp", "client to server", 1)]),
    (("-u", "--load", "stream,2,both"), [("tcp", "client to server", 2), ("tcp", "server to client", 2)]),
    (("--load", "packets,down,rate=2k,size=64"), [("udp", "server to client", 1)]),
    (("-u", "--rate", "500", "--load", "packets,2,rate=1k"), [("udp", "client to server", 2)]),
    (("-P", "3", "-T", "2", "--rate", "600", "--load", "stream,down,rate=20M"), [("tcp", "server to client", 1)]),
], ids=["stream", "udp-both", "packets-down", "udp-packets", "open-rate"])
def test_loads(pair, netdyno, args, loads):
    report = ask(netdyno, pair, *args)
    latency, *others = report["directions"]
    assert latency["transactional"] and latency["latency"]
    assert [(d["transport"], d["label"], d["flows"]) for d in others] == loads
    assert all(d["total_received_bytes"] > 0 for d in others)
    loaded = report["loaded"]
    assert loaded["load_goodput_bps"] == pytest.approx(sum(d["goodput_bps"] for d in others))
    assert loaded["load_flows"] == sum(d["flows"] for d in others)
    times = "response" if "--rate" in args else "service"
    assert loaded["times"] == times and times in loaded["rpm_formula"]
    now, before = latency["latency"][times], loaded["idle"][times]
    assert (loaded["idle_count"], loaded["loaded_count"]) == (before["count"], now["count"])
    assert loaded["loaded_rpm"] == pytest.approx(60e6 / now["mean_us"])
    assert loaded["idle_rpm"] == pytest.approx(60e6 / before["mean_us"])
    for q, was in zip(now["quantiles"], before["quantiles"]):
        row = added(report, q["name"])
        assert (row["idle_us"], row["loaded_us"]) == (was["us"], q["us"])
        if None in (q["us"], was["us"]):
            assert row["added_us"] is None
        else:
            assert row["added_us"] == pytest.approx(q["us"] - was["us"])


@pytest.mark.plain
def test_queue_is_seen(pair, netdyno):
    """A slow way with a long queue: the load fills it, and each request waits in it."""
    pair.a.use_congestion_control("reno")
    pair.a.rate("20mbit", queue_ms=QUEUE_MS)
    report = ask(netdyno, pair, "--load", "stream,2", "-t", "3s", "--warmup", "1s")
    row = added(report, "mean")
    assert row["idle_us"] < 10e3 < row["loaded_us"], "requests wait behind what the load has put into the queue"
    assert row["loaded_us"] < 2e3 * QUEUE_MS, "and never longer than it takes to empty"
    assert report["loaded"]["loaded_rpm"] < report["loaded"]["idle_rpm"]
    assert report["loaded"]["load_goodput_bps"] < 20e6


def test_threads_are_apart(pair, netdyno):
    report = ask(netdyno, pair, "-P", "2", "-T", "2", "--load", "stream,3")
    assert report["client"]["threads"] == report["server"]["threads"] == 4


@pytest.mark.plain
def test_other_formats(pair, netdyno):
    texts = {}
    for form in ("text", "csv", "xml", "hdr"):
        done = pair.a.run(argv_of(netdyno, pair.server, *SHORT, "--load", "stream,rate=10M", "-o", form),
                          timeout=60 * kitnet.slow())
        assert done.returncode == 0, done.stderr
        texts[form] = done.stdout
    assert "Under load" in texts["text"] and "round trips per minute" in texts["text"]
    assert "received over 1 TCP flow" in texts["text"]
    rows = [line.split(",")[1] for line in texts["csv"].splitlines()]
    assert rows.count("idle") == rows.count("loaded") == 1
    assert "<loaded>" in texts["xml"] and "<idle_rpm>" in texts["xml"]
    assert "Tag=idle-service," in texts["hdr"] and "Tag=service," in texts["hdr"]


def measures(client, phase):
    """Has an interval of the window been told in this phase, "idle" or "loaded"?"""
    for line in reversed(client.stdout.splitlines(keepends=True)):
        event = json.loads(line) if line.endswith("\n") else {}
        if event.get("event") == "phase" and event["text"] in ("idle", "loaded"):
            return False if event["text"] != phase else any_measured(client, phase)
    return False


def any_measured(client, phase):
    behind = client.stdout.split('"text":"%s"' % phase)[-1].splitlines(keepends=True)
    return any('"interval"' in line and '"measure"' in line for line in behind if line.endswith("\n"))


@pytest.mark.parametrize("phase", ["idle", "loaded"])
def test_interrupted(pair, netdyno, phase):
    client = pair.a.spawn(argv_of(netdyno, pair.server, "-t", "3s" if phase == "loaded" else "60s", "--warmup", "0s",
                                  "-i", "100ms", "--load", "stream", "-o", "json", "--json-lines"))
    kitnet.poll(f"something measured {phase}", lambda: measures(client, phase), 30 * kitnet.slow())
    client.send_signal(signal.SIGINT)
    assert client.wait(20 * kitnet.slow()) == 1
    report = json.loads(client.stdout.splitlines()[-1])
    assert report["event"] == "result" and report["partial"] and "SIGINT" in report["partial_reason"]
    loaded = report["loaded"]
    assert loaded["idle"]["service"]["count"] > 0 and added(report, "p50")["idle_us"] > 0
    assert (loaded["loaded_rpm"] is None) == (phase == "idle")
    assert len(report["directions"]) == (1 if phase == "idle" else 2)


def test_load_is_refused(lab, serve, netdyno):
    """What the server does not take ends the second test alone: times without the load are there."""
    host = lab()
    server = serve(host.b, "--max-flows", "3")
    done = host.a.run([netdyno, "latency", host.b.ip4, "-p", server.port, *SHORT, "--load", "stream,5", "-o", "json"],
                      timeout=60 * kitnet.slow())
    assert done.returncode == 3, done.stderr
    assert "over the 3 that this server allows" in done.stderr
    report = json.loads(done.stdout)
    assert report["partial"] and report["partial_reason"].startswith("idle times alone")
    assert report["loaded"]["idle_rpm"] > 0 and report["loaded"]["loaded_rpm"] is None


@pytest.mark.parametrize("spec, words", [
    ("bulk", "begins with neither stream nor packets"),
    ("stream,sideways", "none of up, down, both"),
    ("packets,size=70000", "outside 1..65507"),
])
def test_what_makes_no_sense_is_said(lab, netdyno, spec, words):
    done = lab().a.run([netdyno, "latency", "192.0.2.1", "--load", spec], timeout=10 * kitnet.slow())
    assert done.returncode == 2 and words in done.stderr and "--load" in done.stderr
