// SPDX-License-Identifier: Apache-2.0
/** The inputs that a model expects and reads, as views tell of it. These are types only, which authors see, too. */

export interface Expected {
  readonly id: number;
  readonly token: string;
  readonly probability: number;
  /** Its probability in the run without the reader's changes, if there are any. */
  readonly before?: number | undefined;
}

/** The token that was read last, in the view that reads a text token by token. */
export interface Step {
  readonly row: number;
  readonly token: string;
}
