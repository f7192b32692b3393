import { preset, type ClientOptions, type Clock, type Generator, type GeneratorOptions } from "../src/index.js";
import { connect, defaultLayout, failure, FakeMember, type Body, type Reply } from "./fake.js";

const epochMs = 1_735_689_600_000;

/** Leases is a fake member that leases workers as a cluster does, unless a test takes over a request. */
export class Leases {
  member!: FakeMember;
  windowMs = 600_000;
  readonly acquired: Body[] = [];
  readonly extended: Body[] = [];
  readonly released: Body[] = [];
  /** Answers instead of the cluster, if it returns something; granted is what the cluster answers. */
  onAcquire: (granted: Body) => Reply = (granted) => granted;
  onExtend: (granted: Body) => Reply = (granted) => granted;
  onRelease: () => Reply = () => ({});
  status: () => Reply = () => failure("PERMISSION_DENIED", 7);
  #tokens = 0;
  readonly #extensions = new Map<string, Body>();

  static async start(): Promise<Leases> {
    const leases = new Leases();
    leases.member = await FakeMember.start({
      "/v1/layouts/default": () => defaultLayout,
      "/v1/status": () => leases.status(),
      "/v1/workers:acquire": (body) => {
        leases.acquired.push(body);
        leases.#tokens++;
        return leases.onAcquire(leases.#grant(body, leases.#tokens, leases.#tokens, Number(body["clockAtMs"]) - epochMs));
      },
      "/v1/workers:extend": (body) => {
        leases.extended.push(body);
        const id = String(body["extensionId"]);
        const granted = leases.#extensions.get(id) ?? leases.#grant(body, body["worker"], body["token"], Number(body["untilTick"]) - 1);
        leases.#extensions.set(id, granted); // a repetition gets the window as it is
        return leases.onExtend(granted);
      },
      "/v1/workers:release": (body) => {
        leases.released.push(body);
        return leases.onRelease();
      },
    });
    return leases;
  }

  #grant(body: Body, worker: unknown, token: unknown, fromTick: number): Body {
    return {
      grant: {
        worker: `${worker}`, token: `${token}`, fromTick: `${fromTick}`, untilTick: `${Number(body["clockAtMs"]) - epochMs + this.windowMs}`,
        observedClockAtMs: "0", waitThresholdMs: "1000", maxWindowMs: `${this.windowMs}`, swap: false,
      },
    };
  }

  generator(options: GeneratorOptions = {}, client: Partial<ClientOptions> = {}): Generator {
    return connect([this.member], client).generator({ holder: "test", ...options });
  }
}

/** workerOf returns the worker in an ID. */
export function workerOf(id: bigint): bigint {
  return (preset("default") as NonNullable<ReturnType<typeof preset>>).decode(id).worker;
}

/** tickOf returns the tick in an ID. */
export function tickOf(id: bigint): number {
  return Number((preset("default") as NonNullable<ReturnType<typeof preset>>).decode(id).tick);
}

/** TestClock is a clock that runs with the system's, off by what a test sets. */
export class TestClock implements Clock {
  offMs = 0;
  wall(): number {
    return Date.now() + this.offMs;
  }
  monotonic(): number {
    return performance.now();
  }
}

/** StillClock is a clock that stands still until a test moves it. */
export class StillClock implements Clock {
  at = { wall: Date.now(), mono: 1_000 };
  wall(): number {
    return this.at.wall;
  }
  monotonic(): number {
    return this.at.mono;
  }
  move(ms: number): void {
    this.at = { wall: this.at.wall + ms, mono: this.at.mono + ms };
  }
}
