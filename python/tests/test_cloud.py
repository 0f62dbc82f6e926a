"""Logs in object stores and on web servers: an S3 of moto on this machine, and a small server that misbehaves as asked."""

import gzip
import json
import re
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import counterpoint as cp

pa = pytest.importorskip("pyarrow", reason="tables are written with pyarrow")
import pyarrow.csv  # noqa: E402
import pyarrow.feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402


def facts(where, roles):
    return cp.describe(where, **roles).to_dict()


def refusal(where, roles):
    """What is said when a log cannot be described."""
    with pytest.raises(cp.Error) as refused:
        cp.describe(where, **roles)
    return str(refused.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory, moons):
    """The log in every format; the Parquet file has ten row groups, and columns that nobody asks for."""
    home = tmp_path_factory.mktemp("log")
    rng = np.random.default_rng(1)
    table = pa.table({**moons, **{f"other{k}": rng.normal(size=3000) for k in range(40)}})
    pq.write_table(table, home / "log.parquet", row_group_size=300)
    plain = table.select(list(moons))
    pyarrow.csv.write_csv(plain, home / "log.csv")
    (home / "log.csv.gz").write_bytes(gzip.compress((home / "log.csv").read_bytes()))
    lines = "".join(json.dumps(row) + "\n" for row in plain.to_pylist())
    (home / "log.jsonl").write_text(lines)
    pyarrow.feather.write_feather(plain, home / "log.arrow", chunksize=500)
    for day in (1, 2, 3):
        (home / f"day={day}").mkdir()
        pq.write_table(plain.slice((day - 1) * 1000, 1000), home / f"day={day}" / "part-0.parquet")
    (home / "day=1" / "_SUCCESS").write_text("")
    return home


FORMATS = ("parquet", "csv", "csv.gz", "jsonl", "arrow")


@pytest.fixture(scope="module")
def s3(files):
    """A bucket `logs` with these files, and the environment that leads to it."""
    server = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    _, port = moto.get_host_and_port()
    at = f"http://127.0.0.1:{port}"
    put = lambda name, data: urllib.request.urlopen(  # noqa: E731
        urllib.request.Request(f"{at}/{name}", data=data, method="PUT", headers={"content-type": "binary/octet-stream"})
    ).close()
    put("logs", b"")
    for path in sorted(p for p in files.rglob("*") if p.is_file()):
        put(f"logs/{path.relative_to(files)}", path.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", at)
        patch.setenv("AWS_ACCESS_KEY_ID", "someone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_REGION", "us-east-1")
        yield at
    moto.stop()


@pytest.mark.parametrize("ending", FORMATS)
def test_an_object_is_the_file(s3, files, roles, ending):
    assert facts(f"s3://logs/log.{ending}", roles) == facts(files / f"log.{ending}", roles)


def test_patterns_and_prefixes_are_folders(s3, files, roles):
    with_day = {**roles, "context": ["x0", "x1", "day"]}
    want = facts(f"{files}/day=*/part-*.parquet", with_day)
    assert want["rows"] == 3000
    assert want["contexts"][2]["quantiles"][-1] == 3
    assert facts("s3://logs/day=*/part-*.parquet", with_day) == want
    assert facts("s3://logs/day=*", with_day) == want
    one = {k: v for k, v in with_day.items()}
    assert facts(["s3://logs/day=2/"], roles) == facts(str(files / "day=2"), roles)
    assert facts("s3://logs/day=[12]/*.parquet", one)["rows"] == 2000


def test_a_remote_log_gives_the_policy_of_the_file(s3, files, roles):
    fit = {"policy": "linear", "starts": 1, "proximal_steps": 0, "certify": False}
    here, there = (cp.Learner(**fit).fit(str(w), **roles).policy_ for w in (files / "log.parquet", "s3://logs/log.parquet"))
    assert here.to_json() == there.to_json()


def test_what_is_not_there_is_said(s3, roles):
    said = lambda where: re.sub(r"\s+", " ", refusal(where, roles))  # noqa: E731
    assert said("s3://logs/none.parquet").startswith("s3://logs/none.parquet: there is no such object")
    assert "no such bucket" in said("s3://nobody/log.csv") or "no such object" in said("s3://nobody/log.csv")
    assert said("s3://logs/none/*.parquet").startswith("s3://logs/none/*.parquet: the pattern matches no")
    assert "the prefix holds no" in said("s3://logs/day=7/")
    assert "two formats" in said("s3://logs/")
    assert "would count twice" in said(["s3://logs/log.csv", "s3://logs/log.csv"])
    assert "lost a slash" in said("s3:/logs/log.csv")
    assert "must lie on a disk" in said("s3://logs/log.cps")


def test_the_command_line_packs_what_lies_in_a_bucket(s3, files, command, tmp_path):
    columns = ["--context", "x0,x1", "--action", "action", "--reward", "reward", "--propensity", "propensity"]
    done = command("pack", "s3://logs/log.csv.gz", *columns, "-o", "log.cps")
    assert done.returncode == 0, done.stderr
    there, here = (command("describe", w, *c, "--json") for w, c in (("log.cps", []), (files / "log.csv.gz", columns)))
    there, here = (json.loads(d.stdout) for d in (there, here))
    assert {k: v for k, v in there.items() if k != "log"} == {k: v for k, v in here.items() if k != "log"}


class Web(BaseHTTPRequestHandler):
    """Serves files in parts, and counts; the server's `manners` say what else it does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        path = self.path.split("?")[0]
        manners = server.manners
        if "refuse" in manners:
            return self.send(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", {})
        file = server.home / path.rsplit("/", 1)[-1]
        if not file.is_file():
            return self.send(404, b"", {})
        data = file.read_bytes()
        head = {"Last-Modified": "Wed, 18 Nov 2026 10:00:00 GMT"}
        if "no tag" not in manners:
            head["ETag"] = '"1"'
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked and "whole" not in manners:
            first, last = asked.groups()
            start = int(first) if first else len(data) - int(last)
            end = min(int(last) + 1, len(data)) if first and last else len(data)
            head["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
            return self.send(206, data[start:end], head)
        return self.send(200, data, head)

    do_HEAD = do_GET  # noqa: N815

    def send(self, status, body, head):
        server = self.server
        self.send_response(status)
        for name, value in {**head, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = server.cuts > 0 and len(body) > 5000
        if cut:
            server.cuts -= 1
            body = body[: len(body) // 2]
        server.sent += len(body)
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            return  # who asked has read what it wanted
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def web(files):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.daemon_threads = True
    server.home, server.sent, server.cuts, server.manners = files, 0, 0, set()
    server.at = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("ending", FORMATS)
def test_a_page_of_the_web_is_the_file(web, files, roles, ending):
    assert facts(f"{web.at}/log.{ending}?signature=a/b.c", roles) == facts(files / f"log.{ending}", roles)


def test_only_the_wanted_columns_are_fetched(web, files, roles):
    facts(f"{web.at}/log.parquet", roles)
    size = (files / "log.parquet").stat().st_size
    assert 0 < web.sent < 0.4 * size, (web.sent, size)  # 5 of 45 columns, and the end of the file


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_read_that_breaks_off_is_taken_up_again(web, files, roles, ending):
    web.cuts = 2
    assert facts(f"{web.at}/log.{ending}", roles) == facts(files / f"log.{ending}", roles)
    assert web.cuts == 0


def test_a_read_that_cannot_be_taken_up_is_an_error(web, roles):
    web.cuts, web.manners = 1000, {"no tag"}
    said = refusal(f"{web.at}/log.csv?signature=secret", roles)
    assert "log.csv" in said
    assert "secret" not in said


def test_a_server_without_parts_serves_text_and_says_what_parquet_needs(web, files, roles):
    web.manners = {"whole"}
    assert facts(f"{web.at}/log.csv.gz", roles) == facts(files / "log.csv.gz", roles)
    said = refusal(f"{web.at}/log.parquet", roles)
    assert "does not hand out parts" in said


def test_a_refusal_names_the_credentials_and_no_secret(web, roles, monkeypatch):
    web.manners = {"refuse"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", web.at)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    for where in ("s3://logs/log.parquet", "s3://logs/day=*/part-*.parquet"):
        said = refusal(where, roles)
        assert said.startswith(where), said
        assert "access is refused" in said
        assert "AWS_SECRET_ACCESS_KEY" in said
        assert "very-secret" not in said
    said = refusal(f"{web.at}/log.csv?sig=very-secret", roles)
    assert "access is refused" in said
    assert "very-secret" not in said


def test_nobody_at_home_is_an_error(roles):
    said = refusal("http://127.0.0.1:9/log.csv", roles)
    assert "cannot be read" in said
    said = refusal("https://example.invalid/logs/", roles)
    assert "cannot be asked which files" in said


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate is made with openssl")
def test_https_trusts_the_certificates_of_the_machine_and_no_others(web, files, roles, tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    told = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    no_authority = ["-addext", "basicConstraints=critical,CA:FALSE"]  # one that could sign others is no server's
    subprocess.run([*told.split(), *no_authority, "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    where = f"https://localhost:{web.server_address[1]}/log.csv"
    code = "import json, sys, counterpoint as cp; print(json.dumps(cp.describe(sys.argv[1], **json.loads(sys.argv[2])).to_dict()))"
    run = lambda **more: subprocess.run(  # noqa: E731
        [sys.executable, "-c", code, where, json.dumps(roles)], capture_output=True, text=True, env={**__import__("os").environ, **more}
    )
    trusted = run(SSL_CERT_FILE=str(cert))
    assert trusted.returncode == 0, trusted.stderr
    assert json.loads(trusted.stdout)["rows"] == facts(files / "log.csv", roles)["rows"]
    assert run().returncode != 0
