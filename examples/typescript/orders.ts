// An order service: POST /orders answers an ID and a number, such as {"id":"253081673229410738","number":"ORD-00001"}.
import { createServer } from "node:http";
import { Client } from "snowraft";

const client = new Client({
  addresses: (process.env.SNOWRAFT_MEMBERS ?? "").split(","), // some addresses of HTTP; the client learns the others
  token: process.env.SNOWRAFT_TOKEN,
  timeoutMs: 5_000,
});
const ids = client.generator(); // issues in this process, also while no member can be reached
const orders = client.sequence("orders");
await ids.ready();

const server = createServer(async (request, response) => {
  const key = request.headers["idempotency-key"]; // a customer who repeats the request gets the same number
  if (request.method !== "POST" || request.url !== "/orders" || typeof key !== "string") {
    response.writeHead(400).end("expected POST /orders with the header Idempotency-Key\n");
    return;
  }
  try {
    const number = await orders.nextText({ requestId: key });
    const id = ids.nextString(); // from memory
    // A real service inserts the order here, with a unique index on the number.
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id, number }));
  } catch (error) {
    response.writeHead(503).end(`${error}\n`); // the customer repeats the request
  }
});
const [host, port] = (process.env.LISTEN ?? "127.0.0.1:8080").split(":");
server.listen(Number(port), host);

process.once("SIGTERM", async () => {
  server.close();
  server.closeAllConnections();
  await client.close(); // releases the worker
});
