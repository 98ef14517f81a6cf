// SPDX-License-Identifier: Apache-2.0
import { Group, type Member } from "../state/group.js";
import { kInitial, kNames, type State } from "../state/state.js";

/** An element as a member of groups. */
interface Grouped extends State {
  readonly group: string;
  requestUpdate(): void;
}

/** The place of an element in the group that its attribute names. An element without one has a group of its own. */
export class Membership implements Member {
  group = new Group();
  /** The changes that came from the group, which need not go back to it. */
  #taken: Partial<State> = {};
  #hasTold = false;

  constructor(private readonly element: Grouped) {}

  get state(): Readonly<State> {
    return this.element;
  }

  join(): void {
    this.leave();
    const { group } = this.element;
    this.group = group === "" ? new Group() : Group.named(group);
    this.group.join(this, kInitial);
  }

  leave(): void {
    this.group.leave(this);
  }

  take(changes: Partial<State>): void {
    this.#taken = { ...this.#taken, ...changes };
    Object.assign(this.element, changes);
  }

  point(): void {
    this.element.requestUpdate();
  }

  /** Tells the others which of these fields have changed. */
  tell(changed: ReadonlyMap<PropertyKey, unknown>): void {
    const { element } = this;
    // At first, what nobody set is no news to the others.
    const isNew = (name: keyof State): boolean => this.#hasTold || !Object.is(element[name], kInitial[name]);
    const isFromGroup = (name: keyof State): boolean => Object.is(element[name], this.#taken[name]);
    const names = kNames.filter((name) => changed.has(name) && isNew(name) && !isFromGroup(name));
    this.#taken = {};
    this.#hasTold = true;
    if (names.length > 0) this.group.change(this, Object.fromEntries(names.map((name) => [name, element[name]])));
  }
}
