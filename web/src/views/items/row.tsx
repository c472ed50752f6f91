// One item of a conversation, drawn by what it is. It looks up its own item, so that a piece of text draws one row.
import { memo } from "react";
import type { Item, Seq, SessionId } from "../../contract";
import { store, useItem } from "../../use";
import { ToolCard } from "../tools/card";
import { CompactionLine, CompleteLine, ErrorLine, NoticeLine, RunEndedLine } from "./lines";
import { QuestionRecord } from "./question-record";
import { Said, Thought } from "./said";
import { UserMessage } from "./user-message";

/** The item that began with this event. */
export const Row = memo(function Row({ session, seq }: { session: SessionId; seq: Seq }) {
  const item = useItem(session, seq);
  return item === undefined ? null : <ItemView session={session} item={item} />;
});

const ItemView = memo(function ItemView({ session, item }: { session: SessionId; item: Item }) {
  const { content } = item;
  switch (content.type) {
    case "user_message":
      return <UserMessage session={session} item={item} message={content} />;
    case "text":
      return <Said text={content} />;
    case "thinking":
      return <Thought thought={content} />;
    case "tool":
      return <ToolCard session={session} tool={content} />;
    case "question":
      return <QuestionRecord question={content} at={item.at} cwd={store.known.sessions.get(session)?.cwd} />;
    case "compaction":
      return <CompactionLine compaction={content} />;
    case "notice":
      return <NoticeLine notice={content} />;
    case "error":
      return <ErrorLine session={session} error={content} turn={item.turn} seq={item.seq} />;
    case "complete":
      return <CompleteLine session={session} figures={content.data} />;
    case "run_ended":
      return <RunEndedLine session={session} end={content} seq={item.seq} />;
    case "turn":
      return <p className="turn-mark">Work in the background went on</p>;
    case "file":
      return null;
  }
});
