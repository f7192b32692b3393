// Connections: how requests share them, and what a failure of one means.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, Server as TlsServer } from "node:tls";
import { after, test } from "node:test";
import { Transport, TransportError, type Request } from "../src/transport.js";
import { trustOf, type Trust } from "../src/trust.js";
import { authority, leaf } from "./certificates.js";
import { until } from "./fake.js";

const hour = 3_600_000;
const request = (path: string, timeoutMs = hour, urgent = false): Request => ({ verb: "GET", path, body: undefined, headers: {}, timeoutMs, urgent });
const answer = (body: string, headers = ""): string => `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Peer is a server that records what it reads, and answers each read by a script. */
interface Peer {
  readonly address: string;
  readonly sockets: Socket[];
  readonly reads: string[];
}

async function peer(reply: (read: string, socket: Socket) => void, server: Server = createServer()): Promise<Peer> {
  const sockets: Socket[] = [];
  const reads: string[] = [];
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      reads.push(data.toString());
      reply(data.toString(), socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, sockets, reads };
}

function transport(trust: Trust = { kind: "clear", token: "" }): Transport {
  const transport = new Transport(trust);
  after(() => transport.close());
  return transport;
}

const echo = (read: string, socket: Socket): void => void socket.write(answer(read.split(" ")[1] as string));

test("a connection carries one request after another, each in one piece", async () => {
  const server = await peer(echo);
  const t = transport();
  for (const path of ["/a", "/b", "/c"]) {
    assert.equal((await t.send(server.address, request(path))).body, path);
  }
  const post = { verb: "POST", path: "/d", body: '{"sequence":"ö"}', headers: { "Grpc-Timeout": "5m" }, timeoutMs: hour, urgent: false };
  await t.send(server.address, post);
  assert.equal(server.sockets.length, 1);
  assert.equal(server.reads.length, 4);
  assert.equal(server.reads[3], `POST /d HTTP/1.1\r\nHost: ${server.address}\r\nGrpc-Timeout: 5m\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"sequence":"ö"}`);
});

test("concurrent requests have a connection each, at most 64, and few of them stay idle", async () => {
  const held: [string, Socket][] = [];
  const server = await peer((read, socket) => held.push([read, socket]));
  const t = transport();
  const answers = Promise.all(Array.from({ length: 100 }, (_, i) => t.send(server.address, request(`/${i}`))));
  await until(() => held.length === 64);
  const first = held.splice(0);
  first.forEach(([read, socket]) => echo(read, socket));
  await until(() => held.length === 36);
  assert.equal(server.sockets.length, 64);
  held.forEach(([read, socket]) => echo(read, socket));
  assert.deepEqual((await answers).map(({ body }) => body), Array.from({ length: 100 }, (_, i) => `/${i}`));
  await until(() => server.sockets.filter((socket) => socket.readyState === "open").length === 8);
});

test("an urgent request waits for no other one, and goes on while the others are drained", async () => {
  const held: [string, Socket][] = [];
  const server = await peer((read, socket) => held.push([read, socket]));
  const t = transport();
  const slow = Array.from({ length: 64 }, () => t.send(server.address, request("/slow")));
  await until(() => held.length === 64);
  await assert.rejects(t.send(server.address, request("/queued", 20)), failure(/all 64 connections were in use/, { sent: false, late: true, queued: true }));
  const queued = t.send(server.address, request("/queued"));
  const first = t.send(server.address, request("/first", hour, true));
  await until(() => held.length === 65);
  echo(...held[64] as [string, Socket]);
  assert.equal((await first).body, "/first");
  await until(() => server.sockets[64]?.destroyed === true); // it takes none of the others
  const second = t.send(server.address, request("/second", hour, true));
  await until(() => held.length === 66);
  t.drain();
  const ended = await Promise.allSettled([...slow, queued]);
  assert.deepEqual(ended.map((e) => e.status === "rejected" && (e.reason as TransportError).sent), [...slow.map(() => true), false]);
  echo(...held[65] as [string, Socket]);
  assert.equal((await second).body, "/second");
});

test("a connection with bytes that no request asked for is not used again", async () => {
  const server = await peer(echo);
  const t = transport();
  assert.equal((await t.send(server.address, request("/a"))).body, "/a");
  server.sockets[0]?.write(answer("stale"));
  await once(server.sockets[0] as Socket, "close");
  assert.equal((await t.send(server.address, request("/b"))).body, "/b");
  assert.equal(server.sockets.length, 2);
});

test("a connection whose answer was followed by more is not used again", async () => {
  const server = await peer((read, socket) => void socket.write(answer(read.split(" ")[1] as string) + answer("stale")));
  const t = transport();
  for (const path of ["/a", "/b"]) {
    assert.equal((await t.send(server.address, request(path))).body, path);
  }
  assert.equal(server.sockets.length, 2);
});

test("a connection that the server closes between two requests is replaced", async () => {
  for (const headers of ["", "Connection: close\r\n"]) {
    const server = await peer((read, socket) => void socket.end(answer(read.split(" ")[1] as string, headers)));
    const t = transport();
    for (const path of ["/a", "/b"]) {
      assert.equal((await t.send(server.address, request(path))).body, path);
      await until(() => server.sockets.every((socket) => socket.destroyed));
    }
    assert.equal(server.sockets.length, 2);
  }
});

function failure(message: RegExp, expected: Partial<TransportError>): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof TransportError && message.test(error.message), String(error));
    const { sent, late, wrongPort, queued } = error;
    assert.deepEqual({ sent, late, wrongPort, queued }, { sent: true, late: false, wrongPort: false, queued: false, ...expected });
    return true;
  };
}

test("a request without a complete answer may have been received", async () => {
  const parts: [part: string, message: RegExp][] = [
    ["", /the connection was closed$/], ["HTTP/1.1 200", /closed during the answer/], [answer("ab").slice(0, -1), /closed during the answer/],
    ["HTTP/1.1 200 OK\r\nA : b\r\n\r\n", /malformed header/],
  ];
  for (const [part, message] of parts) {
    const server = await peer((_, socket) => void socket.end(part));
    await assert.rejects(transport().send(server.address, request("/a")), failure(message, {}), part);
  }
});

test("bytes that are no TLS, in the place of an answer, do not show that nothing was done", async () => {
  const ca = authority("0123456789abcdef");
  const member = leaf(ca);
  let inject: () => void = () => undefined;
  const server = await peer(() => inject(), createTlsServer({ cert: member.pem + ca.pem, key: member.key, ALPNProtocols: ["http/1.1"] }));
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.address.split(":")[1]), "127.0.0.1");
    client.pipe(upstream).pipe(client, { end: false });
    upstream.on("error", () => client.destroy());
    client.on("close", () => upstream.destroy());
    inject = () => {
      upstream.unpipe(client);
      client.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    };
  });
  const { address } = await peer(() => undefined, proxy);
  await assert.rejects(transport(trustOf({ pin: ca.pin })).send(address, request("/a")), failure(/the TLS connection broke/, {}));
  assert.equal(server.reads.length, 1);
  const clear = await peer((_, socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await assert.rejects(
    transport(trustOf({ pin: ca.pin })).send(clear.address, request("/a")), failure(/does not speak TLS/, { sent: false, wrongPort: true }));
});

test("a server that sent an interim answer speaks HTTP, whatever it sends later", async () => {
  for (const later of ["", "SSH-2.0\r\n"]) {
    const server = await peer((_, socket) => void socket.end(`HTTP/1.1 100 Continue\r\n\r\n${later}`));
    await assert.rejects(transport().send(server.address, request("/a")), failure(later === "" ? /closed during/ : /no answer of HTTP/, {}), later);
  }
});

test("a server that answered once speaks HTTP, whatever it sends later", async () => {
  let reads = 0;
  const server = await peer((read, socket) => (++reads === 1 ? echo(read, socket) : void socket.write("SSH-2.0\r\n")));
  const t = transport();
  await t.send(server.address, request("/a"));
  await assert.rejects(t.send(server.address, request("/b")), failure(/no answer of HTTP/, {}));
});

test("a request without an answer in time ends with its connection, so that no later one gets its answer", async () => {
  const server = await peer((read, socket) => {
    if (!read.includes("/slow")) {
      echo(read, socket);
    }
  });
  const t = transport();
  await t.send(server.address, request("/a"));
  await assert.rejects(t.send(server.address, request("/slow", 20)), failure(/no answer in time/, { late: true }));
  await once(server.sockets[0] as Socket, "close");
  assert.equal((await t.send(server.address, request("/b"))).body, "/b");
  assert.equal(server.sockets.length, 2);
});

test("after a request without a byte of an answer, no connection from before is used", async () => {
  for (const silence of ["frozen", "closed"]) {
    const held: [string, Socket][] = [];
    const old: Socket[] = [];
    const server = await peer((read, socket) => {
      if (!old.includes(socket)) {
        held.push([read, socket]);
      } else if (silence === "closed") {
        socket.destroy();
      }
    });
    const t = transport();
    const first = ["/a", "/b", "/c"].map((path) => t.send(server.address, request(path)));
    await until(() => held.length === 3);
    old.push(...server.sockets);
    held.splice(0).forEach(([read, socket]) => echo(read, socket));
    await Promise.all(first);
    await assert.rejects(t.send(server.address, request("/d", silence === "closed" ? hour : 20)), failure(/./, { late: silence === "frozen" }));
    const next = t.send(server.address, request("/e"));
    await until(() => held.length === 1);
    held.forEach(([read, socket]) => echo(read, socket));
    assert.equal((await next).body, "/e");
    await until(() => old.every((socket) => socket.destroyed));
  }
});

test("a request that finds no connection is not sent", async () => {
  const server = await peer(() => undefined, createTlsServer()); // without a certificate, no handshake completes
  const { pin } = authority("0123456789abcdef");
  await assert.rejects(transport(trustOf({ pin })).send(server.address, request("/a")), failure(/./, { sent: false }));
  const closed = createServer();
  const gone = await peer(() => undefined, closed);
  closed.close();
  await once(closed, "close");
  await assert.rejects(transport().send(gone.address, request("/a")), failure(/connection refused/, { sent: false }));
  await assert.rejects(transport().send("a\x01b:1", request("/a")), failure(/printable/, { sent: false }));
  await assert.rejects(transport().send(server.address, request("/a b")), failure(/printable/, { sent: false }));
});

test("all requests that wait for a connection fail if none comes up", async () => {
  const closed = createServer();
  const gone = await peer(() => undefined, closed);
  closed.close();
  await once(closed, "close");
  const t = transport();
  const ended = await Promise.allSettled(Array.from({ length: 100 }, () => t.send(gone.address, request("/a"))));
  assert.ok(ended.every(({ status }) => status === "rejected"));
});

test("closing ends requests in flight and those that wait", async () => {
  const server = await peer(() => undefined);
  const t = transport();
  const sends = Array.from({ length: 70 }, () => t.send(server.address, request("/a")));
  await until(() => server.reads.length === 64);
  t.close();
  const ended = await Promise.allSettled(sends);
  const sent = ended.map((e) => e.status === "rejected" && (e.reason as TransportError).sent);
  assert.equal(sent.filter((s) => s).length, 64);
  await until(() => server.sockets.every((socket) => socket.destroyed));
  assert.equal(server.sockets.length, 64);
});

test("TLS carries answers of many records, one request after another", async () => {
  const ca = authority("0123456789abcdef");
  const member = leaf(ca);
  const body = "x".repeat(300_000);
  const server = await peer(
    (read, socket) => void socket.write(answer(read.includes("/large") ? body : "small")),
    createTlsServer({ cert: member.pem + ca.pem, key: member.key, ALPNProtocols: ["http/1.1"] }),
  );
  const t = transport(trustOf({ pin: ca.pin }));
  for (let i = 0; i < 3; i++) {
    assert.equal((await t.send(server.address, request("/large"))).body, body);
    assert.equal((await t.send(server.address, request("/a"))).body, "small");
  }
  assert.equal(server.sockets.length, 1);
});
