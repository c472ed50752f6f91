// A text as a file that the browser saves.

/** Saves it under a name. */
export function saveFile(name: string, kind: string, parts: readonly (string | Blob)[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([...parts], { type: kind }));
  link.download = name;
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
