// A menu behind a button: opened by click or key, walked with the arrows, closed by Esc or a choice.
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

/** One entry. */
export interface MenuEntry {
  readonly label: string;
  readonly hint?: string;
  readonly icon?: ReactNode;
  readonly tone?: "danger";
  readonly run: () => void;
}

/** The button and its menu. */
export function Menu({
  label,
  children,
  entries,
  className = "quiet icon",
}: {
  label: string;
  children: ReactNode;
  entries: readonly MenuEntry[];
  className?: string;
}) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const name = useId();
  useLayoutEffect(() => {
    const [menu, anchor] = [list.current, button.current];
    if (!open || menu === null || anchor === null) return;
    menu.showPopover();
    place(menu, anchor);
    menu.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [open]);
  useEffect(() => {
    const menu = list.current;
    if (!open || menu === null) return;
    const toggled = (event: Event) => {
      if ((event as ToggleEvent).newState === "closed") setOpen(false);
    };
    menu.addEventListener("toggle", toggled);
    return () => menu.removeEventListener("toggle", toggled);
  }, [open]);
  const walk = (event: React.KeyboardEvent) => {
    const items = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    event.stopPropagation();
    if (to !== undefined) {
      event.preventDefault();
      items[(to + items.length) % items.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      setOpen(false);
      button.current?.focus();
    }
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? name : undefined}
        onClick={() => setOpen(!open)}
      >
        {children}
      </button>
      {open && (
        <div ref={list} id={name} role="menu" aria-label={label} className="menu" popover="auto" onKeyDown={walk}>
          {entries.map((entry) => (
            <button
              key={entry.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              className={entry.tone}
              onClick={() => {
                setOpen(false);
                button.current?.focus();
                entry.run();
              }}
            >
              {entry.icon}
              <span>{entry.label}</span>
              {entry.hint !== undefined && <kbd>{entry.hint}</kbd>}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

/** Puts a box below its anchor, or above it where there is more room, inside the window. */
function place(box: HTMLElement, anchor: HTMLElement): void {
  const from = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = Math.max(8, Math.min(from.right - width, innerWidth - width - 8));
  const below = from.bottom + 4 + height <= innerHeight || from.top < height;
  box.style.left = `${left}px`;
  box.style.top = `${below ? from.bottom + 4 : from.top - height - 4}px`;
}
