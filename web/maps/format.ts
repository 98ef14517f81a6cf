// SPDX-License-Identifier: Apache-2.0
/** A number with four decimals and a true minus sign. */
export const formatValue = (value: number, digits = 4): string => value.toFixed(digits).replace("-", "−");

/** The same for numbers of either sign that may round to zero, which has none. */
export const formatSum = (value: number, digits: number): string => formatValue(value, digits).replace(/^−(?=[0.]*$)/, "");
