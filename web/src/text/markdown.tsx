// Markdown of the model as React elements: no markup passes through, no picture is loaded, no style is taken over.
//
// HTML is shown as the text it is. The one rule it keeps: what is drawn is made here, element by element.
import type { AlignType, Definition, Nodes, Parents, RootContent, TableRow } from "mdast";
import { createContext, memo, type ReactNode, useContext, useRef } from "react";
import { type Block, type Blocks, NOTHING_READ, readMore, readWhole } from "./blocks";
import { CodeBlock } from "./code";
import { disguise, fileOf, followable } from "./links";

/** Whether a text still grows. */
export type Growth = "growing" | "finished";

/** What opens a file of the session's folder; none where there is no such folder. */
export const OpenFile = createContext<((path: string, line: number | null) => void) | null>(null);

/** A text of the model. */
export const Markdown = memo(function Markdown({ text, growth }: { text: string; growth: Growth }) {
  const read = useRef<Blocks>(NOTHING_READ);
  if (read.current.source !== text || (growth === "finished" && read.current.settled !== text.length)) {
    read.current = growth === "growing" ? readMore(read.current, text) : readWhole(text);
  }
  const { blocks, definitions } = read.current;
  return (
    <div className="prose">
      {blocks.map((block, at) => (
        <BlockView
          key={block.at}
          block={block}
          definitions={definitions}
          growth={growth === "growing" && at === blocks.length - 1 ? "growing" : "finished"}
        />
      ))}
    </div>
  );
});

interface Around {
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly growth: Growth;
}

const BlockView = memo(
  function BlockView({ block, ...around }: { block: Block } & Around) {
    return <Node node={block.node} around={around} />;
  },
  (before, now) =>
    before.block.node === now.block.node &&
    before.growth === now.growth &&
    before.definitions.size === now.definitions.size,
);

function Children({ of, around }: { of: Parents; around: Around }): ReactNode {
  return of.children.map((child, at) => <Node key={at} node={child as RootContent} around={around} />);
}

function Node({ node, around }: { node: RootContent; around: Around }): ReactNode {
  const inner = "children" in node ? <Children of={node as Parents} around={around} /> : null;
  switch (node.type) {
    case "paragraph":
      return <p>{inner}</p>;
    case "heading":
      return <Heading depth={node.depth}>{inner}</Heading>;
    case "text":
      return node.value;
    case "emphasis":
      return <em>{inner}</em>;
    case "strong":
      return <strong>{inner}</strong>;
    case "delete":
      return <del>{inner}</del>;
    case "inlineCode":
      return <InlineCode text={node.value} />;
    case "code":
      return <CodeBlock code={node.value} language={node.lang ?? null} growth={around.growth} />;
    case "blockquote":
      return <blockquote>{inner}</blockquote>;
    case "list":
      return node.ordered ? (
        <ol start={node.start ?? 1}>{inner}</ol>
      ) : (
        <ul className={node.children.some((item) => item.checked != null) ? "checks" : undefined}>{inner}</ul>
      );
    case "listItem":
      return (
        <li>
          {node.checked != null && (
            <input
              type="checkbox"
              checked={node.checked}
              readOnly
              disabled
              aria-label={node.checked ? "done" : "open"}
            />
          )}
          {node.spread ? inner : <Tight of={node} around={around} />}
        </li>
      );
    case "thematicBreak":
      return <hr />;
    case "break":
      return <br />;
    case "table":
      return (
        <div className="table" role="region" aria-label="table" tabIndex={0}>
          <table>
            <thead>{node.children.slice(0, 1).map((row) => cells(row, "th", node.align ?? [], around))}</thead>
            <tbody>{node.children.slice(1).map((row) => cells(row, "td", node.align ?? [], around))}</tbody>
          </table>
        </div>
      );
    case "link":
      return (
        <Link address={node.url} words={wordsIn(node)}>
          {inner}
        </Link>
      );
    case "linkReference": {
      const definition = around.definitions.get(node.identifier);
      if (definition === undefined) return inner;
      return (
        <Link address={definition.url} words={wordsIn(node)}>
          {inner}
        </Link>
      );
    }
    case "image":
      return <Picture alt={node.alt ?? ""} address={node.url} />;
    case "imageReference":
      return <Picture alt={node.alt ?? ""} address={around.definitions.get(node.identifier)?.url ?? ""} />;
    case "html":
      return <code className="markup">{node.value}</code>;
    case "footnoteReference":
      return <sup>{node.identifier}</sup>;
    case "footnoteDefinition":
      return (
        <div className="footnote">
          <sup>{node.identifier}</sup>
          {inner}
        </div>
      );
    default:
      return inner;
  }
}

/** The items of a tight list have no paragraphs of their own. */
function Tight({ of, around }: { of: Parents; around: Around }): ReactNode {
  return of.children.map((child, at) =>
    child.type === "paragraph" ? (
      <Children key={at} of={child} around={around} />
    ) : (
      <Node key={at} node={child as RootContent} around={around} />
    ),
  );
}

// The page's own headings come first in the outline; those of a text stand below them.
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Tag = `h${Math.min(6, depth + 2)}` as "h3";
  return <Tag className={`heading-${depth}`}>{children}</Tag>;
}

function cells(row: TableRow, Tag: "th" | "td", align: readonly AlignType[], around: Around) {
  return (
    <tr key={row.position?.start.offset}>
      {row.children.map((cell, at) => (
        <Tag key={cell.position?.start.offset ?? at} className={align[at] ? `align-${align[at]}` : undefined}>
          <Children of={cell} around={around} />
        </Tag>
      ))}
    </tr>
  );
}

function InlineCode({ text }: { text: string }) {
  const open = useContext(OpenFile);
  const file = /^[\w@./-]+\.\w+(?::\d+(?:[-:]\d+)?)?$/.test(text) && text.includes("/") ? fileOf(text) : null;
  if (open === null || file === null) return <code>{text}</code>;
  return (
    <button type="button" className="file-link" onClick={() => open(file.path, file.line)}>
      <code>{text}</code>
    </button>
  );
}

function Link({ address, words, children }: { address: string; words: string; children: ReactNode }) {
  const open = useContext(OpenFile);
  const href = followable(address);
  if (href !== null) {
    const host = disguise(words, href);
    return (
      <a href={href} title={href} target="_blank" rel="noopener noreferrer">
        {children}
        {host !== null && <span className="disguise"> ({host})</span>}
      </a>
    );
  }
  const file = fileOf(address);
  if (file !== null && open !== null) {
    return (
      <button type="button" className="file-link" title={address} onClick={() => open(file.path, file.line)}>
        {children}
      </button>
    );
  }
  return (
    <span className="dead-link" title={address}>
      {children}
    </span>
  );
}

/** A picture is named, not loaded: loading it would tell its server that it was looked at. */
function Picture({ alt, address }: { alt: string; address: string }) {
  const href = followable(address);
  const words = `picture: ${alt || address}`;
  if (href === null) return <span className="dead-link">{words}</span>;
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer">
      {words}
    </a>
  );
}

function wordsIn(node: Nodes): string {
  if ("value" in node) return node.value;
  return "children" in node ? node.children.map(wordsIn).join("") : "";
}
