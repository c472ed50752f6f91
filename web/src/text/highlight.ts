// Code in colours: tokens with class names, made in small steps so that the page never waits for them.
//
// The highlighter and its languages are loaded when the first piece of code wants them. The one rule it keeps: code
// that cannot be highlighted (an unknown language, too long, a failed load) is shown as it is.
import type { HighlighterCore } from "shiki/core";

/** A run of code of one kind. */
export interface Token {
  readonly text: string;
  /** `token-keyword`, … or empty. */
  readonly kind: string;
}

/** Longer code stays plain. */
const LONGEST = 150_000;
/** How many lines are done in one go. */
const STEP = 80;
/** How many results are kept. */
const KEPT = 200;

type Load = () => Promise<{ default: unknown }>;

const LANGUAGES: Record<string, Load> = {
  bash: () => import("shiki/langs/bash.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  lua: () => import("shiki/langs/lua.mjs"),
  make: () => import("shiki/langs/make.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  php: () => import("shiki/langs/php.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  ruby: () => import("shiki/langs/ruby.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  swift: () => import("shiki/langs/swift.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
  zig: () => import("shiki/langs/zig.mjs"),
};

const ALIASES: Record<string, string> = {
  // The grammar of C++ alone is larger than the page; that of C colours most of it.
  "c++": "c",
  cc: "c",
  cpp: "c",
  cs: "csharp",
  dockerfile: "docker",
  golang: "go",
  h: "c",
  hpp: "c",
  htm: "html",
  js: "javascript",
  jsonc: "json",
  jsonl: "json",
  jsx: "tsx",
  kt: "kotlin",
  makefile: "make",
  md: "markdown",
  mjs: "javascript",
  py: "python",
  rb: "ruby",
  rs: "rust",
  scss: "css",
  sh: "bash",
  shell: "bash",
  shellscript: "bash",
  svg: "xml",
  ts: "typescript",
  vue: "html",
  yml: "yaml",
  zsh: "bash",
};

/** The language of a word behind a fence, if it is known. */
export function languageOf(word: string | null | undefined): string | null {
  const lower =
    (word ?? "")
      .trim()
      .toLowerCase()
      .split(/[\s,{]/)[0] ?? "";
  const name = ALIASES[lower] ?? lower;
  return name in LANGUAGES ? name : null;
}

/** The language of a file, if it is known. */
export function languageOfFile(path: string): string | null {
  const name = path.split("/").at(-1) ?? "";
  return languageOf(name.includes(".") ? name.split(".").at(-1) : name);
}

let core: Promise<HighlighterCore> | null = null;
const loaded = new Map<string, Promise<void>>();
const done = new Map<string, readonly (readonly Token[])[]>();

/** The tokens of code that was done before. */
export function highlighted(code: string, language: string): readonly (readonly Token[])[] | null {
  return done.get(`${language}\n${code}`) ?? null;
}

/** The tokens of code, line by line; null if it stays plain. */
export async function highlight(
  code: string,
  language: string,
  given: AbortSignal,
): Promise<readonly (readonly Token[])[] | null> {
  if (code.length > LONGEST) return null;
  const known = highlighted(code, language);
  if (known !== null) return known;
  try {
    core ??= makeCore();
    const highlighter = await core;
    await languageIn(highlighter, language);
    const lines = await tokenised(highlighter, code, language, given);
    if (lines !== null) keep(`${language}\n${code}`, lines);
    return lines;
  } catch {
    return null;
  }
}

async function makeCore(): Promise<HighlighterCore> {
  const [{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }] = await Promise.all([
    import("shiki/core"),
    import("shiki/engine/javascript"),
  ]);
  const theme = createCssVariablesTheme({ name: "page", variablePrefix: "--", variableDefaults: {} });
  return createHighlighterCore({ themes: [theme], langs: [], engine: createJavaScriptRegexEngine() });
}

function languageIn(highlighter: HighlighterCore, language: string): Promise<void> {
  const known = loaded.get(language);
  if (known !== undefined) return known;
  const load = LANGUAGES[language]?.().then((module) =>
    highlighter.loadLanguage(module.default as Parameters<typeof highlighter.loadLanguage>[0]),
  );
  const promise = load ?? Promise.reject(new Error(`no language ${language}`));
  loaded.set(language, promise);
  return promise;
}

async function tokenised(
  highlighter: HighlighterCore,
  code: string,
  language: string,
  given: AbortSignal,
): Promise<readonly (readonly Token[])[] | null> {
  const lines = code.split("\n");
  const made: (readonly Token[])[] = [];
  let grammarState: ReturnType<typeof highlighter.getLastGrammarState> | undefined;
  for (let at = 0; at < lines.length; at += STEP) {
    if (at > 0) await breath();
    if (given.aborted) return null;
    const part = lines.slice(at, at + STEP).join("\n");
    const options = { lang: language, theme: "page", ...(grammarState ? { grammarState } : {}) };
    const tokens = highlighter.codeToTokensBase(part, options);
    if (at + STEP < lines.length) grammarState = highlighter.getLastGrammarState(part, options);
    for (const line of tokens) {
      made.push(line.map(({ content, color }) => ({ text: content, kind: kindOf(color) })));
    }
  }
  return made;
}

/** `var(--token-keyword)` as the class `token-keyword`. */
function kindOf(color: string | undefined): string {
  return /--(token-[a-z-]+)/.exec(color ?? "")?.[1] ?? "";
}

function keep(name: string, lines: readonly (readonly Token[])[]): void {
  done.set(name, lines);
  if (done.size > KEPT) {
    const oldest = done.keys().next();
    if (!oldest.done) done.delete(oldest.value);
  }
}

function breath(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
