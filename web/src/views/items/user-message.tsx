// A prompt of a person, and what can be done from it: go back to it, begin another session at it, say it again.
import { Ellipsis, Paperclip } from "lucide-react";
import { memo, useState } from "react";
import type { ContentOf, Item, SessionId } from "../../contract";
import { copyText } from "../../text/code";
import { bytes } from "../../text/format";
import { Menu } from "../../ui/menu";
import { putDraft } from "../composer/draft";
import { forkBefore } from "../session/fork";
import { RewindDialog } from "../session/rewind";

/** A prompt. */
export const UserMessage = memo(function UserMessage({
  session,
  item,
  message,
}: {
  session: SessionId;
  item: Item;
  message: ContentOf<"user_message">;
}) {
  const [rewinding, setRewinding] = useState(false);
  const { uuid } = message;
  const inside = item.parent_tool_call_id != null;
  return (
    <div className={inside ? "user-message inside" : "user-message"}>
      <div className="user-text">
        {message.text}
        {(message.attachments ?? []).map((attachment, at) => (
          <span key={`${at}`} className="tag">
            <Paperclip size={12} aria-hidden /> {attachment.media_type ?? attachment.kind}, {bytes(attachment.bytes)}
          </span>
        ))}
      </div>
      {!inside && (
        <Menu
          label="What can be done from here"
          entries={[
            { label: "Copy", run: () => void copyText(message.text) },
            { label: "Say it again", run: () => putDraft(session, message.text) },
            ...(uuid === null
              ? []
              : [
                  { label: "Rewind to here …", hint: "Esc Esc", run: () => setRewinding(true) },
                  {
                    label: "Begin another session at this point",
                    run: () => void forkBefore(session, uuid, message.text),
                  },
                ]),
          ]}
        >
          <Ellipsis size={16} />
        </Menu>
      )}
      {rewinding && uuid !== null && (
        <RewindDialog session={session} uuid={uuid} words={message.text} onClose={() => setRewinding(false)} />
      )}
    </div>
  );
});
