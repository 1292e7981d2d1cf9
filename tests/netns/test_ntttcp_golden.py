# SPDX-License-Identifier: MIT
"""The committed reports that look like NTttcp's are read by what reads the originals' reports."""
import json
import re
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.plain

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

# A test suite for Linux guests: ready word, one pattern from the start of the output, units it knows.
READY = "threads created"
LINUX = re.compile(
    r"([\w\W]*?)(connections created in (?P<created>[0-9]+) microseconds)?([\w\W]*?)Totals:"
    r"([\w\W]*?)throughput([\w\W]*?):(?P<throughput>[0-9.]+)(?P<unit>Mbps|Gbps)"
    r"([\w\W]*?)(retrans segs([\w\W]*?):(?P<retrans>[0-9]+))?"
    r"([\w\W]*?)tx_packets([\w\W]*?):(?P<tx>[0-9]+)([\w\W]*?)rx_packets([\w\W]*?):(?P<rx>[0-9]+)"
    r"([\w\W]*?)(pkts/interrupt([\w\W]*?):(?P<interrupt>[0-9.]+))?"
    r"([\w\W]*?)cycles/byte([\w\W]*?):(?P<cycles>[0-9.]+)"
)
THROUGHPUT_LINE = re.compile(r"^.* \t throughput\t:(?P<value>.+)$", re.MULTILINE)

# The same suite on Windows: a table's header, its rule of four, and four numbers.
WINDOWS = re.compile(
    r"Bytes\(MEG\)[^\n]*Throughput\(MB/s\)\s*\n(=+\s+){3}=+\s*\n"
    r"\s*(?P<bytes>[0-9.]+)\s+(?P<seconds>[0-9.]+)\s+(?P<frame>[0-9.]+)\s+(?P<rate>[0-9.]+)"
)

# The genuine tables of an article: heads, rules, and the columns that rows end in.
GENUINE = """\
Thread  Time(s) Throughput(KB/s) Avg B / Compl
======  ======= ================ =============
     0  300.006        29617.328     65536.000
#####  Totals:  #####
   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)
================ =========== ============== ================
    34243.000000     300.005       1417.829          114.141
Throughput(Buffers/s) Cycles/Byte       Buffers
===================== =========== =============
             1826.262       7.036    547888.000
DPCs(count/s) Pkts(num/DPC)   Intr(count/s) Pkts(num/intr)
============= ============= =============== ==============
     4218.744         1.708        6055.769          1.190
Packets Sent Packets Received Retransmits Errors Avg. CPU %
============ ================ =========== ====== ==========
    25324915          2161992       60412      0     15.075
"""

# Elements under the root that a parser of both systems' files insists on, with their metric.
WANTED = [
    ("total_bytes", "MB"), ("avg_bytes_per_compl", "B"), ("avg_frame_size", "B"),
    ("throughput", "mbps"), ("avg_packets_per_interrupt", "packets/interrupt"),
    ("interrupts", "count/sec"), ("packets_retransmitted", None), ("errors", None),
]

# The parameters of a Windows file, as a released parser's samples and the articles have them, in order.
ARTICLE_PARAMETERS = """
    send_socket_buff recv_socket_buff port sync_port no_sync wait_timeout_milliseconds async verbose
    wsa use_ipv6 udp verify_data wait_all run_time warmup_time cooldown_time dash_n_timeout
    bind_sender sender_name max_active_threads
""".split()


def text_of(name):
    return (GOLDEN / f"ntttcp-{name}.txt").read_text(encoding="utf-8")


def xml_files():
    found = sorted(GOLDEN.glob("ntttcp-*.xml"))
    return pytest.mark.parametrize("path", found, ids=[p.stem for p in found])


@pytest.mark.parametrize("name", ["linux-sender-verbose", "linux-receiver"])
def test_linux_suite_reads_it(name):
    text = text_of(name)
    assert READY in text
    match = LINUX.match(text)
    assert match
    assert Decimal(match["throughput"].strip()) > 0 and match["unit"] == "Gbps"
    # optional groups behind lazy ones never take part: read as the suite does, by a second look
    assert re.search(r"retrans segs\s*:(\d+)", text)
    assert int(match["tx"]) == 48803 and int(match["rx"]) == 48801
    assert Decimal(match["cycles"]) > 0
    assert re.search(r"pkts/interrupt\s*:4\.06\b", text)
    if "sender" in name:
        assert re.search(r"\b4 connections created in 1516 microseconds\b", text)
    else:
        assert "connections created" not in text


@pytest.mark.parametrize("name", ["linux-sender", "linux-sender-verbose", "linux-receiver", "linux-udp"])
def test_linux_throughput(name):
    text = text_of(name)
    found = THROUGHPUT_LINE.findall(text)
    assert len(found) == 1, "nothing else may look like the throughput"
    assert re.fullmatch(r"[0-9]+\.[0-9]{2}(Mbps|Gbps)", found[0])


@pytest.mark.parametrize("name", ["linux-sender", "linux-receiver", "linux-receiver-verbose", "linux-udp"])
def test_linux_lines_in_order(name):
    """What the originals' own tests look for, and the exact white space of the result."""
    text = text_of(name)
    lines = text.splitlines()
    assert lines[0] == "NTTTCP for Linux 1.4.3"
    assert lines[1] == lines[-1] == "-" * 57
    order = [r"\d+ threads created", r"Network activity progressing\.\.\.", r"Test run completed\.",
             r"Test cycle finished\.", r"#####  Totals:  #####", r"test duration\t:\d+\.\d\d seconds",
             r"total bytes\t:\d+", r"\t throughput\t:\d", r"cpu cores\t:\d+",
             r"\t cpu speed\t:\d+\.\d{3}MHz", r"\t user\t\t:\d+\.\d\d%", r"\t system\t\t:\d+\.\d\d%",
             r"\t idle\t\t:\d+\.\d\d%", r"\t iowait\t\t:\d+\.\d\d%", r"\t softirq\t:\d+\.\d\d%",
             r"\t cycles/byte\t:\d+\.\d\d", r"cpu busy \(all\)\t:\d+\.\d\d%"]
    if name == "linux-receiver-verbose":  # it does not synchronise
        order.remove(r"Network activity progressing\.\.\.")
        assert "Network activity" not in text
    at = 0
    for pattern in order:
        match = re.compile(r"^\d\d:\d\d:\d\d INFO: " + pattern, re.MULTILINE).search(text, at)
        assert match, pattern
        at = match.end()


def test_log_holds_stamped_lines_alone():
    stamped = re.compile(r"\d\d:\d\d:\d\d (INFO|ERR |DBG ): ")
    for path in GOLDEN.glob("ntttcp-*.log"):
        log = path.read_text(encoding="utf-8").splitlines()
        console = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        assert log == [line for line in console if stamped.match(line)]


def test_quiet_has_no_real_time_line():
    assert "Real-time throughput: 9.41Gbps\n" in text_of("linux-receiver")
    assert "Real-time" not in text_of("linux-receiver-verbose")


@pytest.mark.parametrize("name", ["windows-sender", "windows-udp"])
def test_windows_suite_reads_it(name):
    text = text_of(name)
    match = WINDOWS.search(text)
    assert match
    assert Decimal(match["rate"]) > 0
    assert abs(float(match["bytes"]) / float(match["seconds"]) - float(match["rate"])) < 0.01


def ends(line):
    """Where the words of a line end: figures are aligned to the right."""
    return [m.end() for m in re.finditer(r"[^ ]+", line)]


def test_windows_tables_are_the_genuine_ones():
    lines = [line for line in text_of("windows-sender").splitlines() if line]
    assert lines[:2] == ["Copyright Version 5.40", "Network activity progressing..."]
    mine = [line for line in lines[2:] if not re.match(r" +[1-3] ", line)]  # one thread is enough
    genuine = GENUINE.splitlines()
    assert len(mine) == len(genuine)
    for line, model in zip(mine, genuine):
        if re.match(r" +[0-9]", model):
            assert ends(line) == ends(model)
        else:
            assert line == model


def test_windows_blank_lines():
    blocks = re.split(r"\n(\n+)", text_of("windows-sender"))
    assert [len(gap) for gap in blocks[1::2]] == [2] * 6


@xml_files()
def test_xml(path):
    raw = path.read_bytes()
    text = raw.decode("utf-8")
    root = ElementTree.fromstring(text)
    windows = "windows" in path.name
    assert not text.startswith("<?xml")
    assert (b"\r\n" in raw) == windows and (raw.count(b"\n") == raw.count(b"\r\n")) == windows
    assert text.splitlines()[1].startswith("\t<parameters>")
    assert root.tag == ("ntttcps" if "sender" in path.name or "latency" in path.name else "ntttcpr")
    assert root.get("computername") and root.get("version") == ("5.40" if windows else "5.33-linux")
    for tag, metric in WANTED:
        found = [e for e in root.findall(tag) if e.get("metric") == metric]
        assert len(found) == 1, tag
        float(found[0].text)
    for element in root.findall("throughput"):
        assert element.get("metric")
    for thread in root.findall("thread"):
        assert thread.get("index").isdigit()
        assert len(thread.findall('throughput[@metric="mbps"]')) == 1
    assert len(root.findall('throughput[@metric="mbps"]')) == 1
    for element in root:
        if element.tag not in ("parameters", "thread", "os"):
            float(element.text)
    assert root.find("cycles" if windows else "cycles_per_byte") is not None
    assert root.find("cpu" if windows else "cpu_busy_all") is not None


@xml_files()
def test_xml_parameters(path):
    parameters = ElementTree.parse(path).getroot().find("parameters")
    names = [e.tag for e in parameters]
    assert [n for n in names if n in ARTICLE_PARAMETERS] == ARTICLE_PARAMETERS
    assert len(names) == len(set(names)) == (35 if "windows" in path.name else 31)
    for element in parameters:
        assert re.fullmatch(r"True|False|NA|-?[0-9]+|[0-9.]*", element.text or ""), element.tag
    run_time = int(parameters.find("run_time").text)
    assert run_time in ((60000, 0) if "windows" in path.name else (10,))


def test_hostile_names_stay_inside_their_place():
    root = ElementTree.parse(GOLDEN / "ntttcp-linux-sender-verbose.xml").getroot()
    document = json.loads((GOLDEN / "ntttcp-linux-sender-verbose.json").read_text(encoding="utf-8"))
    assert root.get("computername") == document["ntttcps"]["computername"] == '<a&"b"\\>'


def values(node):
    if isinstance(node, dict):
        for value in node.values():
            yield from values(value)
    elif isinstance(node, list):
        for value in node:
            yield from values(value)
    else:
        yield node


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("ntttcp-*.json")), ids=lambda p: p.stem)
def test_json(path):
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    (name, body), = document.items()
    assert name in ("ntttcps", "ntttcpr")
    assert all(isinstance(v, str) for v in values(document))
    assert re.search(r'"metric" : "MB/s",\n +"value" : "', text)
    assert [t["metric"] for t in body["throughputs"]] == ["MB/s", "mbps", "Bps", "buffer/s"]
    root = ElementTree.parse(path.with_suffix(".xml")).getroot()
    assert body["totalBytes"]["value"] == root.find("total_bytes").text
    assert body["parameters"]["sendSocketBuff"] == root.find("parameters/send_socket_buff").text
    assert len(body.get("threads", [])) == len(root.findall("thread"))
