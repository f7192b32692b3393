// A worker of the operation "workers": a thread, or a process of the module cluster. It has a client and a lease of its own.
import cluster from "node:cluster";
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { Client } from "snowraft";

const inProcess = cluster.isWorker;
const { addresses, count } = inProcess ? JSON.parse(process.env.WORK) : workerData;
const release = once(inProcess ? process : parentPort, "message"); // once all workers have issued, so that none leases the worker of another one again
const client = new Client({ addresses });
const generator = client.generator();
await generator.ready({ timeoutMs: 30_000 });
const ids = [];
while (ids.length < count) {
  ids.push(String(await generator.nextAsync()));
}
const issued = { ids, worker: `${generator.status().workers[0].worker}` };
if (inProcess) {
  process.send(issued);
} else {
  parentPort.postMessage(issued);
}
await release;
await client.close();
process.exit(0); // ends this thread, or the process
