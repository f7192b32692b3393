/**
 * Client of Snowraft: unique 64-bit IDs and sequence numbers, issued by the cluster or, synchronously, in this process.
 *
 * @packageDocumentation
 */
export type { Blocks, BlocksOptions } from "./blocks.js";
export type { BufferOptions, IdBuffer } from "./buffer.js";
export { Client, type ClientOptions, type LayoutOptions } from "./client.js";
export type { CallOptions } from "./caller.js";
export type { Clock } from "./clock.js";
export type { DecodedText } from "./decoded_text.js";
export { encodings, encodeText, decodeText, type Encoding } from "./encoding.js";
export { SnowraftError, type ErrorDetails } from "./errors.js";
export type { ClientEvent, EventSink, Logger, WorkerChange } from "./events.js";
export type { FloorOptions, Generator, GeneratorOptions, GeneratorStatus, LaneStatus } from "./generator.js";
export { jsonReplacer } from "./json.js";
export { Layout, parseFields, type Decoded, type Field, type FieldBits, type LayoutSpec, type Parts, type Span } from "./layout.js";
export type { Numbers } from "./numbers.js";
export { preset, presetNames } from "./presets.js";
export type { Claim, Reconciled, Reservation, ReserveOptions, Resolution, VoidOptions } from "./reservations.js";
export type { NumberOptions, Sequence } from "./sequence.js";
export type { ChangeOptions, SequenceInfo, SequenceSettings, SequenceSpec } from "./sequence_spec.js";
export type { Session } from "./session.js";
export type { Credentials } from "./trust.js";
export { fromUuid, toUuid } from "./uuid.js";
export { version } from "./process.js";
