// A change of a file: its diff, from the result where it is known, else from what the model wants to write.
import { useMemo } from "react";
import type { NormalizedOf } from "../../contract";
import { compare, type DiffLine, readDiff } from "../../text/diff";
import { DiffCount, DiffView } from "../../text/diff-view";
import type { InTool } from "./card";

const AT_FIRST = 24;

/** The lines of all changes of a call. */
export function changesOf(call: NormalizedOf<"modify_file">): DiffLine[] {
  return call.mutations.flatMap((mutation) => {
    if (mutation.diff) return readDiff(mutation.diff);
    if (mutation.content !== null) return compare(mutation.old_content ?? "", mutation.content);
    return compare(mutation.old_content ?? "", mutation.new_content ?? "");
  });
}

/** The diff. */
export function ModifyFileBody({ call }: InTool<"modify_file">) {
  const lines = useMemo(() => changesOf(call), [call]);
  return <DiffView lines={lines} path={call.file_path} atFirst={AT_FIRST} />;
}

/** How much changed. */
export function ModifyNote({ call }: InTool<"modify_file">) {
  const lines = useMemo(() => changesOf(call), [call]);
  return <DiffCount lines={lines} />;
}
