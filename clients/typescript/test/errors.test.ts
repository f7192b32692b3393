import assert from "node:assert/strict";
import { test } from "node:test";
import { SnowraftError } from "../src/errors.js";
import { errorOf, faultOfAnswer, faultOfTransport, mayRepeat, type Fault } from "../src/fault.js";
import { rules, type Rule } from "../src/rules.js";
import { TransportError } from "../src/transport.js";
import { failure } from "./fake.js";
import { vectors } from "./vectors.js";

type Kind = "harmless" | "undone" | "never";
type Outcomes = Record<Kind, { again: boolean; retry: boolean; unknown: boolean }>;
interface ErrorVectors {
  failures: { about: string; outcomes: Outcomes }[];
  reasons: { reason: string; status: number; code: number; outcomes: Outcomes }[];
  methods: { method: string; http: string; path: string; repeat: Kind; unless?: string; leader: boolean }[];
}
const v = vectors<ErrorVectors>("errors.json");

function check(fault: Fault, outcomes: Outcomes, about: string): void {
  for (const [repeat, outcome] of Object.entries(outcomes)) {
    const rule: Rule = { ...rules.generateIds, repeat: repeat as Kind };
    const { retry, unknown } = errorOf(rule, fault);
    assert.deepEqual({ again: mayRepeat(rule, fault), retry, unknown }, outcome, `${about}, ${repeat}`);
  }
}

function answered(code: number, status = 500): Fault {
  return faultOfAnswer({ status, type: "application/json", body: JSON.stringify({ code, message: "m", details: [] }) }, "m");
}

test("the client repeats after a reason as the vectors say", () => {
  for (const { reason, status, code, outcomes } of v.reasons) {
    const body = JSON.stringify(failure(reason, code));
    check(faultOfAnswer({ status, type: "application/json", body }, "m"), outcomes, reason);
  }
});

test("the client repeats after a failure without a reason as the vectors say", () => {
  const kinds: readonly [prefix: string, faults: readonly Fault[]][] = [
    ["no connection", [faultOfTransport(new TransportError("refused", false, false, undefined), "m")]],
    ["the connection broke", [
      faultOfTransport(new TransportError("closed", true, false, undefined), "m"),
      faultOfTransport(new TransportError("late", true, true, undefined), "m"),
    ]],
    ["code 4", [answered(4, 504), answered(1, 499)]],
    ["status 502", [502, 503, 504].map((status) => faultOfAnswer({ status, type: "text/html", body: "<html>" }, "m"))],
    ["code 12", [answered(12, 501)]],
  ];
  assert.equal(v.failures.length, kinds.length);
  for (const { about, outcomes } of v.failures) {
    const faults = kinds.find(([prefix]) => about.startsWith(prefix))?.[1];
    assert.ok(faults, about);
    faults.forEach((fault) => check(fault, outcomes, about));
  }
});

test("the rules of methods are those of the vectors", () => {
  for (const [name, rule] of Object.entries(rules) as [string, Rule][]) {
    const known = v.methods.find((m) => m.http === rule.verb && m.path.replace(/\{.*/, "") === rule.path);
    assert.ok(known, `${name}: ${rule.verb} ${rule.path}`);
    const forced = known.unless === "force" && name.endsWith("ByForce");
    assert.equal(rule.repeat, forced ? "undone" : known.repeat, name);
  }
});

test("an error names the members, their messages and reasons", () => {
  const first = faultOfAnswer({ status: 503, type: "", body: JSON.stringify(failure("NO_LEADER", 14, {}, "0.500s")) }, "a:1");
  const second = faultOfTransport(new TransportError("connection refused", false, false, undefined), "b:1");
  const error = errorOf(rules.nextNumbers, first, [second, first], { interrupted: true, unknown: false });
  assert.equal(error.message, "snowraft: a:1: because of NO_LEADER (the time limit passed; b:1: connection refused [UNAVAILABLE]) [NO_LEADER]");
  assert.equal(error.retryAfterMs, 500);
  assert.deepEqual(error.errors.map((e) => [e.member, e.reason]), [["a:1", "NO_LEADER"], ["b:1", "UNAVAILABLE"]]);
});

test("each error text ends with the reason, once", () => {
  const error = new SnowraftError("snowraft: m", { reason: "EMPTY" });
  assert.equal(error.message, "snowraft: m [EMPTY]");
  assert.equal(new SnowraftError(error.message, error).message, error.message);
});
