/** Names that look the same to people, although they are not: they fold to the same text. */

/** Letters of other alphabets that look like Latin ones, and digits that look like letters. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...{ а: "a", в: "b", е: "e", ё: "e", к: "k", м: "m", н: "h", о: "o", р: "p", с: "c", т: "t", у: "y", х: "x", ѕ: "s", і: "i", ї: "i", ј: "j", һ: "h", ԁ: "d", ԛ: "q", ԝ: "w" },
  ...{ α: "a", β: "b", ε: "e", η: "n", ι: "i", κ: "k", μ: "m", ν: "v", ο: "o", ρ: "p", τ: "t", υ: "u", χ: "x" },
  ...{ ı: "i", ł: "l", "0": "o", "1": "l", "|": "l" },
};

/** Return what is left of a name without case, accents, spaces, signs and the alphabet of its letters. */
export function foldName(name: string): string {
  const plain = name.slice(0, 400).normalize("NFKD").toLowerCase();
  const letters = plain.replace(/[^\p{L}\p{N}|]/gu, "").replace(/./gu, (letter) => LOOKALIKES[letter] ?? letter);
  return letters.replaceAll("rn", "m").replaceAll("i", "l");
}
