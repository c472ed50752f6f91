// The conversation as a list of rows of which only those in view are drawn.
//
// It follows what is new while its end is in view, and stays where it is otherwise. Earlier rows come when somebody
// scrolls up to them. The one rule it keeps: what is being read does not move.
import { ArrowDown } from "lucide-react";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import type { Seq, SessionId } from "../../contract";
import { keep, kept } from "../../kept";
import { store, useKnown, useOpened } from "../../use";
import { Row } from "../items/row";

/** So near to the end counts as being there. */
const NEAR = 60;
/** So near to the beginning earlier rows are asked for. */
const EARLY = 800;
/** So long after a touch of the wheel, the keys or the screen a move is somebody's. */
const BY_HAND_MS = 1_000;
/** So far the list corrects itself. */
const CORRECTION = 400;

/** The rows of a session. */
export const TimelineView = memo(function TimelineView({
  session,
  wanted,
}: {
  session: SessionId;
  wanted: Seq | null;
}) {
  const rows = useOpened(session, (opened) => opened.timeline.rows);
  const earlier = useOpened(session, (opened) => opened.earlier);
  const loading = useOpened(session, (opened) => opened.loadingEarlier);
  const current = useOpened(session, (opened) => opened.current);
  const list = useRef<VirtualizerHandle>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(wanted === null);
  const lastTop = useRef(0);
  const touched = useRef(Number.NEGATIVE_INFINITY);
  const touch = useCallback(() => {
    touched.current = performance.now();
  }, []);
  const [away, setAway] = useState(false);
  const unread = useUnread(session, rows, current, away);
  const prepended = usePrepended(rows);

  const toEnd = useCallback(() => {
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }, []);
  const follow = useCallback(() => {
    if (following.current) toEnd();
  }, [toEnd]);
  useLayoutEffect(follow, [rows, follow]);
  // Rows grow without the list knowing (a text that streams, a card that opens), and the window shrinks (the desk).
  useEffect(() => {
    const box = scroller.current;
    if (box?.firstElementChild == null) return;
    const observer = new ResizeObserver(follow);
    observer.observe(box);
    observer.observe(box.firstElementChild);
    return () => observer.disconnect();
  }, [follow]);
  useEffect(() => {
    const asked = () => {
      following.current = true;
      toEnd();
    };
    window.addEventListener("jackfield:follow", asked);
    return () => window.removeEventListener("jackfield:follow", asked);
  }, [toEnd]);
  useWanted(session, wanted, rows, list);

  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    const rest = box.scrollHeight - box.scrollTop - box.clientHeight;
    // Only a move upwards is somebody's; everything else is the content or the window changing its size. The list
    // also corrects itself by a little, when rows turn out to be of another height.
    const byHand = performance.now() - touched.current < BY_HAND_MS;
    if (rest < NEAR) following.current = true;
    else if (box.scrollTop < lastTop.current - (byHand ? 1 : CORRECTION)) following.current = false;
    lastTop.current = box.scrollTop;
    setAway(rest > box.clientHeight / 2);
    if (box.scrollTop < EARLY) void store.loadEarlier(session);
  }, [session]);
  // A first page that does not fill the window must not need a scroll to bring the next.
  useEffect(() => {
    const box = scroller.current;
    if (earlier && !loading && box !== null && box.scrollHeight <= box.clientHeight + EARLY)
      void store.loadEarlier(session);
  }, [earlier, loading, session, rows]);

  return (
    <div className="timeline">
      <div
        ref={scroller}
        className="timeline-scroll"
        onScroll={onScroll}
        onWheel={touch}
        onTouchMove={touch}
        onPointerDown={touch}
        onKeyDown={touch}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
      >
        <div className="timeline-inner">
          {earlier && <p className="timeline-top">{loading ? "Loading what was before …" : " "}</p>}
          {!earlier && current && rows.length > 0 && <p className="timeline-top">The beginning</p>}
          <Virtualizer ref={list} scrollRef={scroller} data={rows} shift={prepended} bufferSize={600} startMargin={36}>
            {(seq) => (
              <div key={seq} className="row" data-seq={seq}>
                {seq === unread.first && <p className="unread-mark">New since you were here</p>}
                <Row session={session} seq={seq} />
              </div>
            )}
          </Virtualizer>
          <RunningLine session={session} />
        </div>
      </div>
      {away && (
        <button
          type="button"
          className="to-latest"
          onClick={() => {
            following.current = true;
            toEnd();
          }}
        >
          <ArrowDown size={16} aria-hidden /> {unread.count > 0 ? `${unread.count} new` : "Latest"}
        </button>
      )}
    </div>
  );
});

/** What is going on when nothing else says it. */
function RunningLine({ session }: { session: SessionId }) {
  const running = useOpened(session, (opened) => opened.transcript.state === "running");
  const retry = useOpened(session, (opened) => opened.retry);
  const waiting = useOpened(session, (opened) => opened.transcript.pending.length > 0);
  const quiet = useOpened(
    session,
    ({ transcript }) => transcript.open.texts.size === 0 && transcript.open.tools.size === 0,
  );
  if (retry !== null) {
    return (
      <p className="line warning" role="status">
        The API failed ({retry.error}
        {retry.status !== null && `, ${retry.status}`}); trying again, {retry.attempt} of {retry.max_retries} …
      </p>
    );
  }
  if (!running || waiting || !quiet) return null;
  return (
    <p className="working" role="status" aria-label="working">
      <span />
      <span />
      <span />
    </p>
  );
}

/** True in the one rendering in which rows came in front. */
function usePrepended(rows: readonly Seq[]): boolean {
  const first = useRef<Seq | undefined>(undefined);
  const before = first.current;
  useLayoutEffect(() => {
    first.current = rows[0];
  }, [rows]);
  return before !== undefined && rows[0] !== undefined && rows[0] < before;
}

/** Where what is new since the last visit begins, and how much of it has not been in view. */
function useUnread(
  session: SessionId,
  rows: readonly Seq[],
  current: boolean,
  away: boolean,
): { first: Seq | null; count: number } {
  const [seen] = useState(() => kept<Seq>(`seen.${session}`, 0));
  const [first, setFirst] = useState<Seq | null>(null);
  const last = rows.at(-1) ?? 0;
  const read = useRef(0);
  const focused = useFocused();
  useEffect(() => {
    if (!current || first !== null || seen === 0) return;
    setFirst(rows.find((seq) => seq > seen) ?? 0);
  }, [current, first, rows, seen]);
  useEffect(() => {
    if (!current || away || !focused) return;
    read.current = last;
    keep(`seen.${session}`, last);
    keep(`read.${session}`, store.opened(session).transcript.seq);
  }, [current, away, focused, last, session]);
  const count = useMemo(() => {
    let many = 0;
    for (let at = rows.length - 1; at >= 0 && (rows[at] ?? 0) > read.current; at -= 1) many += 1;
    return away ? many : 0;
  }, [rows, away]);
  return { first: first === 0 ? null : first, count };
}

function useFocused(): boolean {
  const [focused, setFocused] = useState(() => document.hasFocus());
  useEffect(() => {
    const look = () => setFocused(document.hasFocus() && !document.hidden);
    for (const kind of ["focus", "blur"]) window.addEventListener(kind, look);
    return () => {
      for (const kind of ["focus", "blur"]) window.removeEventListener(kind, look);
    };
  }, []);
  return focused;
}

/** Goes to the item that the address names, and shows which it is. */
function useWanted(
  session: SessionId,
  wanted: Seq | null,
  rows: readonly Seq[],
  list: React.RefObject<VirtualizerHandle | null>,
): void {
  const current = useOpened(session, (opened) => opened.current);
  const online = useKnown((known) => known.link.state === "online");
  const done = useRef<Seq | null>(null);
  useEffect(() => {
    if (wanted === null || !current || !online || done.current === wanted) return;
    void store.loadUpTo(session, wanted);
  }, [session, wanted, current, online]);
  useEffect(() => {
    if (wanted === null || done.current === wanted || !current) return;
    const at = rows.findLastIndex((seq) => seq <= wanted);
    if (at < 0) return;
    done.current = wanted;
    list.current?.scrollToIndex(at, { align: "center" });
    requestAnimationFrame(() => {
      document.querySelector(`.row[data-seq="${rows[at]}"]`)?.classList.add("found");
    });
  }, [rows, wanted, current, list]);
}
