import { Connection, type Exchange, type Watcher } from "./connection.js";
import type { Trust } from "./trust.js";

const mostConnections = 64;
const mostIdle = 8;

/** Pool keeps the connections to one address. A request waits until a connection is idle, or until one that it opens is. */
export class Pool implements Watcher {
  readonly #address: string;
  readonly #trust: Trust;
  readonly #connections = new Set<Connection>();
  readonly #opening = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Exchange>(); // oldest first

  constructor(address: string, trust: Trust) {
    this.#address = address;
    this.#trust = trust;
  }

  /** Begins an exchange. */
  begin(exchange: Exchange): void {
    const connection = this.#idle.pop();
    if (connection !== undefined) {
      connection.send(exchange);
      return;
    }
    this.#waiting.add(exchange);
    this.#open();
  }

  /** Ends an exchange with an error, and its connection with it. */
  abandon(exchange: Exchange, error: Error): void {
    if (exchange.connection !== undefined) {
      exchange.connection.close(error);
    } else if (this.#waiting.delete(exchange)) {
      exchange.failed(error);
    }
  }

  /** Opens connections for requests that wait for one. */
  #open(): void {
    while (this.#opening.size < this.#waiting.size && this.#connections.size < mostConnections) {
      const connection = new Connection(this.#address, this.#trust, this);
      this.#connections.add(connection);
      this.#opening.add(connection);
    }
  }

  idle(connection: Connection): void {
    this.#opening.delete(connection);
    const next = this.#next();
    if (next !== undefined) {
      connection.send(next);
    } else if (this.#idle.length < mostIdle) {
      this.#idle.push(connection);
    } else {
      connection.close(new Error("enough connections are idle"));
    }
  }

  ended(connection: Connection, error: Error, silent: boolean): void {
    this.#connections.delete(connection);
    if (silent) {
      for (const other of this.#idle.splice(0)) {
        other.close(error); // the server may be gone from there too
      }
    }
    const at = this.#idle.indexOf(connection);
    if (at >= 0) {
      this.#idle.splice(at, 1);
    }
    if (this.#opening.delete(connection)) {
      this.#next()?.failed(error);
    }
    this.#open();
  }

  /** Removes the exchange that waits for the longest time; undefined if none waits. */
  #next(): Exchange | undefined {
    for (const exchange of this.#waiting) {
      this.#waiting.delete(exchange);
      return exchange;
    }
    return undefined;
  }

  /** Ends all exchanges with an error, and all connections. */
  close(error: Error): void {
    for (const exchange of this.#waiting) {
      this.abandon(exchange, error);
    }
    for (const connection of this.#connections) {
      connection.close(error);
    }
  }
}
