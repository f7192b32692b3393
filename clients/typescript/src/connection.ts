import * as net from "node:net";
import * as tls from "node:tls";
import { AnswerReader, ProtocolError, type Answer } from "./http11.js";
import { tlsOptions, verifyPins, type Trust } from "./trust.js";

const connectMs = 5_000;
/** Idle connections close before members close them (2 minutes), so that few requests meet a closed one. */
const idleMs = 60_000;
/** The size of a read. */
const readBytes = 16 << 10;

/** Exchange is a request and the consumers of its outcome, exactly one of which is called. */
export interface Exchange {
  readonly request: string;
  /** Whether it waits for no other one. */
  readonly urgent: boolean;
  /** The connection that carries the request; undefined while it waits for one. */
  connection: Connection | undefined;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: Error) => void;
}

/** Watcher follows the life of a connection. */
export interface Watcher {
  /** The connection takes the next request: it is open and verified, or has read the answer to the last one. */
  idle(connection: Connection): void;
  /** The connection has ended. silent: no byte of the answer to its request arrived. */
  ended(connection: Connection, error: Error, silent: boolean): void;
}

/**
 * Connection carries one request at a time to one server. It takes requests only after the server is verified. It does not keep the
 * process alive: the timers of requests do.
 */
export class Connection {
  readonly #socket: net.Socket;
  readonly #watcher: Watcher;
  readonly #reader = new AnswerReader();
  #open = false;
  #closed = false;
  #exchange: Exchange | undefined;

  constructor(address: string, trust: Trust, watcher: Watcher) {
    this.#watcher = watcher;
    const at = address.lastIndexOf(":");
    const to = {
      host: address.slice(0, at).replace(/^\[|\]$/g, ""),
      port: Number(address.slice(at + 1)),
      // One buffer for all reads: without it, each read allocates 64 KiB.
      onread: { buffer: Buffer.allocUnsafeSlow(readBytes), callback: (n: number, buffer: Uint8Array): boolean => this.#read(buffer as Buffer, n) },
    };
    const socket = this.#socket = trust.kind === "clear" ? net.connect(to) : tls.connect({ ...to, ...tlsOptions(trust, to.host) });
    socket.setNoDelay(true);
    socket.unref();
    socket.on("connect", () => socket.unref()); // each further address of a host has a handle of its own
    const timer = setTimeout(() => this.close(new Error("no connection in time")), connectMs);
    timer.unref();
    socket.on("error", (error) => this.close(error));
    socket.on("end", () => this.#end());
    socket.on("close", () => {
      clearTimeout(timer);
      this.#end();
    });
    socket.once(trust.kind === "clear" ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      try {
        verify(socket, trust);
      } catch (error) {
        this.close(error as Error);
        return;
      }
      socket.setTimeout(idleMs, () => {
        if (this.#exchange === undefined) {
          this.close(new Error("the connection was idle"));
        }
      });
      this.#open = true;
      watcher.idle(this);
    });
  }

  /** Sends a request. Requires that the connection is idle. */
  send(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.connection = this;
    this.#socket.write(exchange.request);
  }

  /** The request without an answer; undefined if there is none. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  /** Closes the connection. A request without an answer fails with the error. */
  close(error: Error): void {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#watcher.ended(this, error, exchange !== undefined && !this.#reader.began);
    exchange?.failed(error);
  }

  /** Takes n bytes that arrived. */
  #read(buffer: Buffer, n: number): boolean {
    if (this.#exchange === undefined) {
      this.close(new ProtocolError("the server sends what no request asked for; check the address", !this.#reader.speaksHttp));
      return false;
    }
    try {
      this.#settle(this.#reader.feed(buffer.subarray(0, n)));
    } catch (error) {
      this.close(error as Error);
    }
    return !this.#closed;
  }

  #settle(answer: Answer | undefined): void {
    const exchange = this.#exchange;
    if (answer === undefined || exchange === undefined) {
      return;
    }
    this.#exchange = undefined;
    if (this.#reader.reusable) {
      this.#watcher.idle(this);
    } else {
      this.close(new Error("the connection ended with its answer"));
    }
    exchange.answered(answer);
  }

  /** Takes the end of the connection. */
  #end(): void {
    this.#settle(this.#reader.end());
    this.close(new Error(!this.#open ? "the connection was closed at once; a port that expects TLS needs a token with a pin, or a CA"
      : this.#reader.began ? "the connection was closed during the answer" : "the connection was closed"));
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
