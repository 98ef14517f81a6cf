// SPDX-License-Identifier: Apache-2.0
/** Pictures that models read, from their addresses, and those that a reader gave to this page. */
import type { ImageLike } from "headlens";
import { kGiven } from "../state/given.js";

/** Larger pictures are scaled down, since models read a few hundred pixels a side. */
const kMostSide = 2048;
/** The largest files and pictures that are decoded: a small file can stand for more memory than there is. */
const kMostBytes = 1 << 26;
const kMostPixels = 1 << 26;
/** The latest pictures of a reader stay, so that the browser's back button finds them. */
const kMostKept = 8;

const given = new Map<string, Blob>();
let count = 0;

/** Takes a picture, and returns an address that stands for it in this page. Rejects, in words, what is no picture. */
export async function givePicture(file: File): Promise<string> {
  const bitmap = await decoded(file, file.name);
  bitmap.close();
  const address = `${kGiven}picture-${++count}`;
  given.set(address, file);
  for (const older of [...given.keys()].slice(0, -kMostKept)) given.delete(older);
  return address;
}

/** Fetches a picture and returns its pixels. Rejects with an Error that names the address. */
export async function pictureAt(address: string): Promise<ImageLike> {
  const bitmap = await decoded(given.get(address) ?? (await fetched(address)), address);
  const shrink = Math.min(1, kMostSide / Math.max(bitmap.width, bitmap.height));
  const side = (length: number): number => Math.max(Math.round(length * shrink), 1);
  const [width, height] = [side(bitmap.width), side(bitmap.height)];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("image: this browser gives no canvas to read a picture with");
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

async function fetched(address: string): Promise<Blob> {
  if (address.startsWith(kGiven)) throw new Error("image: this page no longer has that picture; give it again");
  const response = await fetch(new URL(address, document.baseURI));
  if (!response.ok) throw new Error(`image: ${address} answered ${response.status}`);
  return response.blob();
}

async function decoded(file: Blob, name: string): Promise<ImageBitmap> {
  if (file.size > kMostBytes)
    throw new Error(`image: ${name} has ${Math.ceil(file.size / 2 ** 20)} MiB, expected at most ${kMostBytes / 2 ** 20}`);
  const [width = 0, height = 0] = sizeIn(new DataView(await file.arrayBuffer())) ?? [];
  checkSize(name, width, height);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`image: ${name} is no picture that this browser can read, or is broken`);
  });
  checkSize(name, bitmap.width, bitmap.height);
  return bitmap;
}

function checkSize(name: string, width: number, height: number): void {
  if (width * height > kMostPixels)
    throw new Error(`image: ${name} has ${width} × ${height} pixels, expected at most ${kMostPixels / 2 ** 20} Mi of them`);
}

/** The size that the head of a PNG or JPEG names, before anything is decoded; undefined in other files. */
function sizeIn(bytes: DataView): [width: number, height: number] | undefined {
  if (bytes.byteLength >= 24 && bytes.getUint32(0) === 0x89504e47) return [bytes.getUint32(16), bytes.getUint32(20)];
  if (bytes.byteLength < 4 || bytes.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= bytes.byteLength && bytes.getUint8(at) === 0xff; at += 2 + bytes.getUint16(at + 2)) {
    const marker = bytes.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [bytes.getUint16(at + 7), bytes.getUint16(at + 5)];
  }
  return undefined;
}
