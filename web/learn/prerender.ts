// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the pages of the book into a folder, with every figure in its first state, so that they say what they have to
 * say without any script: node build/learn/prerender.mjs FOLDER
 */
import { render } from "@lit-labs/ssr";
import { collectResult } from "@lit-labs/ssr/lib/render-result.js";
import { load, type Engine } from "headlens";
import { marked } from "marked";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { kBook, type Chapter } from "./book.js";
import { drawFigure } from "./drawing/figure.js";
import { glyph } from "./drawing/glyph.js";
import { kNoHands } from "./drawing/look.js";
import { figureStyles } from "./drawing/styles.js";
import { exploreAddress, firstValues, type Lesson } from "./lesson.js";
import { chapterPage, contentsPage, rowsPage, type TaughtRows, type Told } from "./pages.js";
import type { Scene } from "./scene.js";

const kSources = "web/learn/chapters";

const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
const prose = async (path: string): Promise<string> => marked.parse(read(path) ?? "", { async: true });

/** Draws a figure in its first state, and finds its place in Explore. Comments in its HTML only tell Lit where its parts are, and nothing is alive here. */
async function standing(engine: Engine, lesson: Lesson): Promise<{ figure: string; explore: string; scene: Scene }> {
  const values = firstValues(lesson.controls);
  const scene = await lesson.run(engine, values);
  const drawn = await collectResult(render(drawFigure(lesson, { isAlive: false, values, scene }, kNoHands)));
  const figure = drawn.replaceAll(/<!--.*?-->/gs, "").replaceAll(/\s*\n\s*/g, "\n");
  return { figure, explore: exploreAddress(lesson, values, scene), scene };
}

async function tell(engine: Engine, chapter: Chapter, name: string): Promise<Told & { scene: Scene }> {
  const load = chapter.lessons[name];
  if (!load) throw new Error(`the chapter ${chapter.name} has no lesson ${name}`);
  const { default: lesson } = await load();
  const folder = `${kSources}/${chapter.name}/${name}`;
  const code = ["js", "cc", "py"].map((type) => read(`${folder}/example.${type}`));
  const [javascript, cpp, pytorch] = code;
  return {
    name, lesson, ...await standing(engine, lesson), prose: await prose(`${folder}/prose.md`),
    code: { JavaScript: javascript, "C++": cpp, PyTorch: pytorch },
  };
}

const [out = "build/learn/pages"] = process.argv.slice(2);
const engine = await load();
const written = kBook.filter(({ lessons }) => Object.keys(lessons).length > 0);
const chapters = [];
for (const chapter of written) {
  const told = [];
  for (const name of Object.keys(chapter.lessons)) told.push(await tell(engine, chapter, name));
  const intro = await prose(`${kSources}/${chapter.name}/chapter.md`);
  chapters.push({ ...chapter, intro, glyph: glyph(told.map(({ scene }) => scene)), told });
}
for (const [index, chapter] of chapters.entries()) {
  mkdirSync(`${out}/learn/${chapter.name}`, { recursive: true });
  writeFileSync(`${out}/learn/${chapter.name}/index.html`, chapterPage(chapters, index));
}
writeFileSync(`${out}/learn/index.html`, contentsPage(chapters));
mkdirSync(`${out}/learn/rows`, { recursive: true });
writeFileSync(`${out}/learn/rows/index.html`, rowsPage(chapters, JSON.parse(readFileSync("web/learn/rows.json", "utf8")) as TaughtRows));
writeFileSync(`${out}/figures.css`, figureStyles().cssText);
engine.dispose();
