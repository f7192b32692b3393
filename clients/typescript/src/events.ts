import type { SnowraftError } from "./errors.js";

/** WorkerChange is what happened to a worker of a generator. */
export type WorkerChange = "acquired" | "extended" | "released" | "lost";

/** ClientEvent is what the client reports to the function `onEvent`, for metrics and health. */
export type ClientEvent =
  /** One try of a call ended. */
  | { type: "try"; method: string; member: string; tookMs: number; error?: SnowraftError }
  /** One call for IDs or numbers ended that served several callers. */
  | { type: "batch"; callers: number; count: number; error?: SnowraftError }
  /** A lane of a generator acquired, extended, released or lost its worker. Ticks are those of the layout. */
  | { type: "worker"; change: WorkerChange; layout: string; lane: number; worker: bigint; untilTick: number }
  /** A lane of a generator began to fail to get a window; the generator repeats the request. */
  | { type: "window"; layout: string; lane: number; error: SnowraftError }
  /** The request for a block of a sequence failed; later calls repeat it. */
  | { type: "block"; sequence: string; error: SnowraftError };

/** EventSink takes events. */
export type EventSink = (event: ClientEvent) => void;

/** Logger is the part of a logger that the client uses, such as console or that of pino. */
export interface Logger {
  info(message: string): void;
  warn(message: string): void;
}

/** sinkOf returns the sink for a logger and a callback. Their exceptions do not reach the client. */
export function sinkOf(logger: Logger | undefined, onEvent: EventSink | undefined): EventSink {
  return (event) => {
    try {
      onEvent?.(event);
      if (logger !== undefined) {
        log(logger, event);
      }
    } catch {
      // a failing observer must not stop the client
    }
  };
}

function log(logger: Logger, event: ClientEvent): void {
  switch (event.type) {
    case "worker":
      if (event.change !== "extended") {
        const write = event.change === "lost" ? "warn" : "info";
        logger[write](`snowraft: worker ${event.worker} of layout ${event.layout} ${event.change}, lane ${event.lane}`);
      }
      return;
    case "window":
      return logger.warn(`snowraft: window of layout ${event.layout} not granted, lane ${event.lane}; retrying: ${event.error.message}`);
    case "block":
      return logger.warn(`snowraft: block of sequence ${event.sequence} not granted: ${event.error.message}`);
    default:
  }
}
