import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText, encodeText, encodings, fromUuid, jsonReplacer, Layout, parseFields, preset, presetNames, SnowraftError, toUuid, type Encoding } from "../src/index.js";
import { layoutOf } from "../src/layout.js";
import { Packer, startsOf } from "../src/packer.js";
import type { Json } from "../src/wire.js";
import { vectors } from "./vectors.js";

interface PartsJson { tick?: string; datacenter?: string; worker?: string; sequence?: string }
interface LayoutVectors {
  fields: { text: string; valid: boolean }[];
  layouts: {
    layout: Json; issues: boolean; ids: (PartsJson & { id: string; tickAtMs: string })[]; foreign: string[]; misfits: PartsJson[];
    ticks: { atMs: string; tick: string; startMs?: string; tickAtMs?: string }[]; starts?: { tick: string; sequence: string }[];
  }[];
}

const parts = (p: PartsJson) => ({
  tick: BigInt(p.tick ?? 0), datacenter: BigInt(p.datacenter ?? 0), worker: BigInt(p.worker ?? 0), sequence: BigInt(p.sequence ?? 0),
});
const invalid = (error: unknown): boolean => SnowraftError.is(error) && error.reason === "INVALID_ARGUMENT";

test("layouts split IDs as the vectors do", () => {
  for (const v of vectors<LayoutVectors>("layouts.json").layouts) {
    const layout = layoutOf(v.layout);
    assert.deepEqual(layoutOf(layout.toJSON()), layout);
    for (const id of v.ids) {
      const decoded = layout.decode(BigInt(id.id));
      assert.deepEqual(decoded, { id: BigInt(id.id), layout: layout.name, tickAtMs: Number(id.tickAtMs), ...parts(id) });
      assert.equal(layout.encode(parts(id)), BigInt(id.id));
      if (v.issues && parts(id).datacenter === layout.datacenter) {
        assert.equal(new Packer(layout, decoded.worker).id(Number(decoded.tick), Number(decoded.sequence)), BigInt(id.id));
      }
    }
    v.foreign.forEach((id) => assert.throws(() => layout.decode(BigInt(id)), invalid));
    v.misfits.forEach((misfit) => assert.throws(() => layout.encode(parts(misfit)), invalid));
    for (const { atMs, tick } of v.ticks) {
      assert.equal(layout.tickAt(Number(atMs)), BigInt(tick), `${layout.name} at ${atMs}`);
    }
    for (const { tick, sequence } of v.starts ?? []) {
      assert.equal(startsOf(layout)(Number(tick)), Number(sequence), `${layout.name}, tick ${tick}`);
    }
    const issues = (): void => layout.checkIssues(Date.UTC(2026, 11, 1));
    if (v.issues) {
      issues();
    } else {
      assert.throws(issues, SnowraftError.is, layout.name);
    }
  }
});

test("presets are the layouts of the vectors", () => {
  const known = new Map(vectors<LayoutVectors>("layouts.json").layouts.map((v) => [v.layout["name"], layoutOf(v.layout)]));
  for (const name of presetNames) {
    const layout = preset(name);
    assert.deepEqual(layout, known.get(name), name);
    assert.equal(layout?.spread, known.get(name)?.spread);
  }
  assert.equal(preset("nope"), undefined);
});

test("fields are read as in the vectors", () => {
  for (const { text, valid } of vectors<LayoutVectors>("layouts.json").fields) {
    if (valid) {
      assert.equal(parseFields(text).map((f) => `${f.kind}:${f.bits}`).join(), text);
    } else {
      assert.throws(() => parseFields(text), invalid, text);
    }
  }
});

test("custom layouts are checked", () => {
  const spec = { name: "mine", fields: "time:41,datacenter:3,worker:7,sequence:12", epochAtMs: 0, datacenter: 5n };
  assert.equal(new Layout(spec).encode({ tick: 1n, worker: 2n, sequence: 3n }), (1n << 22n) | (5n << 19n) | (2n << 12n) | 3n);
  for (const wrong of [{ datacenter: 8n }, { name: "Mine" }, { unitMs: 0 }, { spread: 4097n }, { epochAtMs: 0.5 }]) {
    assert.throws(() => new Layout({ ...spec, ...wrong }), invalid);
  }
});

test("texts are those of the vectors", () => {
  type Texts = { texts: ({ id: string } & Record<Encoding, string>)[]; decode: { encoding: Encoding; text: string; id?: string; error?: string }[] };
  const v = vectors<Texts>("encodings.json");
  for (const texts of v.texts) {
    for (const encoding of encodings) {
      assert.equal(encodeText(BigInt(texts.id), encoding), texts[encoding]);
      assert.equal(decodeText(texts[encoding], encoding), BigInt(texts.id));
    }
  }
  for (const { encoding, text, id, error } of v.decode) {
    if (error === undefined) {
      assert.equal(decodeText(text, encoding), BigInt(id ?? 0), text);
    } else {
      assert.throws(() => decodeText(text, encoding), invalid, text);
    }
  }
});

test("UUIDs are those of the vectors", () => {
  type Uuids = { uuids: { cluster: string; layout: Json; id?: string; uuid: string }[]; reject: { layout: Json; uuid: string }[] };
  const v = vectors<Uuids>("uuids.json");
  for (const { cluster, layout, id, uuid } of v.uuids) {
    assert.equal(toUuid(layoutOf(layout), BigInt(id ?? 0), cluster), uuid);
    assert.equal(fromUuid(layoutOf(layout), uuid), BigInt(id ?? 0));
  }
  for (const { layout, uuid } of v.reject) {
    assert.throws(() => fromUuid(layoutOf(layout), uuid), invalid, uuid);
  }
});

test("the replacer writes bigints as strings", () => {
  assert.equal(JSON.stringify({ id: 9007199254740993n, n: 1 }, jsonReplacer), '{"id":"9007199254740993","n":1}');
});
