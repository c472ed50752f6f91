// A form of an MCP server, or a dialog of the CLI: a few fields of simple types, drawn from their JSON Schema.
import { useState } from "react";
import type { Json } from "../../contract";
import { Shown } from "../../text/shown";
import { useAnswer } from "./answer";
import type { InCard } from "./card";

interface Field {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: Json;
}

interface Form {
  readonly properties?: Record<string, Field>;
  readonly required?: readonly string[];
}

/** The words, the fields, and the answers. */
export function ElicitationBody({ session, request }: InCard) {
  const { answer, sending } = useAnswer(session, request);
  const { properties = {}, required = [] } = (request.schema ?? {}) as Form;
  const [values, setValues] = useState<Record<string, Json>>(() =>
    Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [
        name,
        field.default ?? (field.type === "boolean" ? false : ""),
      ]),
    ),
  );
  const complete = required.every((name) => values[name] !== "" && values[name] !== undefined);
  const isForm = Object.keys(properties).length > 0;
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        void answer(isForm ? { type: "allow", input: withoutEmpty(values) } : { type: "allow" });
      }}
    >
      <p>
        <Shown text={request.message ?? request.tool_title} />
      </p>
      {Object.entries(properties).map(([name, field]) => (
        <FieldInput
          key={name}
          name={name}
          field={field}
          value={values[name]}
          onChange={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
      <div className="actions">
        <button type="submit" className="primary" data-key="Enter" disabled={!complete || sending}>
          {sending ? "Sending …" : isForm ? "Send" : "Yes"} <kbd>↵</kbd>
        </button>
        <button
          type="button"
          data-key="d"
          disabled={sending}
          onClick={() => void answer({ type: "deny", message: "", interrupt: false })}
        >
          {isForm ? "Decline" : "No"} <kbd>D</kbd>
        </button>
      </div>
    </form>
  );
}

function FieldInput({
  name,
  field,
  value,
  onChange,
}: {
  name: string;
  field: Field;
  value: Json;
  onChange: (value: Json) => void;
}) {
  const words = field.title ?? name;
  if (field.type === "boolean") {
    return (
      <label className="option">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        <span>{words}</span>
      </label>
    );
  }
  return (
    <label className="field">
      <span>{words}</span>
      {field.enum !== undefined ? (
        <select value={String(value ?? "")} onChange={(event) => onChange(event.target.value)}>
          <option value="">choose …</option>
          {field.enum.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <input
          type={field.type === "number" || field.type === "integer" ? "number" : "text"}
          value={String(value ?? "")}
          onChange={(event) =>
            onChange(
              field.type === "number" || field.type === "integer" ? event.target.valueAsNumber : event.target.value,
            )
          }
        />
      )}
      {field.description !== undefined && <span className="faint">{field.description}</span>}
    </label>
  );
}

function withoutEmpty(values: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "" && !Number.isNaN(value)));
}
