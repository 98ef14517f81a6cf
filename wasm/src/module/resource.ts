// SPDX-License-Identifier: Apache-2.0
import { HeadlensError } from "../types/errors.js";

/** This is `Symbol.dispose`, or the symbol that compilers of `using` fall back on where the engine does not have it yet. */
export const kDispose: typeof Symbol.dispose =
  Symbol.dispose ?? (Symbol.for("Symbol.dispose") as typeof Symbol.dispose);

/** Owns something in wasm memory and what was made from it. It is released once, children first. Used after that, it throws "disposed". */
export abstract class Resource<H> implements Disposable {
  #held: H | undefined;
  readonly #what: string;
  readonly #owner: Resource<unknown> | undefined;
  readonly #children = new Set<Resource<unknown>>();

  /** Messages call it `what`. `make` gives what is held, and is not called when the owner was disposed while options were read. */
  constructor(what: string, make: () => H, owner?: Resource<unknown>) {
    void owner?.held;
    this.#what = what;
    this.#held = make();
    this.#owner = owner;
    if (owner) owner.#children.add(this);
  }

  protected get held(): H {
    if (this.#held === undefined) throw new HeadlensError("disposed", `this ${this.#what} was disposed and cannot be used any more`);
    return this.#held;
  }

  /** Gives back what is held. It is called once. */
  protected abstract release(held: H): void;

  dispose(): void {
    const held = this.#held;
    if (held === undefined) return;
    for (const child of this.#children) child.dispose();
    this.#held = undefined;
    if (this.#owner) this.#owner.#children.delete(this);
    this.release(held);
  }

  [kDispose](): void {
    this.dispose();
  }
}

/** Owns one object of the wasm module. */
export abstract class HandleResource<H extends { delete(): void }> extends Resource<H> {
  protected override release(handle: H): void {
    handle.delete();
  }
}
