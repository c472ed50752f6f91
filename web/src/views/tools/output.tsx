// The output of a tool as the CLI gave it to the model: a text, or a list of texts and pictures.
import type { Json } from "../../contract";

interface Picture {
  readonly address: string;
}

/** The texts of an output, joined. */
export function outputText(output: Json | null | undefined): string {
  if (output === null || output === undefined) return "";
  if (typeof output === "string") return output;
  if (Array.isArray(output)) return output.map(partText).filter(Boolean).join("\n");
  return JSON.stringify(output, null, 2);
}

/** The pictures of an output. */
export function outputPictures(output: Json | null | undefined): Picture[] {
  if (!Array.isArray(output)) return [];
  return output.flatMap((part: Json) => {
    const block = part as { type?: string; source?: { type?: string; media_type?: string; data?: string } } | null;
    const { media_type, data } = block?.source ?? {};
    // Only pictures that came whole, and only of kinds that cannot hold a program.
    const harmless = /^image\/(png|jpeg|gif|webp)$/.test(media_type ?? "");
    return block?.type === "image" && harmless && data ? [{ address: `data:${media_type};base64,${data}` }] : [];
  });
}

/** The pictures, drawn. */
export function Pictures({ output }: { output: Json | null | undefined }) {
  const pictures = outputPictures(output);
  if (pictures.length === 0) return null;
  return (
    <div className="pictures">
      {pictures.map((picture, at) => (
        <img key={`${at}`} src={picture.address} alt={`from the tool (${at + 1})`} />
      ))}
    </div>
  );
}

function partText(part: Json): string {
  if (typeof part === "string") return part;
  const block = part as { type?: string; text?: string } | null;
  if (block?.type === "text") return block.text ?? "";
  return block?.type === "image" ? "" : JSON.stringify(part, null, 2);
}
