// A program of its own, as it runs without close and without a test around it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { FakeMember, idsFrom } from "./fake.js";
import { Leases } from "./lease_kit.js";

const module = JSON.stringify(new URL("../src/index.js", import.meta.url).href);

/** run runs a program until it ends. */
async function run(program: string, signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", "ignore", "inherit"], signal });
  assert.deepEqual(await once(child, "exit"), [0, null]);
}

test("a program ends without close, although its time limit is long", async (t) => {
  const { member } = await Leases.start();
  member.on("/v1/ids:generate", idsFrom(1n));
  member.on("/v1/blocks:allocate", () => ({ block: { token: "1", first: "1", count: "100", increment: "1", generation: "1" } }));
  await run(`
    import { Client } from ${module};
    const client = new Client({ addresses: ["${member.address}"], timeoutMs: 3_600_000 });
    const [blocks, buffer, generator] = [client.blocks("s"), client.buffer(), client.generator()];
    await Promise.all([blocks.ready(), buffer.ready(), generator.ready(), client.nextId()]);
    blocks.next(), buffer.next(), generator.next();`, t.signal);
});

test("a program ends without close, although the first address of a host refuses", async (t) => {
  const member = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
  await run(`
    import dns from "node:dns";
    import { Client } from ${module};
    dns.lookup = (host, options, done) => process.nextTick(done, null, [{ address: "::1", family: 6 }, { address: "127.0.0.1", family: 4 }]);
    await new Client({ addresses: "two.test:${member.address.split(":")[1]}" }).nextId();`, t.signal);
});
