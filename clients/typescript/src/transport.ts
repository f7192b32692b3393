import * as http from "node:http";
import * as net from "node:net";
import type { Duplex } from "node:stream";
import * as tls from "node:tls";
import { SnowraftError } from "./errors.js";
import { tlsOptions, verifyPins, type Trust } from "./trust.js";

const connectMs = 5_000;
/** Idle connections close before members close them (2 minutes), so that few requests meet a closed one. */
const idleMs = 60_000;
const mostBytes = 64 << 20;

/** Request is one HTTP request of a call. */
export interface Request {
  readonly verb: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Time limit in milliseconds. */
  readonly timeoutMs: number;
}

/** Answer is the answer to a request. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** TransportError is a failure without an answer. */
export class TransportError extends Error {
  constructor(
    message: string,
    /** Whether the member may have received the request. */
    readonly sent: boolean,
    /** Whether the time limit ended the request. */
    readonly late: boolean,
    /** PIN_MISMATCH if the server is not the cluster's; otherwise undefined. */
    readonly reason: string | undefined,
    /** Whether the port is not one at which a member speaks HTTP. */
    readonly wrongPort = false,
  ) {
    super(message);
  }
}

/** Transport sends requests over kept connections. It sends nothing on a connection that is not verified. */
export class Transport {
  readonly #agent: Agent;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #active = new Set<http.ClientRequest>();

  constructor(trust: Trust) {
    this.#agent = new Agent(trust);
    this.#authorization = trust.token === "" ? {} : { Authorization: `Bearer ${trust.token}` };
  }

  send(address: string, r: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const at = address.lastIndexOf(":");
      let sent = false;
      let late = false;
      const request = http.request({
        agent: this.#agent,
        host: address.slice(0, at).replace(/^\[|\]$/g, ""),
        port: address.slice(at + 1),
        method: r.verb,
        path: r.path,
        headers: {
          ...this.#authorization,
          ...r.headers,
          ...(r.body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(r.body) }),
        },
      });
      const timer = setTimeout(() => {
        late = true;
        fail(new Error(sent ? "no answer in time" : "no connection in time"));
      }, Math.max(1, r.timeoutMs));
      this.#active.add(request);
      const end = (): boolean => {
        clearTimeout(timer);
        return this.#active.delete(request);
      };
      const fail = (error: Error): void => {
        if (!end()) {
          return;
        }
        request.destroy();
        const reason = SnowraftError.is(error) ? error.reason : undefined;
        const stranger = request.reusedSocket ? undefined : strangerOf(error);
        reject(new TransportError(stranger ?? explain(error), sent, late, reason, stranger !== undefined));
      };
      // The agent hands over connected and verified sockets only.
      request.on("socket", () => {
        sent = true;
      });
      request.on("error", fail);
      request.on("upgrade", (_, socket) => {
        socket.destroy();
        fail(new Error("the server switches the protocol; check the address"));
      });
      const closed = (): void => fail(new Error("the connection was closed"));
      request.on("close", closed);
      request.on("response", (response) => {
        request.off("close", closed); // it may close before the answer has been read
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > mostBytes) {
            fail(new Error(`the answer has more than ${mostBytes} bytes`));
          } else {
            chunks.push(chunk);
          }
        });
        response.on("error", fail);
        response.on("close", () => fail(new Error("the connection was closed during the answer")));
        response.on("end", () => {
          end();
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers["content-type"] ?? "",
            body: Buffer.concat(chunks).toString("utf8"),
          });
        });
      });
      request.end(r.body);
    });
  }

  /** Ends all requests and closes all connections. */
  close(): void {
    for (const request of this.#active) {
      request.destroy(new Error("closed"));
    }
    this.#agent.destroy();
  }
}

/** The message of a port with TLS to which the client spoke without. */
export const expectsTls = "the port expects TLS; give a token with a pin, or a CA";
const speaksGrpc = "the port speaks gRPC; use the port for HTTP, 7701 by default";

/** strangerOf says what the server of a new connection is, given an error that no member's HTTP port causes; otherwise undefined. */
function strangerOf(error: Error): string | undefined {
  const { code, rawPacket } = error as NodeJS.ErrnoException & { rawPacket?: Uint8Array };
  if (code === "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL") {
    return speaksGrpc;
  }
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER") {
    return "the server speaks no TLS; remove the pin and the CA, or secure the cluster";
  }
  if (code !== "HPE_INVALID_CONSTANT" || rawPacket === undefined) {
    return undefined;
  }
  if (rawPacket.length >= 9 && rawPacket[3] === http2Settings) {
    return speaksGrpc;
  }
  return rawPacket[0] === tlsAlert && rawPacket[1] === 3 ? expectsTls : "the server does not speak HTTP; check the address";
}

const http2Settings = 4; // type of a frame
const tlsAlert = 21; // type of a record

function explain(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name is unknown";
    case "ECONNRESET":
    case "EPIPE":
      return "the connection was closed";
    default:
      return SnowraftError.is(error) ? error.message.replace(` [${error.reason}]`, "") : error.message;
  }
}

type Connected = (error: Error | null, socket?: net.Socket) => void;

/** Agent keeps connections. It hands a socket to a request only after the socket is connected and verified. */
class Agent extends http.Agent {
  readonly #trust: Trust;

  constructor(trust: Trust) {
    super({ keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: idleMs });
    this.#trust = trust;
  }

  // http.Agent calls this method, and takes the socket from the callback.
  override createConnection(options: http.ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    const connected = callback as Connected;
    const trust = this.#trust;
    const to = { host: options.host ?? "", port: Number(options.port) };
    const socket = trust.kind === "clear"
      ? net.connect(to)
      : tls.connect({ ...to, ...tlsOptions(trust, to.host) });
    socket.setNoDelay(true);
    const timer = setTimeout(() => settle(new Error("no connection in time")), connectMs);
    const settle = (error: Error | null): void => {
      clearTimeout(timer);
      socket.removeListener("error", settle);
      socket.removeListener("close", closed);
      if (error !== null) {
        socket.on("error", () => undefined); // the socket may report another one
        socket.destroy();
        connected(error);
        return;
      }
      connected(null, socket);
    };
    const closed = (): void => settle(new Error("the connection was closed at once; a port that expects TLS needs a token with a pin, or a CA"));
    socket.once("error", settle);
    socket.once("close", closed);
    socket.once(trust.kind === "clear" ? "connect" : "secureConnect", () => {
      try {
        verify(socket, trust);
        settle(null);
      } catch (error) {
        settle(error as Error);
      }
    });
    return undefined;
  }
}

/** verify throws unless requests, with the token, may be sent on a connection. */
function verify(socket: net.Socket, trust: Trust): void {
  if (trust.kind === "pinned") {
    verifyPins(socket as tls.TLSSocket, trust.pins);
  } else if (trust.kind === "clear" && trust.token !== "" && !isLoopback(socket.remoteAddress ?? "")) {
    throw new Error("a token without a pin is not sent to another host in clear text; use a token with a pin, or give a CA");
  }
}

function isLoopback(ip: string): boolean {
  return ip === "::1" || /^(::ffff:)?127\./.test(ip);
}
