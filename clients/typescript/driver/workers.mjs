// Issues IDs in worker threads, or in processes of the module cluster, at the same time.
import cluster from "node:cluster";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

const code = new URL("worker.mjs", import.meta.url);

const kinds = {
  threads: (work) => {
    const thread = new Worker(code, { workerData: work });
    return { worker: thread, send: (message) => thread.postMessage(message) };
  },
  processes: (work) => {
    cluster.setupPrimary({ exec: fileURLToPath(code) });
    const child = cluster.fork({ WORK: JSON.stringify(work) });
    return { worker: child, send: (message) => child.send(message) };
  },
};

/** issueInWorkers starts workers of a kind, and returns the IDs of all and the leased worker of each. */
export async function issueInWorkers({ kind, workers, addresses, count }) {
  const all = Array.from({ length: workers }, () => kinds[kind]({ addresses, count }));
  const ends = all.map(({ worker }) => once(worker, "exit"));
  const failed = Promise.race(ends).then(([status]) => { throw new Error(`a worker ended with status ${status}`); });
  failed.catch(() => undefined); // it ends after its results too
  const results = all.map(async ({ worker }) => (await once(worker, "message"))[0]);
  const issued = await Promise.race([Promise.all(results), failed]);
  for (const { send } of all) {
    send("release");
  }
  await Promise.all(ends);
  return { ids: issued.flatMap((i) => i.ids), workers: issued.map((i) => i.worker) };
}
