// SPDX-License-Identifier: Apache-2.0
/** The contrast of text as a reader sees it: measured on the pixels of a page, whoever chose their colours. */
import { PNG } from "pngjs";
import type { Page } from "puppeteer-core";

/** A line of text, and where it is drawn, in CSS pixels of the window. */
type Line = Readonly<Record<"x" | "y" | "width" | "height", number>> & { readonly text: string };

/** Returns the lines of text that a reader can see, also in shadow roots, other than those of disabled controls. */
function visibleLines(page: Page): Promise<Line[]> {
  return page.evaluate(() => {
    const lines: Line[] = [];
    const isOnTop = (element: Element, { x, y, width, height }: DOMRect): boolean => {
      let top = document.elementFromPoint(x + width / 2, y + height / 2);
      while (top?.shadowRoot) {
        const inside = top.shadowRoot.elementFromPoint(x + width / 2, y + height / 2);
        if (!inside || inside === top) break;
        top = inside;
      }
      return top !== null && (element.contains(top) || top.contains(element));
    };
    const isForReaders = (element: Element): boolean => { // rather than for their screen readers only
      const { parentElement } = element;
      return getComputedStyle(element).clipPath === "none" && (!parentElement || isForReaders(parentElement));
    };
    const isSeen = (element: Element): boolean =>
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest(":disabled, [aria-disabled=true], option") &&
      isForReaders(element);
    const visit = (root: Node): void => {
      for (const node of root.childNodes) {
        if (node instanceof Element) {
          if (node.shadowRoot) visit(node.shadowRoot);
          visit(node);
          continue;
        }
        const text = node.nodeType === Node.TEXT_NODE ? node.nodeValue?.trim() : "", element = node.parentElement;
        if (!text || !element || !isSeen(element)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
          if (box.width < 3 || box.height < 6 || !isOnTop(element, box)) continue;
          lines.push({ text, x: box.x, y: box.y, width: box.width, height: box.height });
        }
      }
    };
    visit(document.body);
    return lines;
  });
}

/** The relative luminance of a colour of sRGB: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance. */
function luminance(color: number): number {
  const [red, green, blue] = [16, 8, 0].map((shift) => {
    const part = (color >> shift & 255) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: number, b: number): number {
  const [dark, light] = [luminance(a), luminance(b)].toSorted((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/**
 * The contrast of the colour that fills most of a part of a picture with the one that stands out most from it. Letters have
 * more than a few pixels of their colour, and what is between them and their background is fainter.
 */
function contrastIn({ data, width, height }: PNG, scale: number, line: Line): number {
  const counts = new Map<number, number>();
  const end = (at: number, size: number, all: number): number => Math.min(all, Math.ceil((at + size) * scale));
  for (let y = Math.max(0, Math.floor(line.y * scale)); y < end(line.y, line.height, height); ++y) {
    for (let x = Math.max(0, Math.floor(line.x * scale)); x < end(line.x, line.width, width); ++x) {
      const at = 4 * (y * width + x);
      const color = (data[at] ?? 0) << 16 | (data[at + 1] ?? 0) << 8 | (data[at + 2] ?? 0);
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
  }
  const [[background] = [0]] = [...counts].toSorted(([, a], [, b]) => b - a);
  return Math.max(1, ...[...counts].flatMap(([color, count]) => count > 3 ? contrast(color, background) : []));
}

/**
 * Returns each line of text in the page's window whose contrast is less than `least`, with its contrast, and the number of
 * all lines. `shoot` returns a picture of that window. Another one is taken when text appeared meanwhile.
 */
export async function faintLines(
  page: Page, shoot: () => Promise<Uint8Array>, least: number,
): Promise<{ lines: number; faint: string[] }> {
  const lines = await visibleLines(page);
  const png = await shoot();
  if (JSON.stringify(await visibleLines(page)) !== JSON.stringify(lines)) return faintLines(page, shoot, least);
  const picture = PNG.sync.read(Buffer.from(png));
  const scale = await page.evaluate(() => devicePixelRatio);
  const faint = lines.flatMap((line) => {
    const ratio = contrastIn(picture, scale, line);
    return ratio < least ? [`${line.text}: ${ratio.toFixed(2)}`] : [];
  });
  return { lines: lines.length, faint };
}
