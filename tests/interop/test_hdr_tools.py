# SPDX-License-Identifier: MIT
"""The log of -o hdr, decoded by the tools it is for: hdr-histogram-js and Java's log processor say the same as its bytes."""

import json
import math
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "netns"))
from kit import net as kitnet  # noqa: E402
from test_latency import read_log  # noqa: E402

JARS = ("/usr/share/java/hdrhistogram.jar", "/usr/share/java/HdrHistogram.jar")
PERCENTILES = (0, 1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100)
DECODE = """
const hdr = require('hdr-histogram-js');
const out = {};
for (const line of require('fs').readFileSync(0, 'utf8').split('\\n')) {
  const found = line.match(/^Tag=([^,]+),[^,]+,[^,]+,[^,]+,(.+)$/);
  if (!found) continue;
  const h = hdr.decodeFromCompressedBase64(found[2]);
  out[found[1]] = { count: h.totalCount, max: h.maxValue, mean: h.mean,
                    at: %s.map((p) => h.getValueAtPercentile(p)) };
}
console.log(JSON.stringify(out));
""" % json.dumps(PERCENTILES)


@pytest.fixture(params=["udp", "tcp-loaded"])
def log(request, pair, netdyno):
    """A log as text, and by tag what its bytes say: (count, lowest value) of each bucket, ascending."""
    args = {"udp": ("-u", "--rate", "5k"), "tcp-loaded": ("-q", "2", "--load", "stream,rate=50M")}[request.param]
    done = pair.a.run([netdyno, "latency", pair.server.host.ip4, "-p", pair.server.port, "-t", "1s", "--warmup", "0s",
                       *args, "-o", "hdr"], timeout=60 * kitnet.slow())
    assert done.returncode == 0, done.stderr
    tags = read_log(done.stdout)
    assert set(tags) == ({"response", "service"} if request.param == "udp" else {"service", "idle-service"})
    return done.stdout, {tag: sorted((low, n) for n, low in rows) for tag, rows in tags.items()}


def highest(low):
    """Of the bucket that begins there, with three significant digits."""
    return low + (1 << max(low.bit_length() - 11, 0)) - 1


def at_count(rows, wanted):
    """The bucket in which the wanted-th value is, and how many values it and those before hold."""
    total = 0
    for low, n in rows:
        total += n
        if total >= wanted:
            return low, total
    raise AssertionError(f"there are only {total} values")


@pytest.mark.plain
def test_java_script(log):
    """hdr-histogram-js, with the package where node finds it: npm install -g hdr-histogram-js."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    roots = [os.environ.get("NODE_PATH", "")]
    if shutil.which("npm"):
        roots.append(subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, timeout=60).stdout.strip())
    env = {**os.environ, "NODE_PATH": ":".join(filter(None, roots))}
    if subprocess.run(["node", "-e", "require('hdr-histogram-js')"], env=env, capture_output=True).returncode != 0:
        pytest.skip("hdr-histogram-js is not installed (npm install -g hdr-histogram-js)")
    text, tags = log
    done = subprocess.run(["node", "-e", DECODE], input=text, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    decoded = json.loads(done.stdout)
    assert set(decoded) == set(tags)
    for tag, rows in tags.items():
        count = sum(n for _, n in rows)
        assert decoded[tag]["count"] == count
        assert decoded[tag]["max"] == highest(rows[-1][0])
        for p, value in zip(PERCENTILES, decoded[tag]["at"]):
            low, _ = at_count(rows, max(math.ceil(p / 100 * count - 1e-9), 1))
            assert low <= value <= highest(low), f"{tag}: {p} %"


@pytest.mark.plain
def test_java(log, tmp_path):
    """Each row of the log processor: a value, and how many there are up to it."""
    jar = next((j for j in JARS if os.path.exists(j)), None)
    if not shutil.which("java") or not jar:
        pytest.skip("Java, or its HdrHistogram, is not installed (Debian: default-jre-headless, libhdrhistogram-java)")
    text, tags = log
    file = tmp_path / "log.hdr"
    file.write_text(text)
    for tag, rows in tags.items():
        done = subprocess.run(["java", "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", str(file), "-tag", tag,
                               "-outputValueUnitRatio", "1"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        seen = 0
        for line in done.stdout.splitlines():
            fields = line.split()
            if len(fields) not in (3, 4) or not fields[0][0].isdigit() or line.startswith("#"):
                continue
            low, total = at_count(rows, int(fields[2]))
            assert total == int(fields[2]) and low <= float(fields[0]) <= highest(low), line
            seen += 1
        assert seen > 5, done.stdout
        count = sum(n for _, n in rows)
        assert f"Total count    = {count:12d}" in done.stdout
        assert f"Max     = {highest(rows[-1][0]):12.3f}" in done.stdout
