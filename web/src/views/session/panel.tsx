// The frame of what stands beside a conversation; on a phone it covers it.
import { X } from "lucide-react";
import type { ReactNode } from "react";

/** A panel with a title and a button that closes it. */
export function PanelFrame({
  title,
  onClose,
  tools,
  width = "regular",
  children,
}: {
  title: string;
  onClose: () => void;
  tools?: ReactNode;
  width?: "regular" | "wide";
  children: ReactNode;
}) {
  return (
    <aside className={`panel ${width}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {tools}
        <button type="button" className="quiet icon" aria-label="Close" onClick={onClose}>
          <X size={18} />
        </button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label={title}>
        {children}
      </div>
    </aside>
  );
}
