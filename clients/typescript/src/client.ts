import { readFileSync } from "node:fs";
import { seedsOf } from "./address.js";
import { Blocks, type BlocksOptions } from "./blocks.js";
import { IdBuffer, type BufferOptions } from "./buffer.js";
import { Caller, type CallOptions } from "./caller.js";
import { checkNames, closedError, invalid } from "./errors.js";
import { sinkOf, type EventSink, type Logger } from "./events.js";
import { Generator, type GeneratorOptions } from "./generator.js";
import { Ids } from "./ids.js";
import { layoutOf, type Layout } from "./layout.js";
import { Members } from "./members.js";
import { rules } from "./rules.js";
import { Session } from "./session.js";
import { Sequence } from "./sequence.js";
import { sequenceInfo, type ChangeOptions, type SequenceInfo, type SequenceSettings, type SequenceSpec } from "./sequence_spec.js";
import { createSequence, deleteSequence, getSequence, updateSequence } from "./sequences.js";
import { Transport } from "./transport.js";
import { trustOf, type Credentials } from "./trust.js";
import { timeoutOf } from "./wait.js";
import { object } from "./wire.js";

/** ClientOptions are the options of a {@link Client}. */
export interface ClientOptions extends Credentials {
  /** Addresses of some members, host:port of their HTTP ports; the port is 7701 by default. A text has commas between them. */
  addresses: readonly string[] | string;
  /** File with CAs in PEM, instead of `ca`. */
  caFile?: string | undefined;
  /** Time limit of calls with all their tries, in milliseconds; the default is 10,000. */
  timeoutMs?: number | undefined;
  /** Logger for events that concern operators; silent by default. */
  logger?: Logger | undefined;
  /** Takes events, for metrics and health. It must be fast. */
  onEvent?: EventSink | undefined;
}

/** LayoutOptions choose a layout, "default" by default. */
export interface LayoutOptions extends CallOptions {
  layout?: string | undefined;
}

const layoutNames: readonly (keyof LayoutOptions)[] = ["layout", "timeoutMs"];
const defaultTimeoutMs = 10_000;
const optionNames: readonly (keyof ClientOptions)[] =
  ["addresses", "token", "pin", "ca", "caFile", "tls", "timeoutMs", "logger", "onEvent"];

function readCa(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`caFile cannot be read: ${(error as Error).message}`);
  }
}

interface Closable {
  close(options?: CallOptions): Promise<void>;
}

/**
 * Client requests IDs and numbers from the members of a cluster. Nothing is sent before the first call. Worker threads and
 * processes of a cluster need a client each.
 */
export class Client {
  readonly #caller: Caller;
  readonly #members: Members;
  readonly #emit: EventSink;
  readonly #ids = new Map<string, Ids>();
  readonly #sequences = new Map<string, Sequence>();
  readonly #open = new Set<Closable>();
  #closing: Promise<void> | undefined;

  /** Throws a SnowraftError with the reason INVALID_ARGUMENT if an option is invalid. */
  constructor(options: ClientOptions) {
    if (options?.addresses === undefined) {
      throw invalid('missing addresses; give the address of at least one member: new Client({ addresses: "127.0.0.1:7701" })');
    }
    checkNames(options, optionNames);
    const timeoutMs = timeoutOf(options, defaultTimeoutMs);
    const { addresses } = options;
    const seeds = seedsOf(typeof addresses === "string" ? addresses.split(",").map((address) => address.trim()) : addresses);
    const ca = options.caFile === undefined ? options.ca : readCa(options.caFile);
    const trust = trustOf({ ...options, ca });
    this.#emit = sinkOf(options.logger, options.onEvent);
    this.#caller = new Caller(seeds, new Transport(trust), timeoutMs, this.#emit);
    this.#members = new Members(this.#caller, seeds);
  }

  #begin(): Caller {
    if (this.#closing !== undefined) {
      throw closedError();
    }
    this.#members.start();
    return this.#caller;
  }

  #idsOf(layout: string | undefined): Ids {
    const caller = this.#begin();
    const name = layout ?? "default";
    let ids = this.#ids.get(name);
    if (ids === undefined) {
      ids = new Ids(caller, name, this.#emit);
      this.#ids.set(name, ids);
    }
    return ids;
  }

  /** Returns one ID. Concurrent calls share requests. IDs of different calls are in no order. */
  async nextId(options: LayoutOptions = {}): Promise<bigint> {
    checkNames(options, layoutNames); // a misspelled layout would be "default"
    return await this.#idsOf(options.layout).next(options);
  }

  /** Returns one ID as a decimal text. */
  async nextIdString(options: LayoutOptions = {}): Promise<string> {
    return (await this.nextId(options)).toString();
  }

  /** Returns count IDs, 1 to 1,000,000, in no order. */
  async ids(count: number, options: LayoutOptions = {}): Promise<bigint[]> {
    checkNames(options, layoutNames);
    return await this.#idsOf(options.layout).batch(count, options);
  }

  /** Returns count UUIDs of version 7, 1 to 100,000. */
  async uuids(count: number, options: LayoutOptions = {}): Promise<string[]> {
    checkNames(options, layoutNames);
    return this.#idsOf(options.layout).uuids(count, options);
  }

  /** Returns a session, whose IDs are all greater than after, an ID, and increase from call to call whichever members serve them. */
  session(options: LayoutOptions & { after?: bigint } = {}): Session {
    checkNames(options, [...layoutNames, "after"]);
    return new Session(this.#idsOf(options.layout), options.after ?? 0n);
  }

  /** Returns a generator, which issues IDs synchronously from memory. It leases workers in the background; see its ready. */
  generator(options: GeneratorOptions = {}): Generator {
    const caller = this.#begin();
    const generator: Generator = new Generator(caller, this.#emit, options, () => this.#open.delete(generator));
    this.#open.add(generator);
    return generator;
  }

  /** Returns a buffer of IDs that it requests in advance, and begins to fill it. */
  buffer(options: BufferOptions = {}): IdBuffer {
    const buffer: IdBuffer = new IdBuffer(this.#idsOf(options.layout), options, () => this.#open.delete(buffer));
    this.#open.add(buffer);
    return buffer;
  }

  /** Returns the issuer of a sequence's numbers, from members. The sequence must exist when numbers are requested. */
  sequence(name: string): Sequence {
    const caller = this.#begin();
    let sequence = this.#sequences.get(name);
    if (sequence === undefined) {
      sequence = new Sequence(caller, name, this.#emit);
      this.#sequences.set(name, sequence);
    }
    return sequence;
  }

  /** Returns the issuer of a relaxed sequence's numbers from memory. It requests nothing before its first use. */
  blocks(name: string, options: BlocksOptions = {}): Blocks {
    const caller = this.#begin();
    const blocks: Blocks = new Blocks(caller, this.#emit, name, options, () => this.#open.delete(blocks));
    this.#open.add(blocks);
    return blocks;
  }

  /** Creates a sequence and returns it. If an equal one exists, it returns that; another one of the name is SEQUENCE_EXISTS. */
  async createSequence(spec: SequenceSpec, options: ChangeOptions = {}): Promise<SequenceInfo> {
    return createSequence(this.#begin(), spec, options);
  }

  /** Returns the sequence of a name, as the leader has it; UNKNOWN_SEQUENCE without one. */
  async getSequence(name: string, options: CallOptions = {}): Promise<SequenceInfo> {
    return getSequence(this.#begin(), name, options);
  }

  /** Returns all sequences whose names begin with prefix, by default all. The time limit applies to each page of 1,000. */
  async listSequences(prefix = "", options: CallOptions = {}): Promise<SequenceInfo[]> {
    const found = await this.#begin().all(rules.listSequences, "sequences", `prefix=${encodeURIComponent(prefix)}&`, options);
    return found.map(sequenceInfo);
  }

  /** Returns all layouts of the cluster. The time limit applies to each page of 1,000. */
  async listLayouts(options: CallOptions = {}): Promise<Layout[]> {
    return (await this.#begin().all(rules.listLayouts, "layouts", "", options)).map(layoutOf);
  }

  /** Changes settings of a sequence; the others keep their values. If the error says unknown, the change may have been made. */
  async updateSequence(name: string, settings: SequenceSettings, options: ChangeOptions = {}): Promise<SequenceInfo> {
    return updateSequence(this.#begin(), name, settings, options);
  }

  /** Deletes a sequence. The cluster remembers its numbers, so that a later one of the name does not repeat them. */
  async deleteSequence(name: string, options: ChangeOptions = {}): Promise<void> {
    return deleteSequence(this.#begin(), name, options);
  }

  /** Returns a layout of the cluster, to decode its IDs offline. */
  async getLayout(name: string, options: CallOptions = {}): Promise<Layout> {
    return layoutOf(object(await this.#begin().call(rules.getLayout, { path: encodeURIComponent(name) }, options), "layout"));
  }

  /** Creates a layout, or returns the equal one that exists; another one of the name is LAYOUT_EXISTS. Layouts never change. */
  async createLayout(layout: Layout, options: CallOptions = {}): Promise<Layout> {
    return layoutOf(object(await this.#begin().call(rules.createLayout, { body: layout.toJSON() }, options), "layout"));
  }

  /**
   * Closes the generators, buffers and blocks of the client, and the connections. Calls in progress and later calls fail with
   * CLOSED; if the error says unknown, the call may have had an effect. It rejects if a worker or numbers could not be returned to the cluster.
   */
  async close(options: CallOptions = {}): Promise<void> {
    timeoutOf(options, defaultTimeoutMs); // with an invalid one, nothing is closed
    this.#closing ??= this.#close(options);
    await this.#closing;
  }

  async #close(options: CallOptions): Promise<void> {
    this.#members.stop();
    this.#caller.drain(); // what is held is returned at once
    const ended = await Promise.allSettled([...this.#open].map((object) => object.close(options)));
    this.#caller.close();
    const failed = ended.find((end) => end.status === "rejected");
    if (failed !== undefined) {
      throw failed.reason;
    }
  }
}
