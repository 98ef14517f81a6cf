// SPDX-License-Identifier: Apache-2.0
/** A promise with the function that settles it. */
export interface Waiting {
  readonly promise: Promise<void>;
  resolve(this: void): void;
}

export function waiting(): Waiting {
  let resolve: Waiting["resolve"] = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
