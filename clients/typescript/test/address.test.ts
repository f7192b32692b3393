// Addresses at which no member speaks HTTP.
import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { after, test } from "node:test";
import { Client, type ClientOptions } from "../src/index.js";
import { authority, leaf } from "./certificates.js";
import { connect, defaultLayout, failure, FakeMember, idsFrom, pass, until } from "./fake.js";

const hour = 3_600_000;

async function addressOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** saying returns the address of a server that answers each first bytes with the given ones. */
async function saying(bytes: string | Buffer): Promise<string> {
  return addressOf(createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(bytes));
  }));
}

/** unused returns an address at which nothing listens. */
async function unused(): Promise<string> {
  const server = createServer();
  const address = await addressOf(server);
  await new Promise((resolve) => server.close(resolve));
  return address;
}

function open(addresses: string[], options: Partial<ClientOptions> = {}): Client {
  const client = new Client({ addresses, timeoutMs: hour, ...options });
  after(() => client.close({ timeoutMs: 1 }).catch(() => undefined));
  return client;
}

const http = (head: string, body: string): string => `HTTP/1.1 ${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const settings = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 64, 0]);
const strangers: readonly [what: string, bytes: string | Buffer, message: RegExp][] = [
  ["gRPC", settings, /: the port speaks gRPC; use the port for HTTP, 7701 by default \[UNAVAILABLE\]$/],
  ["a TLS alert", Buffer.from([21, 3, 3, 0, 2, 2, 70]), /: the port expects TLS; give a token with a pin, or a CA \[UNAVAILABLE\]$/],
  ["HTTP with TLS", http("400 Bad Request", "Client sent an HTTP request to an HTTPS server."), /: the port expects TLS; give a token with a pin/],
  ["a page", http("404 Not Found", "<html>"), /not a Snowraft member .*404/],
  ["SSH", "SSH-2.0-OpenSSH_9.2\r\n", /does not speak HTTP/],
];

for (const [what, bytes, message] of strangers) {
  test(`a port with ${what} is refused at once`, async () => {
    const stranger = await saying(bytes);
    const expected = { reason: "UNAVAILABLE", retry: false, unknown: false, message };
    await assert.rejects(open([stranger]).nextId(), expected);
    await assert.rejects(open([stranger]).sequence("s").setNext(1n), expected);
    await assert.rejects(open([stranger]).generator().ready(), expected);
    await assert.rejects(open([stranger]).buffer().ready(), expected);
    const member = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
    await open([stranger, member.address]).nextId();
  });
}

test("a port for gRPC with TLS is refused at once", async () => {
  const ca = authority("0123456789abcdef");
  const member = leaf(ca);
  const address = await addressOf(createTlsServer({ cert: member.pem + ca.pem, key: member.key, ALPNProtocols: ["h2"] }));
  await assert.rejects(open([address], { pin: ca.pin }).nextId(), { reason: "UNAVAILABLE", retry: false, message: /speaks gRPC/ });
});

test("TLS to a port without it is refused at once", async () => {
  const address = await saying(http("400 Bad Request", ""));
  const { pin } = authority("0123456789abcdef");
  await assert.rejects(open([address], { pin }).nextId(), { reason: "UNAVAILABLE", retry: false, message: /does not speak TLS/ });
});

test("if no member can be reached, the error names the addresses, the cause and what to check", async () => {
  const addresses = [await unused(), await unused()].sort();
  const client = open(addresses, {
    onEvent: (event) => {
      if (event.type === "try" && event.method === "/v1/ids:generate") {
        pass(hour / addresses.length);
      }
    },
  });
  await assert.rejects(client.nextId(), (error: Error) => {
    const [, tried, rest] = /^snowraft: no member can be reached \(tried: (.*?)\)(.*)$/.exec(error.message) ?? [];
    assert.deepEqual(tried?.split(", ").sort(), addresses);
    assert.equal(rest, ": connection refused; check the addresses: they are host:port of the HTTP ports, 7701 by default [UNAVAILABLE]");
    return true;
  });
});

test("a generator without a window says why from the first failed try on, and warns once", async () => {
  const warnings: string[] = [];
  const address = await unused();
  const client = open([address], { logger: { info: () => undefined, warn: (text) => warnings.push(text) } });
  const generator = client.generator();
  assert.throws(() => generator.next(), { message: "snowraft: no window was granted yet; await ready() first [WINDOW_ENDED]" });
  await until(() => generator.status().problem?.message.includes("granted yet: ") === true);
  const cause = `no member can be reached (tried: ${address}): connection refused`;
  assert.ok(generator.status().problem?.message.startsWith(`snowraft: no window was granted yet: ${cause}; check`));
  await assert.rejects(generator.ready({ timeoutMs: 100 }), { reason: "WINDOW_ENDED" });
  assert.equal(warnings.length, 1);
  assert.ok(warnings[0]?.includes(cause));
});

test("a generator whose worker is not granted says why", async () => {
  const member = await FakeMember.start({ "/v1/layouts/default": () => defaultLayout, "/v1/workers:acquire": () => failure("NO_LEADER") });
  const generator = connect([member]).generator();
  await until(() => generator.status().problem?.message.includes("no window was granted yet: ") === true);
  assert.match(generator.status().problem?.message ?? "", /: because of NO_LEADER \[NO_LEADER\] \[WINDOW_ENDED\]$/);
});
