/**
 * Splits a command line into words at white space, as a shell does; double quotes keep words together. An inserted value stays
 * unchanged, and a list becomes as many words: cmd`chat ${text} --system "Be brief." ${flags}`.
 */
export function cmd({ raw }: TemplateStringsArray, ...values: readonly unknown[]): string[] {
  const line = raw.reduce((text, piece, at) => `${text}\0${at - 1}\0${piece}`);
  const valueAt = (_: string, at: string) => String(values[Number(at)]);
  return [...line.matchAll(/(?:"[^"]*"|[^\s"])+/g)].flatMap(([word]) => {
    const list = values[Number(/^\0(\d+)\0$/.exec(word)?.[1] ?? Number.NaN)];
    return Array.isArray(list) ? list.map(String) : [word.replaceAll('"', '').replace(/\0(\d+)\0/g, valueAt)];
  });
}
