import assert from "node:assert/strict";
import { test } from "node:test";
import { Layout } from "../src/index.js";
import { Lease } from "../src/lease.js";

const window = { token: 1n, fromTick: 100, untilTick: 130, observedMs: 0, maxWindowMs: 0 };

for (const fields of ["time:41,worker:3,sequence:3", "time:41,sequence:3,worker:3"]) {
  test(`a lease issues the first ID above each floor: ${fields}`, () => {
    const layout = new Layout({ name: "tiny", fields, epochAtMs: 0 });
    for (const worker of [0n, 5n, 7n]) {
      const of = (cell: number): bigint => layout.encode({ tick: BigInt(cell >> 3), worker, sequence: BigInt(cell & 7) });
      for (let after = of(99 << 3); after < of(112 << 3); after++) {
        const lease = new Lease(layout, { ...window, worker }, 0);
        const first = lease.take(102) as bigint;
        let cell = 102 << 3;
        while (of(cell) <= first || of(cell) <= after) {
          cell++;
        }
        const expected = cell >> 3 > 102 + 5 ? undefined : of(cell);
        assert.equal(lease.take(102, after), expected, `after ${after} on worker ${worker}`);
        const next = lease.take(108) as bigint;
        assert.ok(next > (expected ?? first), `${next} after ${expected}`);
      }
    }
  });
}

test("a floor does not take the lease beyond its window", () => {
  const layout = new Layout({ name: "tiny", fields: "time:41,worker:3,sequence:3", epochAtMs: 0 });
  const lease = new Lease(layout, { ...window, worker: 1n }, 0);
  assert.equal(lease.take(126, layout.encode({ tick: 129n, worker: 7n, sequence: 7n })), undefined);
  assert.equal(lease.place(126, layout.encode({ tick: 129n, worker: 7n, sequence: 7n })), "ended");
  assert.equal(lease.place(126, 1n << 47n), "unreachable");
  assert.equal(lease.place(126, (1n << 47n) - 1n), "unreachable");
});
