// SPDX-License-Identifier: Apache-2.0
/**
 * The script of a chapter's page: its lessons come alive, and the page's address holds the state of the one that was
 * changed last, as `#saturation&width=64`.
 */
import { AttentionLesson, type LessonChange } from "./element.js";

/** Addresses change at most this often (milliseconds). */
const kDelay = 250;

function readAddress(): void {
  const [name = "", ...rest] = location.hash.slice(1).split("&");
  const lesson = document.querySelector(`attention-lesson[name="${CSS.escape(name)}"]`);
  if (!(lesson instanceof AttentionLesson) || rest.length === 0) return;
  for (const [control, value] of new URLSearchParams(rest.join("&"))) lesson.setAttribute(control, value);
  lesson.closest("section")?.scrollIntoView({ behavior: "instant" });
}

let timer = 0;
document.addEventListener("lesson-change", (event) => {
  const { target } = event;
  if (!(target instanceof AttentionLesson)) return;
  const { values } = (event as CustomEvent<LessonChange>).detail;
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    const rest = new URLSearchParams(values).toString();
    history.replaceState(null, "", `#${target.name}${rest === "" ? "" : `&${rest}`}`);
  }, kDelay);
});
document.addEventListener("lesson-drawn", ({ target }) => {
  if (!(target instanceof AttentionLesson)) return;
  const link = target.closest("section")?.querySelector<HTMLAnchorElement>("a.explore");
  if (link && target.explore !== undefined) link.hash = target.explore;
});

/** On a phone the chapters stand in one row, which begins with those around the current one. */
function showChapter(): void {
  const current = document.querySelector(".contents [aria-current]");
  const row = current?.closest("ol");
  if (!current || !row) return;
  const middle = ({ left, width }: DOMRect): number => left + width / 2;
  row.scrollLeft = middle(current.getBoundingClientRect()) - middle(row.getBoundingClientRect());
}

addEventListener("hashchange", readAddress);
showChapter();
readAddress();
