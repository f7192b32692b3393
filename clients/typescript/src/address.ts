import { invalid } from "./errors.js";

const defaultPort = "7701";

/** isAddress reports whether a text is host:port. */
export function isAddress(text: string): boolean {
  const match = /^(\[[0-9a-fA-F:.%]+\]|[^\s:/[\]@]+):(\d{1,5})$/.exec(text);
  return match !== null && Number(match[2]) >= 1 && Number(match[2]) <= 65_535;
}

/** seedsOf checks addresses, adds the default port and removes repetitions. */
export function seedsOf(addresses: readonly string[]): string[] {
  if (addresses.length === 0) {
    throw invalid("missing address; give the address of at least one member");
  }
  return [...new Set(addresses.map((given) => {
    let address = given;
    if (/^[^[\]]*:[^[\]]*:/.test(address)) {
      address = `[${address}]:${defaultPort}`; // a bare IPv6 address
    } else if (!/:\d+$/.test(address)) {
      address += `:${defaultPort}`;
    }
    if (!isAddress(address)) {
      throw invalid(`member address ${JSON.stringify(given)}: expected host:port`);
    }
    return address;
  }))];
}
