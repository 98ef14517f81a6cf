// SPDX-License-Identifier: Apache-2.0
/**
 * Elements with the same `group` show the same: what changes in one of them changes in all. Each keeps only its view and
 * its theme to itself. The place under the pointer is shared, too, but belongs to no state.
 */
import { kNames, type State } from "./state.js";

/** The place that the pointer or the keyboard is at: a query, a key, or a cell. */
export interface Cursor {
  readonly row?: number | undefined;
  readonly col?: number | undefined;
}

/** A member of a group, which is told of changes. */
export interface Member {
  readonly state: Readonly<State>;
  take(changes: Partial<State>): void;
  point(cursor: Cursor | undefined): void;
}

/** The fields that members share. */
const kShared: readonly (keyof State)[] = kNames.filter((name) => name !== "view" && name !== "theme");

const groups = new Map<string, Group>();

export class Group {
  readonly #members = new Set<Member>();
  cursor: Cursor | undefined;

  static named(name: string): Group {
    const group = groups.get(name) ?? new Group();
    groups.set(name, group);
    return group;
  }

  /** A member that comes later takes the state of the first, except for what it sets itself and the first does not. */
  join(member: Member, initial: Readonly<State>): void {
    const [first] = this.#members;
    this.#members.add(member);
    if (!first) return;
    const [theirs, own] = [first.state, member.state];
    const isSet = (state: Readonly<State>, name: keyof State): boolean => !Object.is(state[name], initial[name]);
    const taken = kShared.filter((name) => isSet(theirs, name));
    member.take(picked(theirs, taken));
    const brought = kShared.filter((name) => isSet(own, name) && !isSet(theirs, name));
    if (brought.length > 0) this.change(member, picked(own, brought));
  }

  leave(member: Member): void {
    this.#members.delete(member);
  }

  /** Tells the other members what changed in one. */
  change(by: Member | undefined, changes: Partial<State>): void {
    const shared = picked(changes, kShared.filter((name) => name in changes));
    for (const member of this.#members) if (member !== by) member.take(shared);
  }

  point(cursor: Cursor | undefined): void {
    if (cursor?.row === this.cursor?.row && cursor?.col === this.cursor?.col) return;
    this.cursor = cursor;
    for (const member of this.#members) member.point(cursor);
  }
}

function picked(state: Partial<State>, names: readonly (keyof State)[]): Partial<State> {
  return Object.fromEntries(names.map((name) => [name, state[name]]));
}
