// A dialog: the browser's own, which traps the focus, gives it back and closes on Esc.
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

/** A modal dialog that is open as long as it is drawn. */
export function Dialog({
  title,
  onClose,
  children,
  width = "regular",
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  width?: "regular" | "wide";
}) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser would begin with the button that closes it.
    dialog?.querySelector<HTMLElement>(":is(input, textarea, select, button):not(header *)")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={`dialog ${width}`}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
      onPointerDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className="dialog-inner">
        <header>
          <h2 id={name}>{title}</h2>
          <button type="button" className="quiet icon" onClick={onClose} aria-label="Close">
            <X size={18} />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
