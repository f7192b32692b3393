import { Connection, type Exchange, type Watcher } from "./connection.js";
import type { Trust } from "./trust.js";

/** The greatest number of connections, unless an urgent request needs another one. */
const mostConnections = 64;
const mostIdle = 8;

/** QueuedError is the end of a request that waited for others: all connections were in use. */
export class QueuedError extends Error {
  constructor() {
    super(`all ${mostConnections} connections were in use`);
  }
}

/** Pool keeps the connections to one address. A request waits until a connection is idle, or until one that it opens is. */
export class Pool implements Watcher {
  readonly #address: string;
  readonly #trust: Trust;
  readonly #connections = new Set<Connection>();
  readonly #opening = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Exchange>(); // oldest first
  readonly #urgent = new Set<Exchange>(); // they wait, too, and come before the others

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
    (exchange.urgent ? this.#urgent : this.#waiting).add(exchange);
    this.#open();
  }

  /** Ends an exchange whose time has passed, and its connection with it. */
  abandon(exchange: Exchange): void {
    if (exchange.connection !== undefined) {
      exchange.connection.close(new Error("no answer in time"));
    } else if (this.#waiting.delete(exchange) || this.#urgent.delete(exchange)) {
      exchange.failed(this.#opening.size === 0 ? new QueuedError() : new Error("no connection in time"));
    }
  }

  /** Opens connections for requests that wait for one. */
  #open(): void {
    while (this.#opening.size < this.#urgent.size ||
      (this.#opening.size < this.#urgent.size + this.#waiting.size && this.#connections.size < mostConnections)) {
      const connection = new Connection(this.#address, this.#trust, this);
      this.#connections.add(connection);
      this.#opening.add(connection);
    }
  }

  idle(connection: Connection): void {
    this.#opening.delete(connection);
    const excess = this.#connections.size > mostConnections;
    const next = excess ? take(this.#urgent) : this.#next();
    if (next !== undefined) {
      connection.send(next);
    } else if (this.#idle.length < mostIdle && !excess) {
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

  /** Removes the exchange that is next; undefined if none waits. */
  #next(): Exchange | undefined {
    return take(this.#urgent) ?? take(this.#waiting);
  }

  /** Ends the exchanges that are not urgent with an error. */
  drain(error: Error): void {
    endAll(this.#waiting, error);
    for (const connection of this.#connections) {
      if (connection.exchange?.urgent === false) {
        connection.close(error);
      }
    }
  }

  /** Ends all exchanges with an error, and all connections. */
  close(error: Error): void {
    endAll(this.#urgent, error);
    endAll(this.#waiting, error);
    for (const connection of this.#connections) {
      connection.close(error);
    }
  }
}

/** take removes the exchange that waits for the longest time; undefined if none waits. */
function take(waiting: Set<Exchange>): Exchange | undefined {
  for (const exchange of waiting) {
    waiting.delete(exchange);
    return exchange;
  }
  return undefined;
}

function endAll(waiting: Set<Exchange>, error: Error): void {
  for (const exchange of waiting) {
    waiting.delete(exchange);
    exchange.failed(error);
  }
}
