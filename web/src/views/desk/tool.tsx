// May this tool run? The whole of what will run, editable, with what to remember and where.
//
// The one rule it keeps: what is shown is what is sent; nothing of it is cut off.
import { useMemo, useRef, useState } from "react";
import type { Json, Normalized, PermissionRequest, Remember, Verdict } from "../../contract";
import { Heard, useSpokenCard } from "../../dictation/heard";
import { MicrophoneButton } from "../../dictation/microphone-button";
import { DictationPanel } from "../../dictation/panel";
import { WithMicrophone } from "../../dictation/with-microphone";
import { DiffView } from "../../text/diff-view";
import { below, shortTitle } from "../../text/format";
import { Shown } from "../../text/shown";
import { changesOf } from "../tools/modify-file";
import { useAnswer } from "./answer";
import type { InCard } from "./card";
import { RememberChoice } from "./remember";

/** What is asked, and the answers. */
export function ToolBody({ session, request, cwd, place }: InCard) {
  const { answer, sending } = useAnswer(session, request);
  const [edited, setEdited] = useState<string | null>(null);
  /** The reason to deny with; null while nobody denies. */
  const [denying, setDenying] = useState<string | null>(null);
  const { spoken, heard } = useSpokenCard(setDenying);
  const [remember, setRemember] = useState<readonly Remember[]>([]);
  const field = editable(request);
  const input = edited === null ? undefined : inputOf(request, field, edited);
  const allow = (remembered: readonly Remember[]) => {
    const verdict: Verdict = { type: "allow" };
    if (input !== undefined && input !== null) verdict.input = input;
    if (remembered.length > 0) verdict.remember = [...remembered];
    void answer(verdict);
  };
  return (
    <>
      <p className="card-title">
        <Shown text={titleOf(request, cwd)} />
      </p>
      {edited === null ? (
        <Wanted request={request} cwd={cwd} />
      ) : (
        <label className="edit">
          <span>{FIELDS[field ?? ""] ?? "Its input, as JSON"}</span>
          <textarea
            value={edited}
            rows={Math.min(14, edited.split("\n").length + 1)}
            spellCheck={false}
            onChange={(event) => setEdited(event.target.value)}
          />
          {input === null && <span className="bad">this is no JSON object</span>}
        </label>
      )}
      {request.suggestions.length > 0 && <RememberChoice suggestions={request.suggestions} onChange={setRemember} />}
      <DictationPanel spoken={spoken} />
      {denying !== null ? (
        <DenyForm
          reason={denying}
          onDeny={(message, interrupt) => void answer({ type: "deny", message, interrupt })}
          onBack={() => setDenying(null)}
        />
      ) : (
        <>
          <Heard heard={heard} allow="Press Allow, or Enter, if that is what you mean." />
          <div className="actions">
            <button
              type="button"
              className="primary"
              data-key="Enter"
              disabled={sending || input === null}
              onClick={() => allow(remember)}
            >
              {sending
                ? "Sending …"
                : remember.length > 0
                  ? "Allow and remember"
                  : edited !== null
                    ? "Allow as edited"
                    : "Allow"}{" "}
              <kbd>↵</kbd>
            </button>
            <button type="button" data-key="d" disabled={sending} onClick={() => setDenying("")}>
              Deny <kbd>D</kbd>
            </button>
            {place === "desk" && (
              <button
                type="button"
                className="quiet"
                data-key="e"
                disabled={sending}
                onClick={() => setEdited(edited === null ? textOf(request, field) : null)}
              >
                {edited === null ? "Edit" : "As it was"} <kbd>E</kbd>
              </button>
            )}
            {place === "desk" && <MicrophoneButton spoken={spoken} label="Say the answer" />}
          </div>
        </>
      )}
    </>
  );
}

/** No, and why. */
function DenyForm({
  reason,
  onDeny,
  onBack,
}: {
  reason: string;
  onDeny: (message: string, interrupt: boolean) => void;
  onBack: () => void;
}) {
  const [message, setMessage] = useState(reason);
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <form
      className="deny"
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(message, false);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onBack();
        }
      }}
    >
      <WithMicrophone field={field} label="Say the reason" onText={setMessage}>
        <textarea
          ref={field}
          autoFocus
          rows={2}
          aria-label="What the model is told"
          placeholder="What should it do instead? (optional)"
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              onDeny(message, false);
            }
          }}
        />
      </WithMicrophone>
      <div className="actions">
        <button type="submit" className="danger">
          Deny <kbd>↵</kbd>
        </button>
        <button type="button" onClick={() => onDeny(message, true)}>
          Deny and stop
        </button>
        <button type="button" className="quiet" onClick={onBack}>
          Back
        </button>
      </div>
    </form>
  );
}

function Wanted({ request, cwd }: { request: PermissionRequest; cwd: string | undefined }) {
  const { normalized: call, input } = request;
  const lines = useMemo(() => (call?.kind === "modify_file" ? changesOf(call) : []), [call]);
  if (call?.kind === "shell_exec") {
    return (
      <>
        <pre className="command whole" tabIndex={0}>
          <Shown text={call.command} />
        </pre>
        <p className="faint">
          in <Shown text={call.work_dir ?? cwd ?? "the session's folder"} />
          {call.background && " · in the background"}
        </p>
      </>
    );
  }
  if (call?.kind === "modify_file") {
    return (
      <>
        {!request.tool_title.includes(call.file_path) && (
          <p className="path">
            <Shown text={below(call.file_path, cwd)} />
          </p>
        )}
        <div className="whole-diff">
          <DiffView lines={lines} path={call.file_path} />
        </div>
      </>
    );
  }
  return (
    <pre className="command whole" tabIndex={0}>
      <Shown text={plainly(call, input)} />
    </pre>
  );
}

/** A call in words where its kind says all of it, else its input as it is. */
function plainly(call: Normalized | null, input: Json | null): string {
  if (call?.kind === "http_request" && call.method === "SEARCH") return call.url;
  return JSON.stringify(input, null, 2) ?? "";
}

/** What is wanted, in one line; a command stands below in full, so that its purpose is said here. */
function titleOf({ normalized, tool_title }: PermissionRequest, cwd: string | undefined): string {
  if (normalized?.kind === "shell_exec") return normalized.description || "Run a command";
  return shortTitle(tool_title, cwd);
}

/** The one field that a person would edit. */
function editable({ normalized, input }: PermissionRequest): string | null {
  if (normalized?.kind === "shell_exec") return "command";
  if (normalized?.kind !== "modify_file") return null;
  const fields = (input ?? {}) as Record<string, unknown>;
  return ["new_string", "content"].find((field) => typeof fields[field] === "string") ?? null;
}

const FIELDS: Partial<Record<string, string>> = {
  command: "Its command",
  new_string: "What is put there",
  content: "What is written",
};

function textOf(request: PermissionRequest, field: string | null): string {
  const input = (request.input ?? {}) as Record<string, unknown>;
  return field === null ? JSON.stringify(input, null, 2) : String(input[field] ?? "");
}

/** The input as edited; null if it is none. */
function inputOf(request: PermissionRequest, field: string | null, text: string): Record<string, unknown> | null {
  if (field !== null) return { ...(request.input as Record<string, unknown>), [field]: text };
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
