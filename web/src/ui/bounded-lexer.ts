/**
 * The lexer of Markdown with a limit to its work.
 *
 * At each character that may begin or end something, the lexer looks through the rest of the paragraph, so that a text
 * which is made for it takes seconds. Here it counts beforehand what it is going to do, and stops at an amount that no
 * person's text needs: the characters of a paragraph for each of its delimiters, and the characters of a block for each
 * level that it is nested in. The same text always comes to the same end, on a slow machine too.
 */

import { Lexer, Tokenizer, type MarkedOptions, type Token, type Tokens, type TokensList } from "marked";

/** Characters that are looked through: about 20 ms. */
const MAX_WORK = 400_000;
/** What a quote or an item of a list takes, and a paragraph, in terms of the same. */
const WORK_PER_BLOCK = 500;
const WORK_PER_PARAGRAPH = 150;
const WORK_PER_CHARACTER = 5;
/** Quotes and lists within each other. */
const MAX_DEPTH = 12;
/** A row that is shorter than the head of its table is filled up. */
const MAX_CELLS = 3_000;
/** An address is written out for each of its links. */
const MAX_ADDRESS = 500;

const DELIMITERS = /[*_~`[\]<\\&@!]|:\/\/|www/g;
/** A line, and one of dashes and pipes below it. */
const TABLE_HEAD = /^[^\n]*\n[ \t]*[|:-][|: \t-]*(?=\n|$)/;

/** A text that takes too long. */
export class HeavyText extends Error {}

export class BoundedLexer extends Lexer<string, string> {
  #work = 0;
  #depth = 0;

  constructor(options: MarkedOptions<string, string>) {
    super({ ...options, tokenizer: new BoundedTokenizer(options) });
  }

  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(source: string, tokens?: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[] {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new HeavyText();
    this.#count(WORK_PER_BLOCK + WORK_PER_CHARACTER * source.length);
    const result = super.blockTokens(source, tokens, isClipped);
    this.#depth -= 1;
    return result;
  }

  override inlineTokens(source: string, tokens?: Token[]): Token[] {
    this.#count(WORK_PER_PARAGRAPH + source.length * (1 + (source.match(DELIMITERS)?.length ?? 0)));
    return super.inlineTokens(source, tokens);
  }

  #count(work: number): void {
    this.#work += work;
    if (this.#work > MAX_WORK) throw new HeavyText();
  }
}

class BoundedTokenizer extends Tokenizer<string, string> {
  override table(source: string): Tokens.Table | undefined {
    const head = TABLE_HEAD.exec(source);
    if (head === null) return undefined;
    const end = source.indexOf("\n\n");
    const rows = (end === -1 ? source : source.slice(0, end)).split("\n").length;
    if (head[0].split("|").length * rows > MAX_CELLS) throw new HeavyText();
    return super.table(source);
  }

  override def(source: string): Tokens.Def | undefined {
    const token = super.def(source);
    if (token !== undefined && token.raw.length > MAX_ADDRESS) throw new HeavyText();
    return token;
  }
}
