// SPDX-License-Identifier: Apache-2.0
/** Arguments of a call are made into what can be sent to a worker. */
import { isAbsent, propertiesOf } from "../arguments/options.js";
import {
  canMove, entriesOf, expectOutThere, expectThere, isPart, isTensorLike, type Outputs, outputs, plain, type Seen,
  viewOfOutput,
} from "../arguments/tensors.js";
import { wrong } from "../module/failures.js";
import type { Kept } from "./messages.js";

/** Everything in a parcel has to be there still when the last argument has been read. */
interface Parcel {
  /** The elements of these tensors are copied. */
  readonly tensors: Seen[];
  /** The buffers of these arrays, which are the option `out`, move. Memory that is shared anyway stays where it is. */
  readonly outs: Outputs[];
  readonly keptOf: Keeper;
}

export interface Sendable {
  readonly args: readonly unknown[];
  /** These buffers move to the worker. */
  readonly transfer: ArrayBuffer[];
}

/** Returns the object of the worker that a value stands for, or undefined for any other value. */
export type Keeper = (value: object) => Kept | undefined;

export function sendable(args: readonly unknown[], keptOf: Keeper): Sendable {
  const parcel: Parcel = { tensors: [], outs: [], keptOf };
  const sent = args.map((value) => cloneable("an argument", value, parcel));
  expectThere(parcel.tensors);
  parcel.outs.forEach(expectOutThere);
  const views = parcel.outs.flatMap((out) => Array.from(out.values(), viewOfOutput));
  return { args: sent, transfer: views.map(({ buffer }) => buffer).filter(canMove) };
}

/** Tensors and options anywhere in the arguments become plain objects: structured cloning would drop what they have through a class. */
function cloneable(name: string, value: unknown, parcel: Parcel): unknown {
  if (typeof value === "object" && value !== null) {
    const kept = parcel.keptOf(value);
    if (kept) return kept;
  }
  if (isTensorLike(value)) return plain(name, value, parcel.tensors);
  if (Array.isArray(value)) return value.map((item) => cloneable(name, item, parcel));
  if (isState(value)) return new Map(entriesOf(name, value).map(([key, item]) => [key, cloneable(key, item, parcel)]));
  if (Object.prototype.toString.call(value) !== "[object Object]") return value;
  const properties = propertiesOf(value as object).map(([key, item]) => {
    const isOut = key === "out" && !isAbsent(item) && !isTensorLike(item); // a parameter could have that name
    return [key, isOut ? moving(item, parcel) : cloneable(key, item, parcel)];
  });
  return Object.fromEntries(properties) as object;
}

/** Returns true for a state dict that is no plain object. */
function isState(value: unknown): boolean {
  const isObject = typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
  return isObject && Symbol.iterator in value;
}

/** Takes the option `out`. */
function moving(given: unknown, parcel: Parcel): object {
  const out = outputs(given);
  parcel.outs.push(out);
  const tensors = Array.from(out, ([name, place]) => {
    const view = viewOfOutput(place);
    if (isPart(view)) {
      throw wrong("value", `out.${name}.data`, "part of a larger buffer", "a buffer of its own, which can move to the worker");
    }
    return [name, { data: view, shape: [view.length] }];
  });
  return Object.fromEntries(tensors) as object;
}
