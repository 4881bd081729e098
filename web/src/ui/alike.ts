/**
 * Names that look the same to people, although they are not: they fold to the same text. No table has all letters that
 * look alike, so a name that mixes alphabets, or has Latin letters that the table does not know, is marked as well.
 */

/** Letters of other alphabets that look like Latin ones, and digits that look like letters. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...{ а: "a", в: "b", е: "e", ё: "e", к: "k", м: "m", н: "h", о: "o", р: "p", с: "c", т: "t", у: "y", х: "x", ѕ: "s", і: "i", ї: "i", ј: "j", һ: "h", ԁ: "d", ԛ: "q", ԝ: "w" },
  ...{ α: "a", β: "b", ε: "e", η: "n", ι: "i", κ: "k", μ: "m", ν: "v", ο: "o", ρ: "p", τ: "t", υ: "u", χ: "x" },
  ...{ ı: "i", ł: "l", ø: "o", đ: "d", ð: "d", þ: "p", ß: "b", æ: "ae", œ: "oe", ħ: "h", ŋ: "n", "0": "o", "1": "l", "|": "l" },
};

/** Return what is left of a name without case, accents, spaces, signs and the alphabet of its letters. */
export function foldName(name: string): string {
  const plain = name.slice(0, 400).normalize("NFKD").toLowerCase();
  const letters = plain.replace(/[^\p{L}\p{N}|]/gu, "").replace(/./gu, (letter) => LOOKALIKES[letter] ?? letter);
  return letters.replaceAll("rn", "m").replaceAll("vv", "w").replaceAll("i", "l");
}

/** Whether a name may be made to look like another: of several alphabets, or of unusual Latin letters. */
export function isDisguised(name: string): boolean {
  const letters = [...name.slice(0, 400).normalize("NFKD").toLowerCase().replace(/\P{L}/gu, "")];
  const latin = letters.filter((letter) => /\p{Script=Latin}/u.test(letter));
  const isMixed = latin.length > 0 && latin.length < letters.length;
  return isMixed || latin.some((letter) => !/[a-z]/.test(letter) && LOOKALIKES[letter] === undefined);
}
