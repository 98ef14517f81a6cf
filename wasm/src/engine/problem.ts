// SPDX-License-Identifier: Apache-2.0
/** This runs the module's problems. A small one that comes again with other numbers is spared all but its arithmetic. */
import { apiName, type Caller, namesIn, type Request, toCamel, toSnake } from "../arguments/names.js";
import type { Input } from "../arguments/inputs.js";
import { expectOutThere, expectThere, type Outputs, write } from "../arguments/tensors.js";
import { guarded, showShape, unwrap, wrong } from "../module/failures.js";
import type { CacheHandle, HeadlensModule, NumberArray, ProblemHandle, RawTensor } from "../module/module.js";
import { HeadlensError } from "../types/errors.js";
import type { MemoryStage, Stage, Tensor } from "../types/index.js";

/** A call's results by their names. The options decide which of them are there, as the public types say. */
export type Results = Record<"output" | Stage | MemoryStage, Tensor>;

/** This result is still in wasm memory. */
interface ResultSlot {
  readonly name: string;
  readonly shape: readonly number[];
  readonly view: Float32Array;
}

/** A call that can be repeated has its numbers in these views into wasm memory. */
interface Slots {
  readonly inputs: readonly NumberArray[];
  readonly results: readonly ResultSlot[];
}

/** An input has to agree in these when its call comes again. */
type Kind = Pick<Input, "name" | "dtype" | "shape">;

/** This is the call as it was last made. */
interface LastCall {
  readonly json: string;
  readonly inputs: readonly Kind[];
  slots?: Slots | undefined;
}

function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, i) => size === b[i]);
}

function isSameCall(last: LastCall, inputs: readonly Input[], json: string): boolean {
  return last.json === json && last.inputs.length === inputs.length && inputs.every(({ name, dtype, shape }, i) => {
    const before = last.inputs[i] as Kind;
    return name === before.name && dtype === before.dtype && isSameShape(shape, before.shape);
  });
}

/** When memory grows, its old buffer, and every view of it, is as if it were empty. */
function isDetached(view: NumberArray): boolean {
  return view.buffer.byteLength === 0;
}

function resultSlots(results: Readonly<Record<string, RawTensor>>): ResultSlot[] {
  return Object.entries(results).map(([name, { data, shape }]) => ({ name: toCamel(name), shape, view: data }));
}

/** Throws unless each array of `out` is there, and has a result that fits it. */
function checkOut(out: Outputs, results: readonly ResultSlot[]): void {
  expectOutThere(out);
  for (const [name, { length }] of out) {
    const result = results.find((slot) => slot.name === name);
    if (!result) {
      const expected = `some of: ${results.map((slot) => slot.name).join(", ")}`;
      throw new HeadlensError("option", `out.${name}: this call does not give it, expected ${expected}`, { argument: `out.${name}`, expected });
    }
    if (length === result.view.length) continue;
    throw wrong("shape", `out.${name}.data`, `${length} values`, `${result.view.length} for shape ${showShape(result.shape)}`, "has");
  }
}

/** Copies the results into memory of the caller's own: into the arrays of `out`, and into new ones. */
function copied(results: readonly ResultSlot[], out: Outputs): Results {
  checkOut(out, results);
  const tensors: Record<string, Tensor> = {};
  for (const { name, shape, view } of results) {
    if (isDetached(view)) throw new HeadlensError("internal", `the result ${name} was lost when memory grew`);
    const place = out.get(name);
    if (place) write(view, place);
    tensors[name] = { data: place?.array ?? view.slice(), shape: [...shape] };
  }
  return tensors as Results;
}

const kNowhere: Outputs = new Map();

export class Problem {
  readonly #handle: ProblemHandle;
  #last: LastCall | undefined;

  /** `maker` is the engine's method, which the module calls the same in snake_case. `json` has its options. */
  constructor(module: HeadlensModule, maker: Caller, json: string) {
    this.#handle = guarded(maker, () => unwrap(module.createProblem(toSnake(maker), json), apiName));
  }

  delete(): void {
    this.#handle.delete();
  }

  parameterCount(): number {
    return this.#handle.parameterCount();
  }

  load(parameters: readonly Input[]): void {
    this.#last = undefined;
    expectThere(parameters);
    guarded("loadStateDict", () => unwrap(this.#handle.load(parameters), apiName));
  }

  /** Runs the problem on the inputs and returns the results under the API's names. */
  run(
    caller: Caller, inputs: readonly Input[], { json, out = kNowhere }: Pick<Request, "json" | "out">,
    cache: CacheHandle | null = null,
  ): Results {
    expectThere(inputs);
    return guarded(caller, () => {
      const last = this.#last;
      if (last && cache === null && isSameCall(last, inputs, json)) {
        last.slots = this.#slotsOf(last);
        const results = last.slots && this.#repeat(last, last.slots, inputs, out);
        if (results) return results;
      }
      this.#last = undefined;
      const length = cache?.length() ?? 0;
      const results = unwrap(this.#handle.run(inputs, json, cache), namesIn(inputs));
      try {
        return copied(resultSlots(results), out);
      } catch (error) {
        cache?.truncate(length); // a call that fails, say because of `out`, leaves no tokens there
        throw error;
      } finally {
        this.#handle.release();
        if (cache === null) {
          this.#last = { json, inputs: inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })) };
        }
      }
    });
  }

  #repeat(last: LastCall, slots: Slots, inputs: readonly Input[], out: Outputs): Results | undefined {
    checkOut(out, slots.results); // this comes before anything is computed
    this.#last = undefined; // it is set again when all has gone well
    slots.inputs.forEach((slot, i) => slot.set((inputs[i] as Input).data));
    // A failed repetition is not reported: the whole call, which then follows, names the caller's own tensors in its error.
    if (this.#handle.repeat()) return undefined;
    this.#last = last;
    last.slots = this.#slotsOf(last) ?? slots; // computing may have made memory grow
    return copied(last.slots.results, out);
  }

  /** Returns undefined for a call that cannot be repeated. */
  #slotsOf({ slots, inputs }: LastCall): Slots | undefined {
    if (slots && !slots.inputs.some(isDetached)) return slots;
    const kept = this.#handle.kept();
    if (!kept) return undefined;
    return {
      inputs: inputs.map(({ name }) => kept.inputs[name] as NumberArray),
      results: resultSlots(kept.results),
    };
  }
}
