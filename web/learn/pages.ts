// SPDX-License-Identifier: Apache-2.0
/** The HTML of the book's pages. All text in it is the book's own. */
import type { Lesson } from "./lesson.js";

/** A lesson with its HTML. */
export interface Told {
  readonly name: string;
  readonly lesson: Lesson;
  readonly figure: string;
  readonly prose: string;
  readonly code: Readonly<Record<string, string | undefined>>;
  readonly explore: string;
}

export interface ToldChapter {
  readonly name: string;
  readonly title: string;
  readonly intro: string;
  /** A small picture of it, as HTML. */
  readonly glyph: string;
  readonly told: readonly Told[];
}

/** The rows of what the tutorials show, by their numbers. */
export type TaughtRows = Readonly<Record<string, { readonly shows: string; readonly lessons: readonly string[] }>>;

/** Sources and style sheets, seen from a page of the book as Vite finds it. */
const kRoot = "../../../..";

const kEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => kEscapes[char] ?? char);

/** `up` leads from the page to the folder of Explore. */
function page(title: string, description: string, up: string, body: string, script: string): string {
  const root = up === "../" ? kRoot.slice(3) : kRoot;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="description" content="${escaped(description)}" />
    <title>${escaped(title)}</title>
    <link rel="icon" href="${up}icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="${up}site.css" />
    <link rel="stylesheet" href="${root}/web/learn/page.css" />
    <link rel="stylesheet" href="${root}/build/learn/pages/figures.css" />
    ${script === "" ? "" : `<script type="module" src="${root}/web/learn/${script}"></script>`}
  </head>
  <body>
    <a class="skip" href="#main">To the text</a>
    <header>
      <p class="brand">headlens</p>
      <nav aria-label="Pages"><a href="${up}">Explore</a> <a href="${up}learn/" aria-current="${up === "../" ? "page" : "true"}">Learn</a> <a href="${up}bench/">Bench</a></nav>
    </header>
${body}
  </body>
</html>
`;
}

const contents = (chapters: readonly ToldChapter[], current: number): string => `
    <nav class="contents" aria-label="Chapters">
      <ol class="scrolled">${chapters.map(({ name, title }, index) => `
        <li><a href="../${name}/" ${index === current ? 'aria-current="page"' : ""}>${escaped(title)}</a></li>`).join("")}
      </ol>
    </nav>`;

function turn(chapters: readonly ToldChapter[], index: number): string {
  const [before, after] = [chapters[index - 1], chapters[index + 1]];
  const link = (chapter: ToldChapter | undefined, rel: string, sign: string): string =>
    chapter ? `<a rel="${rel}" href="../${chapter.name}/">${sign} ${escaped(chapter.title)}</a>` : "<span></span>";
  return `<nav class="turn" aria-label="Before and after">${link(before, "prev", "←")} ${link(after, "next", "→")}</nav>`;
}

const codeOf = ({ name, code }: Told): string => Object.entries(code).map(([language, text]) =>
  text === undefined ? "" : `
          <details name="code-${name}"><summary>${language}</summary><pre tabindex="0"><code>${escaped(withoutLicence(text))}</code></pre></details>`).join("");

const withoutLicence = (text: string): string => text.replace(/^(\/\/|#) SPDX.*\n/, "").trim();

const section = (told: Told): string => `
      <section id="${told.name}" class="lesson">
        <h2><a href="#${told.name}">${escaped(told.lesson.title)}</a></h2>
        <attention-lesson name="${told.name}">${told.figure}</attention-lesson>
        <div class="prose">${told.prose}</div>
        <div class="code">${codeOf(told)}
          <details name="code-${told.name}"><summary>In your page</summary><pre tabindex="0"><code>${escaped(embedding(told.name))}</code></pre></details>
        </div>
        <p><a class="explore" href="../../#${escaped(told.explore)}">${escaped(`${told.lesson.exploreShows ?? "The same"}, in Explore`)}</a></p>
      </section>`;

const embedding = (name: string): string =>
  `<script type="module" src="node_modules/headlens/dist/lesson.js"></script>\n<attention-lesson name="${name}"></attention-lesson>`;

export function chapterPage(chapters: readonly ToldChapter[], index: number): string {
  const chapter = chapters[index];
  if (!chapter) throw new Error(`there is no chapter ${index}`);
  const body = `
    <div class="book">${contents(chapters, index)}
    <main id="main">
      <p class="quiet">Chapter ${index + 1} of ${chapters.length}</p>
      <h1>${escaped(chapter.title)}</h1>
      <div class="prose">${chapter.intro}</div>${chapter.told.map(section).join("")}
      ${turn(chapters, index)}
    </main>
    </div>`;
  const claims = chapter.told.map(({ lesson }) => lesson.claim).join(" ");
  return page(`${chapter.title} · headlens`, claims.slice(0, 150), "../../", body, "page.ts");
}

export function contentsPage(chapters: readonly ToldChapter[]): string {
  const entry = ({ name, title, glyph, told }: ToldChapter): string => `
        <li><a href="./${name}/">${escaped(title)}</a>
          <div class="entry">${glyph}
            <ul>${told.map((one) => `<li><a href="./${name}/#${one.name}">${escaped(one.lesson.title)}</a></li>`).join("")}</ul>
          </div>
        </li>`;
  const body = `
    <main id="main" class="index">
      <h1>Attention, live</h1>
      <p class="lead">A book in which every number is computed before your eyes. Each lesson makes one claim, lets you predict, and hands you the control that could break it.</p>
      <ol class="chapters">${chapters.map(entry).join("")}</ol>
      <p><a href="./rows/">What the tutorials show, and where it is here</a></p>
    </main>`;
  return page("Learn how attention works · headlens", "Multi-head attention in lessons whose every number is computed in the page.", "../", body, "");
}

/** The table of what the tutorials show, with the lessons that show it live. */
export function rowsPage(chapters: readonly ToldChapter[], rows: TaughtRows): string {
  const link = (name: string): string => {
    const chapter = chapters.find(({ told }) => told.some((one) => one.name === name));
    const found = chapter?.told.find((one) => one.name === name);
    if (!chapter || !found) throw new Error(`rows.json names a lesson that the book does not have: ${name}`);
    return `<li><a href="../${chapter.name}/#${name}">${escaped(found.lesson.title)}</a></li>`;
  };
  const line = ([row, { shows, lessons }]: [string, TaughtRows[string]]): string => `
          <tr><th scope="row">${row}</th><td>${escaped(shows)}</td><td><ul>${lessons.map(link).join("")}</ul></td></tr>`;
  const body = `
    <main id="main" class="index">
      <h1>What the tutorials show</h1>
      <p class="lead">The five tutorials that the book grew from show these things, and print numbers. Each is a lesson here, and a test reads its numbers from the page and holds them against the printed ones.</p>
      <table class="rows">
        <thead><tr><th scope="col">Row</th><th scope="col">What it shows</th><th scope="col">Lessons</th></tr></thead>
        <tbody>${Object.entries(rows).map(line).join("")}
        </tbody>
      </table>
    </main>`;
  return page("What the tutorials show · headlens", "Each thing that the tutorials show, and the lesson that shows it live.", "../../", body, "");
}
