/** Never: metaphors and archaic words. docs/style.md says what to write instead. */
export const BANNED = wordVariants(
  "tidings tiding tellings desk wish prospects territory occupants tenancy tenure spot sought hounded crew stanza jail specimen arbitraries doorkeeper eyes " +
    "painter scene glass entrant contender hindrance culprit janitor unhurried mend anew seldom whom whoever nobody",
);

/** Words that had several meanings each. One may stand in docs/glossary.md with one meaning; then it is free. */
export const RESTRICTED = wordVariants(
  "held said told seen shown sight look place form standing ground stage word asked bring thing need settle refuse refusal",
);

/** Helpers that belong in one shared file. */
export const SHARED_HELPERS = new Set(["compare", "byAge", "listed", "counted", "codeOf", "secondsBetween", "backoffMs", "pause"]);

const OUR = "behavi|col|fav|flav|harb|hon|hum|lab|neighb|rig|rum|vap|vig";
const DOUBLED = "cancel|channel|dial|fuel|label|level|marshal|model|signal|total|travel|tunnel";
const ISE =
  "anonym|apolog|author|canonical|categor|central|character|custom|digit|emphas|equal|final|formal|general|global|initial|item|local|material|maxim|memor|" +
  "minim|modern|normal|optim|organ|parallel|parameter|penal|priorit|random|real|recogn|sanit|serial|special|stabil|standard|summar|symbol|synchron|token|" +
  "util|virtual|visual";
/** British spellings, wherever they stand: in a word, an identifier or a file name. */
const BRITISH = new RegExp(
  [
    `(?:${OUR})our(?!c|g|n|t)\\w*?`,
    `(?:${DOUBLED})l(?:ed|ing|er)`,
    `(?:${ISE})is(?:e[drs]?|ers|ing|ations?|able)(?![a-z])`,
    "catalogue",
    "judgement",
    "cent(?:re[ds]?|ring)(?![a-z])",
    "(?<![a-z])grey",
    "licence",
    "defence",
    "offence",
    "analys(?:ed?|ing)(?![a-z])",
    "artefact",
    "(?<![a-z])fulfil(?!l)",
    "whilst",
    "amongst",
    "(?<![a-z])learnt",
    "sceptic",
    "manoeuvre",
    "practis(?:e|ed|ing)(?![a-z])",
    "(?<![a-z])ageing",
  ].join("|"),
  "gi",
);

/** In lower case, one for each occurrence. */
export function britishSpellings(text: string): string[] {
  return Array.from(text.matchAll(BRITISH), ([word]) => word.toLowerCase());
}

/** The words of a name in camelCase, kebab-case or snake_case, or of a sentence, in lower case. */
export function wordsIn(text: string): string[] {
  return Array.from(text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g), ([word]) => word.toLowerCase());
}

/** Each form of a word, with the word of the list that it belongs to: `wishes` is a wish. */
function wordVariants(list: string): ReadonlyMap<string, string> {
  const variants = new Map<string, string>();
  for (const word of list.split(" ")) {
    const stem = word.replace(/e$/, "");
    for (const variant of [`${word}s`, `${word}es`, `${word}ed`, `${stem}ed`, `${stem}ing`, word.replace(/s$/, "")])
      variants.set(variant, word);
  }
  for (const word of list.split(" ")) variants.set(word, word);
  return variants;
}
