# SPDX-License-Identifier: MIT
"""The command line and what it prints: bad input is told in one sentence, formats agree."""
import csv
import io
import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kit.report import check_report, near

ROOT = Path(__file__).resolve().parents[2]


def program(netdyno, *args, **kwargs):
    return subprocess.run([netdyno, *map(str, args)], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60, check=False, **kwargs)


def one_sentence(done):
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("netdyno: "), done
    assert not re.search(r"errno|\(null\)|%[sdu]", lines[0])
    return lines[0].removeprefix("netdyno: ")


# What was typed behind `netdyno stream HOST`; what the sentence names: option, value, limits.
BAD = [
    ("-P 0", "-P", "'0'", "1..100k"),
    ("-P 100001", "-P", "'100001'", "1..100k"),
    ("-P -1", "-P", "'-1'"),
    ("-P abc", "-P", "'abc'"),
    ("-P 1.5", "-P", "'1.5'"),
    ("-P ''", "-P"),
    ("-P 99999999999999999999", "-P", "99999999999999999999"),
    ("--flows=0", "--flows", "'0'", "1..100k"),
    ("-t 0", "-t", "'0'", "1s..24h"),
    ("-t 0.5s", "-t", "'0.5s'", "1s..24h"),
    ("-t 25h", "-t", "'25h'", "1s..24h"),
    ("-t -1s", "-t", "'-1s'"),
    ("-t 1x", "-t", "'1x'"),
    ("-n 0", "-n", "'0'"),
    ("-n 2000Ti", "-n", "'2000Ti'", "1000Ti"),
    ("-b 0", "-b", "'0'", "1k..100T"),
    ("-b 1Q", "-b", "'1Q'"),
    ("-b 10M/second", "-b", "'10M/second'"),
    ("--rate 0", "--rate", "'0'"),
    ("-l 0", "-l", "'0'", "1..1Gi"),
    ("-l 2Gi", "-l", "'2Gi'", "1..1Gi"),
    ("-u -l 65508", "-l", "'65508'", "65507"),
    ("-p 0", "-p", "'0'", "1..65535"),
    ("-p 65536", "-p", "'65536'", "1..65535"),
    ("-p http", "-p", "'http'"),
    ("-i 1ms", "-i", "'1ms'", "10ms"),
    ("-i 20s", "-i", "'20s'", "10s"),
    ("--warmup 25h", "--warmup", "'25h'", "24h"),
    ("--drain 11m", "--drain", "'11m'", "10m"),
    ("--connect-timeout 0", "--connect-timeout", "'0'", "0.1s"),
    ("--shape wave", "--shape", "'wave'", "stream", "rr"),
    ("--shape rr -r 0", "-r", "'0'", "1..1Gi"),
    ("--shape rr -r 1,0", "-r", "'0'", "1..1Gi"),
    ("-r 10", "-r", "--shape rr"),
    ("--shape rr -l 10", "-l", "-r"),
    ("--shape rr -b 10M", "-b", "--rate"),
    ("--payload noise", "--payload", "'noise'", "random"),
    ("--verify --payload zero", "--verify", "--payload pattern"),
    ("--shape rr --verify", "--verify", "rr"),
    ("-u --mptcp", "--mptcp", "-u"),
    ("-u --cc reno", "--cc", "-u"),
    ("-u --nodelay", "--nodelay", "-u"),
    ("-u --mss 1000", "--mss", "-u"),
    ("--fragment", "--fragment", "-u"),
    ("--cc a/b", "--cc", "'a/b'"),
    ("--mss 87", "--mss", "'87'", "88..32767"),
    ("--sndbuf 1", "--sndbuf", "'1'", "1Ki..1Gi"),
    ("--dscp 64", "--dscp", "'64'", "0..63"),
    ("--dscp gold", "--dscp", "'gold'", "0..63"),
    ("-T 0", "-T", "'0'", "1..1k"),
    ("-T 2", "-T", "'2'", "1"),
    ("--pin 3-1", "--pin", "'3-1'"),
    ("--engine steam", "--engine", "'steam'", "epoll"),
    ("--tx warp", "--tx", "'warp'", "copy"),
    ("-o yaml", "-o", "'yaml'", "text, json, xml, csv"),
    ("-o csv --json-lines", "--json-lines", "json"),
    ("-4 -6", "-4", "-6"),
    ("-R --bidir", "--bidir", "--reverse"),
    ("-b 1M --rate 5", "-b", "--rate"),
    ("-n 1M --warmup 1s", "-n", "--warmup"),
    ("-n 1M --cooldown 1s", "-n", "--cooldown"),
    ("-n 5 -P 6", "-n", "'5'", "6"),
    ("-P 60000 --bidir -T 2", "-P", "60000", "120000", "100000"),
    ("-B %eth0,10.0.0.1", "-B"),
    ("--bogus", "--bogus"),
    ("--reverse=yes", "--reverse"),
    ("-B", "-B", "value"),
    ("x", "'x'"),
]


@pytest.mark.parametrize("row", BAD, ids=[row[0] for row in BAD])
def test_bad_input(netdyno, row):
    typed, *named = row
    done = program(netdyno, "stream", "192.0.2.1", *("" if w == "''" else w for w in typed.split()))
    assert done.returncode == 2, done
    assert done.stdout == ""
    said = one_sentence(done)
    for word in named:
        assert word in said, said


BAD_SERVE = [
    ("--allow 10.0.0.0/33", "--allow", "10.0.0.0/33"),
    ("--allow nonsense", "--allow", "nonsense"),
    ("--max-tests 0", "--max-tests", "'0'", "1..1k"),
    ("--max-flows 100001", "--max-flows", "'100001'", "1..100k"),
    ("--max-time 0", "--max-time", "'0'", "1s..72h"),
    ("-p 65536", "-p", "'65536'", "0..65535"),
    ("-4 -6", "-4", "-6"),
    ("-t 10", "-t"),
    ("x", "'x'"),
    ("--pin a", "--pin", "'a'"),
]


@pytest.mark.parametrize("row", BAD_SERVE, ids=[row[0] for row in BAD_SERVE])
def test_bad_input_of_serve(netdyno, row):
    typed, *named = row
    done = program(netdyno, "serve", *typed.split())
    assert done.returncode == 2 and done.stdout == "", done
    said = one_sentence(done)
    for word in named:
        assert word in said, said


def test_no_verb_no_host(netdyno):
    for args in ((), ("dance",), ("stream",), ("stream", "")):
        done = program(netdyno, *args)
        assert done.returncode == 2 and done.stdout == "", done
        assert done.stderr.splitlines()[-1].startswith("netdyno: ")


def test_help_is_on_stdout(netdyno):
    for args in (("--help",), ("stream", "-h"), ("stream", "--help"), ("serve", "--help"),
                 ("--version",), ("--gen", "schema")):
        done = program(netdyno, *args)
        assert done.returncode == 0 and done.stderr == "" and len(done.stdout) > 50, args


def test_unknown_host(netdyno):
    """Reserved for this purpose; whatever resolver there is says no."""
    done = program(netdyno, "stream", "nosuch.invalid")
    assert done.returncode == 3 and done.stdout == ""
    assert "nosuch.invalid" in one_sentence(done)


# What fails, where, and the exit code: 1 this machine, 2 the command line, 3 the host or the path to it.
ENDS = [
    ("stream nosuch.invalid", 3, "nosuch.invalid"),
    ("stream 127.0.0.1 -B nosuch.invalid", 2, "-B", "nosuch.invalid"),
    ("stream 127.0.0.1 -B 192.0.2.77", 1, "192.0.2.77", "assign"),
    ("stream 127.0.0.1 -B %nosuch0", 1, "nosuch0"),
    ("stream 127.0.0.1 -P x", 2, "-P"),
    ("serve --listen nosuch.invalid", 2, "nosuch.invalid"),
    ("serve --listen 192.0.2.77", 1, "192.0.2.77", "assign"),
    ("serve --allow nosuch.invalid", 2, "--allow"),
    ("doctor nosuch.invalid", 3, "nosuch.invalid"),
    ("doctor --iface nosuch0", 2, "nosuch0", "there are: lo"),
    ("irq show nosuch0", 2, "nosuch0", "there are: lo"),
    ("irq nosuch0 show", 2, "'nosuch0'", "interface stands behind"),
    ("watch 1 3", 2, "'1'", "-i", "-n"),
    ("stream 203.0.113.1", 3, "203.0.113.1", "7575", "cannot be reached"),
]


@pytest.mark.parametrize("row", ENDS, ids=[row[0] for row in ENDS])
def test_exit_codes(lab, netdyno, row):
    typed, code, *named = row
    done = lab().a.run([netdyno, *typed.split()])
    assert done.returncode == code and done.stdout == "", done
    said = one_sentence(done)
    for word in named:
        assert word in said, said


def test_port_that_is_taken(lab, netdyno):
    host = lab().a
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with host.socket(kind=kind) as s:
            s.bind(("0.0.0.0", 0))
            if kind == socket.SOCK_STREAM:
                s.listen()
            port = s.getsockname()[1]
            done = host.run([netdyno, "serve", "-p", port])
            assert done.returncode == 1 and done.stdout == ""
            said = one_sentence(done)
            assert f":{port} is in use" in said and "-p" in said, said


@pytest.mark.parametrize("args", [(), ("-q",), ("-4",), ("--listen", "127.0.0.1")],
                         ids=["all", "quiet", "ipv4", "one"])
def test_any_port(lab, netdyno, stream_json, slow, args):
    """The system picks a port that is free for TCP and UDP, and the server tells it."""
    host = lab().a
    servers = [host.spawn([netdyno, "serve", "-p", 0, *args]) for _ in range(2)]
    ports = [server.wait_line(r"listening on .*:([0-9]+) \(TCP and UDP\)", 10 * slow, "stderr")[1]
             for server in servers]
    assert ports[0] != ports[1]
    for port in ports:
        for udp in ((), ("-u",)):
            check_report(stream_json(host, "127.0.0.1", "-p", port, "-n", "10k", *udp))


@pytest.mark.parametrize("typed", ["a\x1b[31mb", "\x1b]0;title\a", "one\ntwo", "\x9b1m", "\x7f"])
def test_control_characters_are_not_passed_on(netdyno, typed):
    for args in (("stream", typed), ("stream", "192.0.2.1", "-P", typed), (typed,),
                 ("serve", "--allow", typed), ("stream", "127.0.0.1", "-B", typed),
                 ("stream", typed, "-o", "json")):
        done = subprocess.run([netdyno, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False)
        assert done.returncode in (1, 2, 3)
        for out in (done.stdout, done.stderr):
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", out), out
        assert done.stderr.count(b"\n") == 1, done.stderr


def test_refused_port(lab, netdyno, slow):
    net = lab()
    port = net.b.free_port()
    for target in (net.b.ip4, net.b.ip6):
        begin = time.monotonic()
        done = net.a.run([netdyno, "stream", target, "-p", port, "--connect-timeout", "25s"])
        assert time.monotonic() - begin < 10 * slow, "a refusal is no silence"
        assert done.returncode == 3 and done.stdout == ""
        said = one_sentence(done)
        assert "refused" in said and str(port) in said and "serve" in said


def test_silent_host(lab, netdyno, slow):
    net = lab()
    net.b.drop()
    begin = time.monotonic()
    done = net.a.run([netdyno, "stream", net.b.ip4, "--connect-timeout", "1s"])
    assert 1 <= time.monotonic() - begin < 12 * slow
    assert done.returncode == 3
    said = one_sentence(done)
    assert "1s" in said and net.b.ip4 in said and "7575" in said


def test_silent_server(lab, netdyno, slow):
    """It takes the connection and says nothing."""
    net = lab()
    with net.b.socket() as mute:
        mute.bind((net.b.ip4, 0))
        mute.listen()
        begin = time.monotonic()
        done = net.a.run([netdyno, "stream", net.b.ip4, "-p", mute.getsockname()[1],
                          "--connect-timeout", "1s"])
    assert 1 <= time.monotonic() - begin < 12 * slow
    assert done.returncode == 3 and "1s" in one_sentence(done)


def test_datagrams_that_do_not_arrive(pair, netdyno, stream_json, slow):
    """TCP passes, UDP does not: told within the time that a connection may take."""
    wall = pair.b.drop(proto="udp", dport=pair.server.port)
    begin = time.monotonic()
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-u", "-b", "1M", "-t",
                       "1s", "--connect-timeout", "1s"])
    assert 1 <= time.monotonic() - begin < 12 * slow
    assert done.returncode == 3
    said = one_sentence(done)
    assert "UDP" in said and str(pair.server.port) in said and "firewall" in said
    wall.remove()
    check_report(stream_json(pair.a, pair.server, "-u", "-b", "1M", "-n", "10k"))


def test_port_of_something_else(lab, netdyno, slow):
    """A listener that answers in another language. (Silence of 10 s: test_serve.)"""
    net = lab()
    with net.b.socket() as web:
        web.bind((net.b.ip4, 0))
        web.listen()
        client = net.a.spawn([netdyno, "stream", net.b.ip4, "-p", web.getsockname()[1]])
        peer, _ = web.accept()
        with peer:
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            assert client.wait(5 * slow) == 3
    assert len(client.stderr.splitlines()) == 1 and "Throughput" not in client.stdout


def test_error_as_json(lab, netdyno):
    net = lab()
    port = net.b.free_port()
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", port, "-o", "json"])
    assert done.returncode == 3
    failed = json.loads(done.stdout)
    assert failed["error"]["sentence"] == one_sentence(done)
    assert failed["error"]["code"] < 0 and failed["tool"] == "netdyno"
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", port, "-o", "json", "--json-lines"])
    event, = map(json.loads, done.stdout.splitlines())
    assert event["event"] == "failed" and event["error"] == failed["error"]


def test_error_as_xml_and_csv(lab, netdyno):
    net = lab()
    for name in ("xml", "csv"):
        done = net.a.run([netdyno, "stream", net.b.ip4, "-p", net.b.free_port(), "-o", name])
        assert done.returncode == 3
        said = one_sentence(done)
        if name == "xml" and done.stdout:
            assert said in "".join(ElementTree.fromstring(done.stdout).itertext())


# --- what is printed of a result

@pytest.fixture
def formats(lab, netdyno):
    """One server per format reports one and the same test: its own and the client's view."""
    net = lab()

    def both(client, server, *args):
        port = net.b.free_port()
        served = net.b.spawn([netdyno, "serve", "-p", port, "--once", "-o", server])
        served.wait_line("listening", 20, "stderr")
        done = net.a.run([netdyno, "stream", net.b.ip4, "-p", port, *args, "-o", client])
        assert done.returncode == 0, done
        assert served.wait(20) == 0
        return done.stdout, served.stdout

    return both


def number(text):
    return float(text) if text else None


@pytest.mark.parametrize("args", [
    ("-t", "1s", "--warmup", "0.2s", "-i", "0.25s", "-P", "3"),
    ("-u", "-b", "20M", "-t", "1s", "--warmup", "0.2s", "-i", "0.25s", "--bidir"),
    ("--shape", "rr", "-t", "1s", "--warmup", "0.2s"),
], ids=["tcp", "udp both", "rr"])
@pytest.mark.parametrize("name", ["xml", "csv"])
def test_formats_agree(formats, args, name):
    """Client's JSON and server's other format of one test."""
    document, other = formats("json", name, *args)
    directions = json.loads(document)["directions"]
    if name == "csv":
        rows = list(csv.DictReader(io.StringIO(other), strict=True))
        totals = [row for row in rows if row["row"] == "total"]
        lines = [sum(row["direction"] == d["label"] and row["row"] == "interval" for row in rows)
                 for d in directions]
        assert lines == [len(d["intervals"]) for d in directions]
        found = [(int(t["received_bytes"]), number(t["goodput_bps"])) for t in totals]
    else:
        root = ElementTree.fromstring(other)
        found = [(int(d.findtext("received_bytes")), number(d.findtext("goodput_bps")))
                 for d in root.find("directions")]
    assert [(d["received_bytes"], d["goodput_bps"]) for d in directions] == found


def test_text_shows_the_same(formats):
    text, document = formats("text", "json", "-t", "1s", "--warmup", "0.2s", "-b", "20M")
    d, = json.loads(document)["directions"]
    shown = re.search(r"^  Throughput +([0-9.]+) Mbit/s", text, re.M)
    assert near(float(shown[1]) * 1e6, d["goodput_bps"], 0.001)
    assert "client 10." in text and "warning:" in text


@pytest.fixture(scope="module")
def validator(netdyno):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    path = ROOT / "doc" / "results.schema.json"
    if not path.exists():
        pytest.skip("no doc/results.schema.json")
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


@pytest.mark.parametrize("args", [("-P", 3), ("-u", "-b", "10M", "--bidir"), ("--shape", "rr")],
                         ids=["tcp", "udp", "rr"])
def test_json_lines(pair, netdyno, validator, args):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "1s",
                       "--warmup", "0.25s", "-i", "0.25s", *args, "--json-lines"])
    assert done.returncode == 0 and done.stderr == ""
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        validator.validate(event)
    kinds = [e["event"] for e in events]
    assert kinds[0] == "connected" and kinds[-1] == "result" and kinds.count("result") == 1
    live = [e for e in events if e["event"] == "interval"]
    directions = events[-1]["directions"]
    assert len(live) >= 4 * len(directions)
    # what is told live is what the result says
    if len(directions) == 1:
        final = {round(i["start_s"], 6): i for i in directions[0]["intervals"]}
        for e in live:
            if e["goodput_bps"] is not None and round(e["start_s"], 6) in final:
                assert final[round(e["start_s"], 6)]["received_bytes"] == e["received_bytes"]


def test_report_of_a_failed_run_fits_the_schema(netdyno, validator):
    done = program(netdyno, "stream", "nosuch.invalid", "-o", "json")
    validator.validate(json.loads(done.stdout))


def test_report_fits_the_schema(pair, stream_json, validator):
    for args in ((), ("-R", "-P", 2), ("-u", "-b", "10M"), ("--shape", "rr", "-u")):
        limit = ("-t", "1s", "--warmup", 0) if "rr" in args else ("-n", "100k")
        validator.validate(stream_json(pair.a, pair.server, *limit, *args))


def test_partial_report_fits_the_schema(pair, netdyno, validator, slow):
    client = pair.a.spawn([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "60s",
                           "--warmup", 0, "-i", "0.1s", "-b", "1M", "--json-lines"])
    client.wait_line('"interval"', 20 * slow)
    client.stop()
    for line in client.stdout.splitlines():
        validator.validate(json.loads(line))


def test_end_before_the_window(pair, netdyno, slow):
    """Nothing was measured: that is no rate of 0."""
    args = (netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "--warmup", "10m", "-i", "0.1s",
            "-b", "1M")
    client = pair.a.spawn([*args, "--json-lines"])
    client.wait_line('"interval"', 20 * slow)
    client.stop()
    report = json.loads(client.stdout.splitlines()[-1])
    assert report["partial"] and report["directions"][0]["window_s"] == 0
    assert report["directions"][0]["goodput_bps"] is None
    assert report["directions"][0]["offered_bps"] is None
    client = pair.a.spawn(args)
    client.wait_line("warm-up", 20 * slow)
    client.stop()
    assert "not measured: the run ended before the window began" in client.stdout


def test_output_file_is_replaced_in_one_step(pair, netdyno, tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    client = pair.a.spawn([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "1s",
                           "--warmup", 0, "-i", "0.1s", "-o", "json", "-O", path])
    seen = set()
    while client.returncode is None:
        seen.add(path.read_text()[:20])
        time.sleep(0.005)
    seen.discard("old")
    report = json.loads(path.read_text())
    check_report(report)
    assert client.returncode == 0
    assert len(seen) <= 1 and os.listdir(tmp_path) == ["report.json"]


def test_output_file_keeps_its_old_text_when_it_cannot_be_written(pair, netdyno, tmp_path):
    for path in (tmp_path / "no" / "report.json", tmp_path):
        done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "1k",
                           "-o", "json", "-O", path])
        assert done.returncode == 1, done
        assert len(done.stderr.splitlines()) == 1 and str(path) in done.stderr


def test_full_disk(pair, netdyno):
    """What cannot be printed is a failure."""
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(
            pair.a.argv([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "1k"]),
            stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr


def test_closed_stdout(pair, netdyno):
    argv = pair.a.argv([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "1k"])
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *map(str, argv)],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "netdyno: " in done.stderr


def test_reader_that_leaves(pair, netdyno):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        pair.a.argv([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "1s",
                     "--warmup", "0", "-o", "json"]),
        stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60,
        check=False)
    os.close(write)
    assert done.returncode == 1, "not killed by SIGPIPE"
    assert "Broken pipe" in done.stderr and len(done.stderr.splitlines()) == 1


def test_no_standard_streams_at_all(pair, netdyno):
    """Sockets get the numbers 0, 1 and 2; nothing may be printed into them."""
    argv = pair.a.argv([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "3M", "-P",
                        4, "--verify"])
    done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *map(str, argv)], timeout=60,
                          check=False)
    assert done.returncode in (0, 1)
    assert "corrupt" not in pair.server.stderr


def test_trace_shows_messages_and_no_token(pair, netdyno):
    done = pair.a.run([netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-n", "1k",
                       "--trace-control", "-o", "json"])
    assert done.returncode == 0 and json.loads(done.stdout)
    for message in ("hello", "plan", "agreed", "ready", "go", "result", "bye"):
        assert message in done.stderr, message


def test_quiet_prints_no_interim_lines(pair, netdyno):
    where = [netdyno, "stream", pair.b.ip4, "-p", pair.server.port, "-t", "1s", "--warmup", 0,
             "-i", "0.25s"]
    loud, quiet = pair.a.run(where), pair.a.run([*where, "-q"])
    assert loud.stdout.count("\n[") >= 3 and quiet.stdout.count("\n[") == 0
    assert "Throughput" in quiet.stdout
