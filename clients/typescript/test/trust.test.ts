import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { after, test } from "node:test";
import { Client, SnowraftError, type ClientOptions } from "../src/index.js";
import { pinOfToken } from "../src/token.js";
import { pinOf, tlsOptions, trustOf, verifyChain } from "../src/trust.js";
import { authority, leaf, type Issued } from "./certificates.js";
import { FakeMember, idsFrom, patienceMs } from "./fake.js";
import { vectors } from "./vectors.js";

interface PinVectors {
  authorities: { pin: string; pem: string }[];
  servers: { about: string; pins: string[]; serverName: string; chain: string[]; accept?: boolean }[];
  tokens: { text: string; valid: boolean; pin?: string }[];
}
const v = vectors<PinVectors>("pins.json");
const mine = authority("0123456789abcdef");
const other = authority("fedcba9876543210");
const token = (v.tokens.find((t) => t.valid && t.pin === undefined) as { text: string }).text;

test("servers are accepted as in the vectors", () => {
  for (const { about, pins, serverName, chain, accept } of v.servers) {
    const trust = trustOf({ ca: v.authorities.filter((a) => pins.includes(a.pin)).map((a) => a.pem).join("") });
    assert.ok(trust.kind === "pinned", about);
    assert.equal(tlsOptions(trust, "h").servername, serverName, about);
    const verify = (): void => verifyChain(chain.map((pem) => new X509Certificate(pem)), pins);
    if (accept === true) {
      verify();
    } else {
      assert.throws(verify, { reason: "PIN_MISMATCH" }, about);
    }
  }
});

test("pins and tokens are read as in the vectors", () => {
  for (const { pin, pem } of v.authorities) {
    assert.equal(pinOf(new X509Certificate(pem)), pin);
  }
  for (const { text, valid, pin } of v.tokens) {
    if (valid) {
      assert.equal(pinOfToken(text), pin ?? "");
    } else {
      assert.throws(() => pinOfToken(text), (error) => SnowraftError.is(error) && (text === "" || !error.message.includes(text)));
    }
  }
});

/** secured starts a member with a certificate, and records the SNI and the tokens that it gets. */
async function secured(certificate: Issued, ca: Issued): Promise<{ server: Server; address: string; names: string[]; tokens: string[] }> {
  const names: string[] = [];
  const tokens: string[] = [];
  const issue = idsFrom(1n);
  const server = createServer({ cert: certificate.pem + ca.pem, key: certificate.key }, (request, response) => {
    tokens.push(request.headers.authorization ?? "");
    response.end(JSON.stringify(request.url === "/v1/ids:generate" ? issue({ count: 1 }, undefined as never) : { members: [] }));
  });
  server.on("secureConnection", (socket: TLSSocket) => names.push(String(socket.servername)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}`, names, tokens };
}

function open(address: string, options: Partial<ClientOptions>): Client {
  const client = new Client({ addresses: [address], timeoutMs: patienceMs, ...options });
  after(() => client.close());
  return client;
}

test("the pin is sent as SNI, and the token after the pin is verified", async () => {
  const member = await secured(leaf(mine), mine);
  const client = open(member.address, { token, pin: mine.pin });
  await client.nextId();
  assert.equal(member.names[0], mine.pin);
  assert.ok(member.tokens.includes(`Bearer ${token}`));
});

test("a CA of a cluster stands for its pin", async () => {
  const member = await secured(leaf(mine), mine);
  await open(member.address, { ca: mine.pem }).nextId();
  assert.equal(member.names[0], mine.pin);
});

test("no request and no token leave on a connection whose pin is not verified", async () => {
  const bytes: Buffer[] = [];
  const impostor = leaf(other);
  const forged = leaf({ ...mine, secret: other.secret }); // names the CA, and is signed by another key
  for (const [certificate, ca] of [[impostor, other], [impostor, mine], [forged, mine]] as const) {
    const accepted: TLSSocket[] = [];
    const server = createTlsServer({ cert: certificate.pem + ca.pem, key: certificate.key }, (socket) => {
      accepted.push(socket);
      socket.on("data", (data) => bytes.push(data));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = open(`127.0.0.1:${(server.address() as AddressInfo).port}`, { token, pin: mine.pin });
    try {
      await assert.rejects(client.nextId(), { reason: "PIN_MISMATCH", retry: false, unknown: false });
      await assert.rejects(client.generator().ready({ timeoutMs: 3_600_000 }), { reason: "PIN_MISMATCH" });
    } catch (error) {
      accepted.forEach((socket) => socket.destroy());
      throw error;
    } finally {
      await client.close();
      await new Promise((resolve) => server.close(resolve)); // once all connections have ended
    }
  }
  assert.equal(Buffer.concat(bytes).toString(), "");
});

test("another member serves if one is not of the cluster", async () => {
  const impostor = await secured(leaf(other), other);
  const member = await secured(leaf(mine), mine);
  const client = new Client({ addresses: [impostor.address, member.address], pin: mine.pin, token });
  after(() => client.close());
  for (let i = 0; i < 10; i++) {
    await client.nextId();
  }
  assert.deepEqual(impostor.tokens, []);
});

test("with a CA that is no cluster's, names and dates count", async () => {
  const foreign = leaf(mine); // any certificate that is not the CA of a cluster
  assert.equal(trustOf({ ca: foreign.pem }).kind, "verified");
  const member = await secured(leaf(mine), mine);
  await assert.rejects(open(member.address, { ca: foreign.pem, token }).nextId({ timeoutMs: 500 }), { reason: "UNAVAILABLE" });
  assert.deepEqual(member.tokens, []);
});

test("the environment does not switch the verification of servers off", async () => {
  const member = await secured(leaf(mine), mine);
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  try {
    for (const options of [{ tls: true }, { ca: leaf(mine).pem }]) {
      await assert.rejects(open(member.address, { ...options, token }).nextId({ timeoutMs: 500 }), { reason: "UNAVAILABLE" });
    }
  } finally {
    delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  }
  assert.deepEqual(member.tokens, []);
});

test("a token without a pin and a CA stays on this host", async () => {
  const member = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
  await open(member.address, { token }).nextId();
  assert.equal(member.of("/v1/ids:generate")[0]?.headers.authorization, `Bearer ${token}`);
});

test("errors of credentials do not show the token", () => {
  const wrong = `${token}x`;
  assert.throws(() => new Client({ addresses: ["a"], token: wrong }), (error) => SnowraftError.is(error) && !error.message.includes(wrong));
  assert.throws(() => new Client({ addresses: ["a"], pin: "short" }), { reason: "INVALID_ARGUMENT" });
  assert.throws(() => new Client({ addresses: ["a"], ca: "none" }), { reason: "INVALID_ARGUMENT" });
  assert.throws(() => new Client({ addresses: ["a"], caFile: "/none/ca.pem" }), { reason: "INVALID_ARGUMENT", message: /caFile cannot be read: .*\/none\/ca.pem/ });
});
