// SPDX-License-Identifier: Apache-2.0
/** The element of the page with this id, which is of this type. */
export function byId<E extends Element>(id: string, type: new () => E): E {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`#${id} is missing`);
  return element;
}
