import type { Exchange } from "./connection.js";
import { SnowraftError } from "./errors.js";
import { ProtocolError, requestOf, speaksGrpc, type Answer } from "./http11.js";
import { Pool, QueuedError } from "./pool.js";
import type { Trust } from "./trust.js";

/** Request is one HTTP request of a call. */
export interface Request {
  readonly verb: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Time limit in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the request waits for no other one. */
  readonly urgent: boolean;
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
    /** Whether the request only waited for other ones to the same member. */
    readonly queued = false,
  ) {
    super(message);
  }
}

/** Transport sends requests over kept connections. It sends nothing on a connection that is not verified. */
export class Transport {
  readonly #trust: Trust;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #pools = new Map<string, Pool>();

  constructor(trust: Trust) {
    this.#trust = trust;
    this.#authorization = trust.token === "" ? {} : { Authorization: `Bearer ${trust.token}` };
  }

  /** Sends a request and returns the answer. It fails with a TransportError. */
  async send(address: string, r: Request): Promise<Answer> {
    let request: string;
    try {
      request = requestOf(r.verb, address, r.path, { ...this.#authorization, ...r.headers }, r.body);
    } catch (error) {
      throw new TransportError((error as Error).message, false, false, undefined);
    }
    return await this.#exchange(this.#poolOf(address), request, r);
  }

  #exchange(pool: Pool, request: string, { timeoutMs, urgent }: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let late = false;
      const exchange: Exchange = {
        request,
        urgent,
        connection: undefined,
        answered: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        failed: (error) => {
          clearTimeout(timer);
          reject(errorOf(error, exchange, late));
        },
      };
      const timer = setTimeout(() => {
        late = true;
        pool.abandon(exchange);
      }, Math.max(1, timeoutMs));
      pool.begin(exchange);
    });
  }

  #poolOf(address: string): Pool {
    let pool = this.#pools.get(address);
    if (pool === undefined) {
      pool = new Pool(address, this.#trust);
      this.#pools.set(address, pool);
    }
    return pool;
  }

  /** Ends the requests that are not urgent. */
  drain(): void {
    for (const pool of this.#pools.values()) {
      pool.drain(new Error("closed"));
    }
  }

  /** Ends all requests and closes all connections. */
  close(): void {
    for (const pool of this.#pools.values()) {
      pool.close(new Error("closed"));
    }
  }
}

/** errorOf returns the failure of an exchange. */
function errorOf(error: Error, { connection }: Exchange, late: boolean): TransportError {
  const stranger = strangerOf(error, connection !== undefined);
  const reason = SnowraftError.is(error) ? error.reason : undefined;
  return new TransportError(stranger ?? explain(error), connection !== undefined, late, reason, stranger !== undefined, error instanceof QueuedError);
}

/**
 * strangerOf says what the server is, given an error that no member's HTTP port causes; otherwise undefined. After a request was sent on
 * a verified connection, an error of TLS does not show that.
 */
function strangerOf(error: Error, sent: boolean): string | undefined {
  if (error instanceof ProtocolError) {
    return error.foreign ? error.message : undefined;
  }
  if (sent) {
    return undefined;
  }
  switch ((error as NodeJS.ErrnoException).code) {
    case "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL":
      return speaksGrpc;
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return "the port does not speak TLS; remove the pin and the CA, or check the address";
    default:
      return undefined;
  }
}

/** The prefix of the codes that newer versions of Node.js give to errors of OpenSSL, such as ERR_SSL_BAD_RECORD_TYPE. */
const tlsCodes = "ERR_SSL_";

function explain(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name is unknown";
    case "EPROTO":
      return "the TLS connection broke";
    case "ECONNRESET":
    case "EPIPE":
      return "the connection was closed";
    default:
      if (code?.startsWith(tlsCodes) === true) {
        return `the TLS connection broke: ${code.slice(tlsCodes.length).toLowerCase().replaceAll("_", " ")}`;
      }
      return SnowraftError.is(error) ? error.message.replace(` [${error.reason}]`, "") : error.message;
  }
}
