// SPDX-License-Identifier: Apache-2.0
/**
 * The part of @lit-labs/ssr that the book uses. Its own declarations give every array of a program that sees them another
 * `flat`, with another type than JavaScript's.
 */
import type { TemplateResult } from "lit";

export declare function render(template: TemplateResult): Iterable<unknown>;
export declare function collectResult(result: Iterable<unknown>): Promise<string>;
