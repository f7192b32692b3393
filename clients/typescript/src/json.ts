/** jsonReplacer is for JSON.stringify: it writes each bigint as a string of decimal digits, which every parser reads exactly. */
export function jsonReplacer(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
