// Questions of the model: options to choose from, and room for words of one's own.
import { useRef, useState } from "react";
import type { Question } from "../../contract";
import { spokenChoice } from "../../dictation/spoken";
import { WithMicrophone } from "../../dictation/with-microphone";
import { useAnswer } from "./answer";
import type { InCard } from "./card";

interface Chosen {
  readonly options: readonly string[];
  readonly own: string;
}

const NOTHING: Chosen = { options: [], own: "" };

/** The questions, and a button that answers all of them. */
export function QuestionsBody({ session, request }: InCard) {
  const { answer, sending } = useAnswer(session, request);
  const questions = request.questions ?? [];
  const [chosen, setChosen] = useState<ReadonlyMap<string, Chosen>>(new Map());
  const of = (question: Question) => chosen.get(question.question) ?? NOTHING;
  const complete = questions.every((question) => wordsOf(of(question)) !== "");
  const first = questions.find((question) => wordsOf(of(question)) === "");
  const submit = () => {
    const answers = Object.fromEntries(questions.map((question) => [question.question, wordsOf(of(question))]));
    void answer({ type: "answers", answers });
  };
  return (
    <form
      className="questions"
      onSubmit={(event) => {
        event.preventDefault();
        if (complete) submit();
      }}
    >
      {questions.map((question) => (
        <OneQuestion
          key={question.question}
          question={question}
          chosen={of(question)}
          keys={question === (first ?? questions[0])}
          onChoose={(now) => setChosen(new Map(chosen).set(question.question, now))}
        />
      ))}
      <div className="actions">
        <button type="submit" className="primary" data-key="Enter" disabled={!complete || sending}>
          {sending ? "Sending …" : "Answer"} <kbd>↵</kbd>
        </button>
        <button
          type="button"
          disabled={sending}
          onClick={() =>
            void answer({ type: "deny", message: "The user does not want to answer this.", interrupt: false })
          }
        >
          Do not answer
        </button>
      </div>
    </form>
  );
}

function OneQuestion({
  question,
  chosen,
  keys,
  onChoose,
}: {
  question: Question;
  chosen: Chosen;
  keys: boolean;
  onChoose: (chosen: Chosen) => void;
}) {
  const { multi_select: several, options } = question;
  const field = useRef<HTMLInputElement>(null);
  const toggle = (label: string) => {
    const on = chosen.options.includes(label);
    if (!several) onChoose({ options: on ? [] : [label], own: "" });
    else
      onChoose({
        ...chosen,
        options: on ? chosen.options.filter((each) => each !== label) : [...chosen.options, label],
      });
  };
  const own = (text: string) => onChoose({ options: several ? chosen.options : [], own: text });
  const say = (text: string, words: string) => {
    const labels = options.map((option) => option.label);
    const choice = chosen.own === "" ? spokenChoice(words, labels) : null;
    if (choice === null) own(text);
    else if (!chosen.options.includes(choice)) toggle(choice);
  };
  return (
    <fieldset>
      <legend>
        {question.header !== "" && <span className="tag">{question.header}</span>} {question.question}
      </legend>
      {options.map((option, at) => (
        <label key={option.label} className="option">
          <input
            type={several ? "checkbox" : "radio"}
            name={question.question}
            checked={chosen.options.includes(option.label)}
            data-key={keys && at < 9 ? String(at + 1) : undefined}
            onChange={() => toggle(option.label)}
          />
          <span>
            <strong>{option.label}</strong>
            {option.description !== "" && <span className="faint">{option.description}</span>}
          </span>
          {keys && at < 9 && <kbd>{at + 1}</kbd>}
        </label>
      ))}
      <WithMicrophone field={field} label={`Say the answer to: ${question.question}`} onText={say}>
        <input
          ref={field}
          type="text"
          className="own"
          aria-label={`Another answer to: ${question.question}`}
          placeholder="Something else"
          value={chosen.own}
          onChange={(event) => own(event.target.value)}
        />
      </WithMicrophone>
    </fieldset>
  );
}

/** Several choices are joined as the model expects it. */
function wordsOf({ options, own }: Chosen): string {
  return [...options, own.trim()].filter(Boolean).join(", ");
}
