import { int64, malformed, text, type Json } from "./wire.js";

/** DecodedText is the content of a text of a sequence. */
export interface DecodedText {
  readonly number: bigint;
  /** First day of the number's period; empty without a reset, and if the dates in the text do not name a period. */
  readonly period: string;
  /** The format that writes the text; empty for the decimals of a sequence without a format. */
  readonly format: string;
  /**
   * Whether the cluster granted the number, so that it may have been issued. Each code of the right form has a number, also if the number
   * was never issued.
   */
  readonly state: "granted" | "not-granted" | "unknown";
  /** The sequence was deleted. */
  readonly deleted: boolean;
}

/** decodedText reads an answer of a member. */
export function decodedText(answer: Json): DecodedText {
  const state = text(answer, "state");
  if (state !== "granted" && state !== "not-granted" && state !== "unknown") {
    throw malformed(`the state ${state} of a number`);
  }
  return {
    number: int64(answer["number"], "number"), period: text(answer, "period"), format: text(answer, "format"), state,
    deleted: answer["deleted"] === true,
  };
}
