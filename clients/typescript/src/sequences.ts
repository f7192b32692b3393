import type { Caller, CallOptions } from "./caller.js";
import { invalid } from "./errors.js";
import { rules } from "./rules.js";
import {
  sequenceInfo, settingsJson, type ChangeOptions, type SequenceInfo, type SequenceSettings, type SequenceSpec,
} from "./sequence_spec.js";
import { object } from "./wire.js";

function query(parameters: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false);
  return set.length === 0 ? "" : `?${set.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}`;
}

/** createSequence creates a sequence, or returns the equal one that exists. */
export async function createSequence(caller: Caller, spec: SequenceSpec, options: ChangeOptions): Promise<SequenceInfo> {
  if (options.expectedGeneration !== undefined) {
    throw invalid("a new sequence has no generation; remove expectedGeneration");
  }
  const rule = options.force === true ? rules.createSequenceByForce : rules.createSequence;
  const path = query({ force: options.force, forceFormat: options.forceFormat });
  return sequenceInfo(object(await caller.call(rule, { path, body: settingsJson(spec) }, options), "sequence"));
}

/** getSequence returns the sequence of a name, or fails with UNKNOWN_SEQUENCE. */
export async function getSequence(caller: Caller, name: string, options: CallOptions): Promise<SequenceInfo> {
  return sequenceInfo(object(await caller.call(rules.getSequence, { path: encodeURIComponent(name) }, options), "sequence"));
}

/** updateSequence changes the given settings of a sequence. */
export async function updateSequence(
  caller: Caller, name: string, settings: SequenceSettings, options: ChangeOptions,
): Promise<SequenceInfo> {
  const path = encodeURIComponent(name) +
    query({ force: options.force, forceFormat: options.forceFormat, expectedGeneration: options.expectedGeneration });
  return sequenceInfo(object(await caller.call(rules.updateSequence, { path, body: settingsJson(settings) }, options), "sequence"));
}

/** deleteSequence deletes a sequence. The cluster remembers its numbers. */
export async function deleteSequence(caller: Caller, name: string, options: ChangeOptions): Promise<void> {
  if (options.force !== undefined || options.forceFormat !== undefined) {
    throw invalid("deleting a sequence repeats no number; remove force and forceFormat");
  }
  const path = encodeURIComponent(name) + query({ expectedGeneration: options.expectedGeneration });
  await caller.call(rules.deleteSequence, { path }, options);
}
