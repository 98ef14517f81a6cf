// SPDX-License-Identifier: Apache-2.0
/** A number with four decimals and a true minus sign. */
export const formatValue = (value: number, digits = 4): string => value.toFixed(digits).replace("-", "−");
