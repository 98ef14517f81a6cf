// SPDX-License-Identifier: Apache-2.0
/** The parts of residual streams by name, and in groups. */
import type { StreamPart } from "headlens";
import type { Run } from "./run.js";
import { tokenName } from "./tokens.js";

/** Whose stream it is: that of the token that looks, or of the one that is looked at. */
export type Side = "query" | "key";

/** The attention decides the names of parts: the keys of a cross-attention have parts of the encoder's stream. */
export interface Naming {
  readonly side: Side | "value";
  readonly isEncoders: boolean;
  readonly isPicture: boolean;
}

export const namingOf = ({ shown, info }: Run, side: Naming["side"]): Naming => ({
  side,
  isEncoders: shown === "cross" && side !== "query",
  isPicture: info.image !== undefined,
});

/** The name of a part: "head 2.0". */
export function partName({ kind, layer = 0, head = 0 }: StreamPart, { side, isEncoders, isPicture }: Naming): string {
  switch (kind) {
    case "token":
      return isPicture ? "patch" : "token";
    case "position":
    case "segment":
      return kind;
    case "head":
      return `${isEncoders ? "encoder " : ""}head ${layer}.${head}`;
    case "cross":
      return `cross head ${layer}.${head}`;
    case "feedForward":
      return `feed-forward ${layer}`;
    case "bias":
      return "bias of layers";
    case "norm":
      return "shift of norms";
    case "projection":
      return `${side} bias`;
  }
}

/** A part in a sentence, as that of a token: "what head 1.3 wrote at ‘queen’". */
export function partInWords(part: StreamPart, naming: Naming, token: string): string {
  const [name, of] = [partName(part, naming), tokenName(token)];
  switch (part.kind) {
    case "token":
    case "position":
    case "segment":
      if (naming.side === "query") return `its ${name}`;
      return part.kind === "token" ? `the ${name} ${of}` : `the ${name} of ${of}`;
    case "head":
    case "cross":
    case "feedForward": {
      const who = part.kind === "feedForward" ? `the feed-forward network of layer ${part.layer ?? 0}` : name;
      return naming.side === "query" ? `its part from ${who}` : `what ${who} wrote at ${of}`;
    }
    case "bias":
    case "norm":
    case "projection":
      return `the ${name}`;
  }
}

/** Parts that are shown as one. */
export interface PartGroup {
  readonly name: string;
  /** Their places among all parts. */
  readonly members: readonly number[];
}

function groupName({ kind, layer = 0 }: StreamPart, naming: Naming): string {
  switch (kind) {
    case "position":
    case "segment":
      return "position";
    case "head":
      return `${naming.isEncoders ? "encoder " : ""}heads of layer ${layer}`;
    case "cross":
      return `cross heads of layer ${layer}`;
    case "token":
    case "feedForward":
      return partName({ kind, layer }, naming);
    case "bias":
    case "norm":
    case "projection":
      return "biases and shifts";
  }
}

/** Groups in the order of the stream: embeddings, then layer by layer. */
export function groupsOf(parts: readonly StreamPart[], naming: Naming): PartGroup[] {
  const groups = new Map<string, number[]>();
  parts.forEach((part, index) => {
    const name = groupName(part, naming);
    const members = groups.get(name);
    if (members) members.push(index);
    else groups.set(name, [index]);
  });
  return Array.from(groups, ([name, members]) => {
    const [first = 0] = members;
    const only = parts[first];
    return { name: members.length === 1 && only ? partName(only, naming) : name, members };
  });
}
