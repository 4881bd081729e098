/**
 * Light highlighting of code: comments, strings, numbers, names of fields, and the words that many languages share. It is
 * loaded late, and works on text alone: what is in a block stays as it was written.
 *
 * Every pattern ends at the end of the text if nothing ends it before, so the work grows with the length only.
 */

const STRING = String.raw`"(?:\\.|[^"\\\n])*(?:"|$|(?=\n))|'(?:\\.|[^'\\\n])*(?:'|$|(?=\n))`;
const NUMBER = String.raw`\b(?:0x[\da-f_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:e[+-]?\d+)?)\b`;
const WORD = String.raw`[a-z_$][\w$]*`;
const HASH = String.raw`(?<=^|\s)#[^\n]*`;

interface Language {
  comment: string;
  string: string;
  /** Whether a text before a colon is the name of a field. */
  hasFields?: boolean;
}

const C: Language = { comment: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$(?![^]))`, string: String.raw`${STRING}|${"`"}(?:\\.|[^\\${"`"}])*(?:${"`"}|$(?![^]))` };
const PYTHON: Language = { comment: HASH, string: String.raw`"""[^]*?(?:"""|$(?![^]))|'''[^]*?(?:'''|$(?![^]))|${STRING}` };
const SHELL: Language = { comment: HASH, string: STRING };
const SQL: Language = { comment: String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$(?![^]))`, string: STRING };
const DATA: Language = { comment: HASH, string: STRING, hasFields: true };

const LANGUAGES: Readonly<Record<string, Language>> = Object.fromEntries(
  (
    [
      [C, "js jsx ts tsx javascript typescript java kotlin scala c cc cpp h cs csharp go rust rs swift php css scss graphql proto"],
      [PYTHON, "py python"],
      [SHELL, "sh bash zsh shell console rb ruby perl r make makefile dockerfile docker nginx elixir"],
      [SQL, "sql postgres postgresql sqlite mysql lua haskell"],
      [DATA, "json jsonc json5 yaml yml toml ini env properties"],
    ] as const
  ).flatMap(([language, names]) => names.split(" ").map((name) => [name, language])),
);

const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "abstract and as assert async await break case catch class const continue create declare def default defer del delete do elif else end enum except export extends " +
    "false final finally fn for foreach from func function go group if impl implements import in insert instanceof interface into is join lambda let limit match mod module move mut " +
    "namespace new nil none not null on or order package pass private protected pub public raise return select self set static struct super switch table then this throw " +
    "trait true try type typeof union update use using values var void when where while with yield"
  ).split(" "),
);

/** Put the parts of a block of code into elements of their kinds, if its language is known. */
export function highlight(code: HTMLElement): void {
  const language = LANGUAGES[/(?:^|\s)language-(\S+)/.exec(code.className)?.[1]?.toLowerCase() ?? ""];
  if (language === undefined) return;
  const text = code.textContent ?? "";
  const pattern = new RegExp(`(?<comment>${language.comment})|(?<string>${language.string})|(?<number>${NUMBER})|(?<word>${WORD})`, "gim");
  const parts: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const kind = findKind(match, language, text);
    if (kind === undefined) continue;
    parts.push(text.slice(end, match.index), Object.assign(document.createElement("span"), { className: `code-${kind}`, textContent: match[0] }));
    end = match.index + match[0].length;
  }
  code.replaceChildren(...parts, text.slice(end));
}

function findKind({ groups, index, 0: part }: RegExpExecArray, language: Language, text: string): string | undefined {
  const isField = language.hasFields && /^[ \t]*[:=]/.test(text.slice(index + part.length, index + part.length + 8));
  if (groups?.["comment"] !== undefined) return "comment";
  if (groups?.["string"] !== undefined) return isField ? "field" : "string";
  if (groups?.["number"] !== undefined) return "number";
  if (isField) return "field";
  return KEYWORDS.has(part.toLowerCase()) ? "keyword" : undefined;
}
