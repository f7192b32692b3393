// Requests as text and answers from bytes, without a connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerReader, ProtocolError, requestOf, type Answer } from "../src/http11.js";

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");
const ok = "HTTP/1.1 200 OK\r\n";

/** read returns what a reader makes of pieces and then of the end of the connection; undefined if the answer is incomplete. */
function read(pieces: Iterable<Buffer>): { answer: Answer | undefined; reusable: boolean } {
  const reader = new AnswerReader();
  let answer: Answer | undefined;
  for (const piece of pieces) {
    assert.equal(answer, undefined, "bytes after the answer");
    answer = reader.feed(piece);
  }
  answer ??= reader.end();
  return { answer, reusable: reader.reusable };
}

/** split yields bytes in pieces of n, in one buffer, as a connection reads them. */
function* split(data: Buffer, n: number): Generator<Buffer> {
  const buffer = Buffer.alloc(n);
  for (let at = 0; at < data.length; at += n) {
    yield buffer.subarray(0, data.copy(buffer, 0, at));
  }
}

const answers: readonly [text: string, body: string, reusable: boolean][] = [
  [`${ok}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`, "{}", true],
  [`${ok}content-length:\t 2 \r\n\r\n{}`, "{}", true],
  [`${ok}Content-Length: 0\r\n\r\n`, "", true],
  [`${ok}Transfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n00A \r\n0123456789\r\n0\r\n\r\n`, "abc0123456789", true],
  [`${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0;last\r\nTrailer: 1\r\nAnother: 2\r\n\r\n`, "x", true],
  [`${ok}\r\nuntil the end`, "until the end", false],
  ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204\r\n\r\n", "", true],
  ["HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "", true],
  [`${ok}Connection: keep-alive, Close\r\nContent-Length: 1\r\n\r\nx`, "x", false],
  ["HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", false],
];

test("answers are read, in whatever pieces they arrive", () => {
  for (const [text, body, reusable] of answers) {
    for (const n of [1, 2, 3, 7, 1_000]) {
      const got = read(split(bytes(text), n));
      assert.deepEqual([got.answer?.body, got.reusable], [body, reusable], `${JSON.stringify(text)} in pieces of ${n}`);
    }
  }
});

test("a reader reads one answer after another, and the bytes of others do not mix", () => {
  const reader = new AnswerReader();
  for (const [text, body, reusable] of answers.filter(([, , reusable]) => reusable)) {
    const buffer = bytes(text);
    const answer = reader.feed(buffer);
    buffer.fill(0); // the connection reads into it again
    assert.deepEqual([answer?.body, reader.reusable, reader.began], [body, reusable, false]);
  }
  const [head, body] = [bytes(`${ok}Content-Length: 4\r\nContent-Type: a/b\r\n\r\nab`), bytes("cd")];
  assert.equal(reader.feed(head), undefined);
  assert.ok(reader.began);
  head.fill(0);
  assert.deepEqual(reader.feed(body), { status: 200, type: "a/b", body: "abcd" });
});

test("bytes after an answer make the connection unusable", () => {
  for (const [text, body] of answers.filter(([, , reusable]) => reusable)) {
    const got = read([bytes(`${text}H`)]);
    assert.deepEqual([got.answer?.body, got.reusable], [body, false], text);
  }
});

test("truncated answers are no answers", () => {
  for (const [text] of answers.filter(([, , reusable]) => reusable)) {
    for (let n = 0; n < text.length; n++) {
      assert.equal(read([bytes(text.slice(0, n))]).answer, undefined, text.slice(0, n));
    }
  }
});

const hostile = [
  "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
  "HTTP/1.1 100 X\r\n\r\n".repeat(5),
  `${ok}No colon\r\n\r\n`, `${ok}: x\r\n\r\n`, `${ok} folded: x\r\n\r\n`, `${ok}A: b\r\n folded\r\n\r\n`, `${ok}A : x\r\n\r\n`, `${ok}A\0: x\r\n\r\n`,
  `${ok}A: x\nContent-Length: 0\r\n\r\n`, `${ok}A: x\rB: y\r\n\r\n`, `${ok}A: \0\r\n\r\n`,
  `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`, `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, `${ok}Content-Length: 1, 1\r\n\r\nx`,
  ...["", "-1", "+1", "1x", "0x1", "1.0", "1e3", "9".repeat(16), `${(64 << 20) + 1}`].map((length) => `${ok}Content-Length: ${length}\r\n\r\nx`),
  `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ...["gzip", "gzip, chunked", "identity", ""].map((encoding) => `${ok}Transfer-Encoding: ${encoding}\r\n\r\n0\r\n\r\n`),
  ...["", "-1", "+1", "0x1", " 1", "1 2", "g", "100000000", "ffffffff", "4000001", `1;${"x".repeat(256)}`].map((size) => `${ok}Transfer-Encoding: chunked\r\n\r\n${size}\r\nx\r\n`),
  `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nabc`, `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nx${"y".repeat(300)}`, `${ok}Transfer-Encoding: chunked\r\n\r\n${"1".repeat(300)}`,
  `${ok}A: ${"x".repeat(16_500)}`, `${ok}A: ${"x".repeat(16_500)}\r\n\r\n`, `${ok}${"A: b\r\n".repeat(4_000)}\r\n`,
  `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${"A: b\r\n".repeat(4_000)}\r\n`, `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\nA: ${"x".repeat(16_500)}`,
];

test("answers that break the protocol are refused, in whatever pieces they arrive", () => {
  for (const text of hostile) {
    for (const n of [1, 5, 1_000_000]) {
      const fails = (): unknown => read(split(bytes(text), n));
      assert.throws(fails, (error) => error instanceof ProtocolError && !error.foreign, `${JSON.stringify(text.slice(0, 100))} in pieces of ${n}`);
    }
  }
});

test("bytes of another protocol are recognized by the first ones", () => {
  const settings = "\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0";
  for (const [text, message] of [
    [settings, /speaks gRPC/], ["\x15\x03\x03\0\x02\x02\x46", /expects TLS/], ["SSH-2.0-OpenSSH\r\n", /does not speak HTTP/], ["HTTP/2 200\r\n\r\n", /does not speak HTTP/],
    ["\n", /does not speak HTTP/], ["HTTP/1-", /does not speak HTTP/],
  ] as const) {
    assert.throws(() => read([bytes(text)]), (error) => error instanceof ProtocolError && error.foreign && message.test(error.message), text);
  }
});

test("a body without a length is bounded as it arrives", () => {
  const piece = Buffer.alloc(1 << 20, "x");
  const bodies: [head: string, pieces: () => Buffer[]][] = [
    [`${ok}\r\n`, () => [piece]],
    [`${ok}Transfer-Encoding: chunked\r\n\r\n`, () => [bytes("100000\r\n"), piece, bytes("\r\n")]],
  ];
  for (const [head, pieces] of bodies) {
    const reader = new AnswerReader();
    reader.feed(bytes(head));
    const feed = (): void => pieces().forEach((p) => assert.equal(reader.feed(p), undefined));
    for (let mib = 0; mib < 64; mib++) {
      feed();
    }
    assert.throws(feed, ProtocolError);
  }
});

test("random bytes cause no other error", () => {
  const parts = [
    "HTTP/1.1 200 OK", "\r\n", "\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked", "5", ": ", "x", "\0", "\n", "HTTP/1.1 100 X", "0\r\n\r\n", "Connection: close",
  ];
  let seed = 1;
  const random = (n: number): number => (seed = (seed * 48_271) % 0x7fffffff) % n; // repeats the same texts in each run
  let complete = 0;
  for (let i = 0; i < 20_000; i++) {
    const text = ok + Array.from({ length: random(12) }, () => parts[random(parts.length)]).join("");
    try {
      const reader = new AnswerReader();
      for (const piece of split(bytes(text), 1 + random(30))) {
        complete += reader.feed(piece) === undefined ? 0 : 1;
      }
    } catch (error) {
      assert.ok(error instanceof ProtocolError, String(error));
    }
  }
  assert.ok(complete > 0);
});

test("requests have their length in bytes, and no argument adds a line", () => {
  assert.equal(requestOf("GET", "[::1]:7701", "/v1/members", { A: "b" }, undefined), "GET /v1/members HTTP/1.1\r\nHost: [::1]:7701\r\nA: b\r\n\r\n");
  assert.equal(
    requestOf("POST", "h:1", "/p", {}, '{"sequence":"größe"}'),
    'POST /p HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{"sequence":"größe"}',
  );
  for (const wrong of ["a\r\nB: c", "a\n", "\r", "\0", "ü", "\u010d\u010a"]) { // the last one would be CR LF in Latin-1
    assert.throws(() => requestOf("GET", wrong, "/p", {}, undefined), ProtocolError, JSON.stringify(wrong));
    assert.throws(() => requestOf("GET", "h:1", wrong, {}, undefined), ProtocolError, JSON.stringify(wrong));
    assert.throws(() => requestOf("GET", "h:1", "/p", { A: wrong }, undefined), ProtocolError, JSON.stringify(wrong));
  }
  assert.throws(() => requestOf("GET", "h:1", "/a b", {}, undefined), ProtocolError);
});
