// Pictures that go with a prompt: read, made small enough to send, and shown before they go.
import type { Content } from "../../contract";

/** A picture that waits to be sent. */
export interface Picture {
  readonly id: string;
  readonly name: string;
  /** For the preview; to be revoked when it is gone. */
  readonly address: string;
  readonly media_type: string;
  readonly base64: string;
}

// A message to the host has at most 1 MiB; pictures get the greater part of it, all together.
const ROOM = 900_000;
// The model looks at no more than this.
const LONGEST_EDGE = 1568;
const SENT_AS_IT_IS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The pictures among files, small enough to go with those that are there already. */
export async function readPictures(files: Iterable<File>, there: readonly Picture[]): Promise<Picture[]> {
  const pictures = [...files].filter((file) => file.type.startsWith("image/"));
  const used = there.reduce((sum, picture) => sum + picture.base64.length, 0);
  const room = Math.floor((ROOM - used) / Math.max(1, pictures.length));
  return Promise.all(pictures.map((file) => readPicture(file, room)));
}

/** A picture as a part of a prompt. */
export function contentOf({ media_type, base64 }: Picture): Content {
  return { type: "image", media_type, base64 };
}

async function readPicture(file: File, room: number): Promise<Picture> {
  const whole = SENT_AS_IT_IS.has(file.type) ? await base64Of(file) : null;
  const blob = whole !== null && whole.length <= room ? file : await smaller(file, room);
  return {
    id: crypto.getRandomValues(new Uint32Array(2)).join("-"),
    name: file.name || "picture",
    address: URL.createObjectURL(blob),
    media_type: blob.type,
    base64: blob === file && whole !== null ? whole : await base64Of(blob),
  };
}

async function smaller(file: File, room: number): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  for (const [edge, quality] of [
    [LONGEST_EDGE, 0.85],
    [LONGEST_EDGE, 0.6],
    [1000, 0.6],
    [700, 0.5],
    [400, 0.4],
  ] as const) {
    const scale = Math.min(1, edge / Math.max(bitmap.width, bitmap.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", quality));
    if (blob !== null && (blob.size * 4) / 3 + 4 <= room) return blob;
  }
  throw new Error(`there is no room for ${file.name || "this picture"} in one prompt`);
}

function base64Of(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error ?? new Error("the picture cannot be read"));
    reader.readAsDataURL(blob);
  });
}
