// When the blocks of a sequence serve, by readings of the clock.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelf } from "../src/shelf.js";
import type { Block } from "../src/stock.js";

const ends = 1_000; // Unix ms
const block: Block = {
  token: 1n, first: 1n, count: 10, increment: 1n, generation: 1n, period: "2026-11-30", periodEndMs: ends, durationMs: 1_000, minCount: 1, maxCount: 10,
};

test("a block is not used after the end of its period", () => {
  const shelf = new Shelf();
  shelf.put(block, { wall: ends - 2, mono: 0 }, { wall: ends - 2, mono: 0 });
  assert.equal(shelf.take(1, { wall: ends - 1, mono: 1 })?.first, 1n);
  assert.equal(shelf.take(1, { wall: ends, mono: 2 }), undefined);
  assert.equal(shelf.left({ wall: ends, mono: 2 }), 0);
});

test("a block that was granted after the end of its period by this clock serves for 100 ms", () => {
  const shelf = new Shelf();
  shelf.put(block, { wall: ends, mono: 0 }, { wall: ends + 5, mono: 5 });
  assert.equal(shelf.take(1, { wall: ends + 104, mono: 104 })?.first, 1n);
  assert.equal(shelf.take(1, { wall: ends + 105, mono: 105 }), undefined);
});
