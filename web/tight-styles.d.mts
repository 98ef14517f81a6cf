// SPDX-License-Identifier: Apache-2.0
export const kStyled: RegExp;
export function tightened(script: string): string;
