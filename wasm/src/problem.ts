// SPDX-License-Identifier: Apache-2.0
/** Runs of one of the module's problems. A small one that comes again, with other numbers, is spared all but its arithmetic. */
import { guarded, unwrap } from "./failures.js";
import type { CacheHandle, HeadlensModule, NumberArray, ProblemHandle } from "./module.js";
import { type Caller, inApiWords, toCamel, toSnake } from "./names.js";
import type { Input } from "./tensors.js";
import type { AttentionResult, Tensor } from "./types.js";

interface ResultSlot {
  readonly name: string;
  readonly shape: readonly number[];
  readonly view: Float32Array;
}

/** Where a call that can be repeated has its numbers: views into wasm memory. */
interface Slots {
  readonly inputs: readonly NumberArray[];
  readonly results: readonly ResultSlot[];
}

/** A call as it was last made. */
interface LastCall {
  readonly json: string;
  readonly inputs: readonly Omit<Input, "data">[];
  /** By the module's names. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  slots?: Slots | undefined;
}

function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, i) => size === b[i]);
}

function isSameCall(last: LastCall, inputs: readonly Input[], json: string): boolean {
  return last.json === json && last.inputs.length === inputs.length && inputs.every(({ name, dtype, shape }, i) => {
    const before = last.inputs[i] as Omit<Input, "data">;
    return name === before.name && dtype === before.dtype && isSameShape(shape, before.shape);
  });
}

/** When memory grows, its old buffer, and every view of it, is as if it were empty. */
function isDetached(view: NumberArray): boolean {
  return view.buffer.byteLength === 0;
}

export class Problem {
  readonly #handle: ProblemHandle;
  #last: LastCall | undefined;

  /** `maker` is the engine's method; the module calls the operation the same in snake_case. `json`: its options. */
  constructor(module: HeadlensModule, maker: Caller, json: string) {
    this.#handle = guarded(maker, () => unwrap(module.createProblem(toSnake(maker), json), inApiWords));
  }

  delete(): void {
    this.#handle.delete();
  }

  parameterCount(): number {
    return this.#handle.parameterCount();
  }

  load(parameters: readonly Input[]): void {
    this.#last = undefined;
    guarded("loadStateDict", () => unwrap(this.#handle.load(parameters), inApiWords));
  }

  /** One run: inputs in, results out, under the API's names. */
  run(caller: Caller, inputs: readonly Input[], json: string, cache: CacheHandle | null = null): AttentionResult {
    return guarded(caller, () => {
      const last = this.#last;
      if (last && cache === null && isSameCall(last, inputs, json)) {
        last.slots = this.#slotsOf(last);
        if (last.slots) return this.#repeat(last, last.slots, inputs);
      }
      this.#last = undefined;
      const results = unwrap(this.#handle.run(inputs, json, cache), inApiWords);
      const entries = Object.entries(results);
      if (cache === null) {
        const shapes = Object.fromEntries(entries.map(([name, { shape }]) => [name, [...shape]]));
        this.#last = { json, inputs: inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })), shapes };
      }
      return Object.fromEntries(entries.map(([name, tensor]) => [toCamel(name), tensor])) as AttentionResult;
    });
  }

  #repeat(last: LastCall, slots: Slots, inputs: readonly Input[]): AttentionResult {
    this.#last = undefined; // unless all goes well
    slots.inputs.forEach((slot, i) => slot.set((inputs[i] as Input).data));
    unwrap(this.#handle.repeat(), inApiWords);
    this.#last = last;
    last.slots = this.#slotsOf(last) ?? slots; // computing may have made memory grow
    const results: Record<string, Tensor> = {};
    for (const { name, shape, view } of last.slots.results) results[name] = { data: view.slice(), shape: [...shape] };
    return results as unknown as AttentionResult;
  }

  /** Nothing for a call that cannot be repeated. */
  #slotsOf({ slots, inputs, shapes }: LastCall): Slots | undefined {
    if (slots && !slots.inputs.some(isDetached)) return slots;
    const kept = this.#handle.kept();
    if (!kept) return undefined;
    const results = Object.entries(kept.results);
    return {
      inputs: inputs.map(({ name }) => kept.inputs[name] as NumberArray),
      results: results.map(([name, view]) => ({ name: toCamel(name), shape: shapes[name] ?? [], view })),
    };
  }
}
