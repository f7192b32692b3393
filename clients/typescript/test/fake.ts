import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { Client, type ClientOptions } from "../src/index.js";
import { rules, type Rule } from "../src/rules.js";

/** Limit of what a test does not limit. A machine may stand still for seconds, and that must change no verdict. */
export const patienceMs = 300_000;
for (const rule of Object.values<Rule>(rules)) {
  Object.assign(rule, { tryMs: rule.tryMs === 0 ? 0 : patienceMs, suspectMs: patienceMs });
}

let passedMs = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + passedMs;

/** pass moves the monotonic clock, by which calls measure their time limits. */
export function pass(ms: number): void {
  passedMs += ms;
}

/** Body is the JSON of a request; empty without one. */
export type Body = Readonly<Record<string, unknown>>;

/** Reply is what a fake member does: it answers JSON, fails with a reason, or drops the connection after it has read the request. */
export type Reply = Body | "drop" | Promise<Body | "drop">;

export type Handler = (body: Body, request: Recorded) => Reply;

export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Body;
  readonly headers: IncomingMessage["headers"];
}

/** failure returns the reply of an error with a reason. */
export function failure(reason: string, code = 14, metadata: Record<string, string> = {}, retryDelay?: string): Body {
  return {
    failed: true, code, message: `because of ${reason}`,
    details: [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "snowraft", metadata },
      ...(retryDelay === undefined ? [] : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }]),
    ],
  };
}

/** FakeMember is a member that answers by a script, and records the requests. Paths without a handler fail with UNKNOWN_ENDPOINT. */
export class FakeMember {
  readonly requests: Recorded[] = [];
  readonly #handlers = new Map<string, Handler>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ keepAliveTimeout: 0 }, (request, response) => void this.#serve(request, response)); // members keep connections, too
  }

  static async start(handlers: Record<string, Handler> = {}): Promise<FakeMember> {
    const member = new FakeMember();
    Object.entries(handlers).forEach(([path, handler]) => member.on(path, handler));
    await new Promise<void>((resolve) => member.#server.listen(0, "127.0.0.1", resolve));
    after(() => member.stop());
    return member;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  on(path: string, handler: Handler): this {
    this.#handlers.set(path, handler);
    return this;
  }

  /** Returns the requests of a path, in their order. */
  of(path: string): Recorded[] {
    return this.requests.filter((r) => r.path === path);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const text = Buffer.concat(chunks).toString();
    const [path, query] = (request.url ?? "").split("?") as [string, string | undefined];
    const recorded: Recorded = {
      method: request.method ?? "", path, query: new URLSearchParams(query), headers: request.headers, body: text === "" ? {} : JSON.parse(text) as Body,
    };
    this.requests.push(recorded);
    const handler = this.#handlers.get(path) ?? (() => failure("UNKNOWN_ENDPOINT", 5));
    const reply = await handler(recorded.body, recorded);
    if (reply === "drop") {
      request.socket.destroy();
      return;
    }
    const { failed, ...json } = reply;
    response.writeHead(failed === true ? 503 : 200, { "Content-Type": "application/json" });
    response.end(`${JSON.stringify(json)}\n`);
  }
}

/** connect returns a client of fake members, which is closed after the test. */
export function connect(members: readonly FakeMember[], options: Partial<ClientOptions> = {}): Client {
  const client = new Client({ addresses: members.map((m) => m.address), timeoutMs: patienceMs, ...options });
  after(() => client.close({ timeoutMs: 100 }).catch(() => undefined));
  return client;
}

/** until waits until a condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The JSON of the layout "default". */
export const defaultLayout = {
  layout: {
    name: "default", fields: [{ kind: "time", bits: 41 }, { kind: "worker", bits: 10 }, { kind: "sequence", bits: 12 }],
    unitMs: "1", epochAtMs: "1735689600000", datacenter: "0", spread: "1024", leaseOnly: false,
  },
};

/** idsFrom returns a handler of generateIds that issues numbers from first on. */
export function idsFrom(first: bigint): Handler {
  let next = first;
  return (body) => {
    const range = { first: `${next}`, count: body["count"], step: "1" };
    next += BigInt(body["count"] as number);
    return { ranges: [range], ids: [] };
  };
}
