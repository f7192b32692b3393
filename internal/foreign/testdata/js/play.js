// Prints IDs of @sapphire/snowflake: node play.js COUNT [WORKER].
const {Snowflake} = require("@sapphire/snowflake");
const fs = require("fs");
const flake = new Snowflake(1420070400000n); // the epoch of Discord
if (process.argv.length === 4) {
  const worker = BigInt(process.argv[3]);
  flake.workerId = worker >> 5n;
  flake.processId = worker & 31n;
}
fs.writeSync(1, "ready\n");
fs.readSync(0, Buffer.alloc(1)); // all copies begin together
const ids = [];
for (let i = 0; i < Number(process.argv[2]); i++) ids.push(flake.generate());
fs.writeFileSync(1, ids.join("\n") + "\n");
