const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * The items of a list that stands in JSON text under these names, each as it was written, so that no number is written
 * anew; written from `items` where the list is not to be found or is another one.
 */
export function itemTexts(text: string, names: readonly string[], items: readonly unknown[]): string[] {
  const found = slices(text, names);
  return found.length === items.length ? found : items.map((item) => JSON.stringify(item));
}

/** Walks valid JSON with the path of what it is in: names of objects, and one null for each list. */
function slices(text: string, names: readonly string[]): string[] {
  const path: (string | null)[] = [];
  const found: string[] = [];
  let name = '';
  let before = '';
  let start: number | undefined;
  const isList = () => path.length === names.length + 1 && names.every((each, at) => path[at + 1] === each);
  let lists: boolean[] = [];
  const inList = () => lists.at(-1) === true && isList();
  for (const match of text.matchAll(token)) {
    const [part] = match;
    const { index } = match;
    const closes = part === ']' || part === '}';
    if (inList()) {
      if (part === ',' || part === ']') {
        if (start !== undefined) found.push(text.slice(start, index).trim());
        start = undefined;
      } else start ??= index;
    }
    if (part === '{' || part === '[') {
      path.push(lists.at(-1) === false ? name : null);
      lists = [...lists, part === '['];
    } else if (closes) {
      path.pop();
      lists = lists.slice(0, -1);
    } else if (part === ':') name = JSON.parse(before) as string;
    before = part;
  }
  return found;
}
