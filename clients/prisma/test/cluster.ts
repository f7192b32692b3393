import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** Cluster is a running "snowraft dev". The environment variable SNOWRAFT_PROGRAM names the program. */
export interface Cluster {
  readonly address: string;
  signal: (name: "SIGSTOP" | "SIGCONT" | "SIGTERM") => void;
}

/** start runs a cluster. Another process may take a port that was free a moment ago, hence the tries. */
export async function start(): Promise<Cluster> {
  for (let tries = 1; ; tries++) {
    const base = await freePorts();
    const program = spawn(process.env["SNOWRAFT_PROGRAM"]!, ["dev", "--port-base", `${base}`], { stdio: ["ignore", "pipe", "pipe"] });
    let text = "", errors = "";
    program.stderr.on("data", (chunk) => (errors += String(chunk)));
    const running = await new Promise<boolean>((resolve) => {
      program.stdout.on("data", (chunk) => (text += String(chunk)).includes("Press Ctrl-C") && resolve(true));
      program.once("exit", () => resolve(false));
    });
    if (running) {
      return { address: `127.0.0.1:${base + 1}`, signal: (name) => program.kill(name) };
    }
    if (tries === 5 || !errors.includes("address already in use")) {
      throw new Error(`the cluster did not start: ${errors}`);
    }
  }
}

/** freePorts returns the first port of a cluster whose ports are free now. */
async function freePorts(): Promise<number> {
  for (;;) {
    const base = 12_000 + 30 * Math.floor(600 * Math.random());
    const offsets = [0, 10, 20].flatMap((member) => [0, 1, 2, 3, 4, 5].map((port) => member + port));
    const free = await Promise.all(offsets.map(async (offset) => {
      const server = createServer().listen(base + offset, "127.0.0.1");
      const listens = await once(server, "listening").then(() => true, () => false);
      server.close();
      return listens;
    }));
    if (free.every(Boolean)) {
      return base;
    }
  }
}
