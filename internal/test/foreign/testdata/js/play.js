// Prints IDs of flake-idgen: node play.js COUNT. The variable WORKER has the worker.
const FlakeId = require("flake-idgen");
const fs = require("fs");
const flake = new FlakeId({id: Number(process.env.WORKER)});
fs.writeSync(1, "ready\n");
fs.readSync(0, Buffer.alloc(1)); // all copies begin together
const ids = [];
while (ids.length < Number(process.argv[2])) {
  try {
    ids.push(flake.next().readBigUInt64BE());
  } catch { // the millisecond is full
  }
}
fs.writeFileSync(1, ids.join("\n") + "\n");
