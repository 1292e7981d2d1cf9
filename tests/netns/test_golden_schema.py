# SPDX-License-Identifier: MIT
"""The committed reports are valid: JSON by the schema the program writes, XML and CSV by their parsers."""
import csv
import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("report-*"))


def golden(suffix):
    found = [p for p in GOLDEN if p.suffix == suffix]
    return pytest.mark.parametrize("path", found, ids=[p.stem for p in found])


@pytest.fixture(scope="module")
def schema():
    """What the program under test writes, else what is committed."""
    program = os.environ.get("NETDYNO")
    if program and os.path.exists(program):
        done = subprocess.run([program, "--gen", "schema"], capture_output=True, timeout=30)
        if done.returncode == 0 and done.stdout:
            return json.loads(done.stdout)
    committed = ROOT / "doc" / "results.schema.json"
    if committed.exists():
        return json.loads(committed.read_text())
    pytest.skip("no schema: build the program first")


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def closed(node):
    """The schema without room for keys that it does not name; a plan has rows of its own."""
    if isinstance(node, list):
        return [closed(n) for n in node]
    if not isinstance(node, dict):
        return node
    out = {k: closed(v) for k, v in node.items()}
    if isinstance(node.get("properties"), dict) and node.get("type") == "object":
        out["additionalProperties"] = False
    return out


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def documents(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line, parse_constant=refuse_constant) for line in text.splitlines()]
    return [json.loads(text, parse_constant=refuse_constant)]


@golden(".json")
def test_json(path, validator):
    document, = documents(path)
    validator.validate(document)
    assert document["tool"] in ("netdyno", None)
    assert "directions" in document and "event" not in document


@golden(".jsonl")
def test_json_lines(path, validator):
    events = documents(path)
    for event in events:
        validator.validate(event)
    names = [e["event"] for e in events]
    assert names[-1] == "result" and names.count("result") == 1
    assert set(names[:-1]) <= {"listening", "connected", "phase", "interval", "warning"}


@golden(".json")
def test_schema_names_every_key(path, schema, validator):
    type(validator)(closed(schema)).validate(documents(path)[0])


@golden(".json")
def test_schema_wants_every_key(path, validator):
    """It would notice if a figure were missing, or were a text."""
    document, = documents(path)
    del document["directions"][0]["goodput_bps"]
    assert not validator.is_valid(document)
    document["directions"][0]["goodput_bps"] = "fast"
    assert not validator.is_valid(document)


def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, path + (key,))
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value, path + ("[]",))
    elif node is not None:
        yield path


@golden(".xml")
def test_xml_has_what_json_has(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "netdyno"

    def elements(node, way=()):
        children = list(node)
        if not children:
            if (node.text or "").strip() or not node.text:
                yield way
            return
        tags = [c.tag for c in children]
        for child in children:
            is_item = way and (tags.count(child.tag) == len(tags)) and way[-1] in LISTS
            yield from elements(child, way + (("[]",) if is_item else (child.tag,)))

    document, = documents(path.with_suffix(".json"))
    assert sorted(elements(root)) == sorted(leaves(document))


LISTS = {"directions", "ledger", "intervals", "flow_rows", "warnings", "parts", "cpus",
         "bind", "workloads", "trials", "sizes", "members", "totals", "queues", "irqs", "limits"}


@golden(".csv")
def test_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    document, = documents(path.with_suffix(".json"))
    assert all(None not in row and None not in row.values() for row in rows)
    for direction in document["directions"]:
        mine = [row for row in rows if row["direction"] == direction["label"]
                and row["row"] in ("interval", "total")]
        total, = [row for row in mine if row["row"] == "total"]
        measured = [row for row in mine if row["row"] == "interval" and row["phase"] == "measure"]
        assert len(mine) == len(direction["intervals"]) + 1
        for key in ("received_bytes", "sent_bytes"):
            if direction[key] is None:
                assert total[key] == ""
                continue
            assert int(total[key]) == direction[key]
            assert sum(int(row[key]) for row in measured) == direction[key]
