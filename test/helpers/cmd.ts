/**
 * The words of a command line, split at white space as a shell does; in double quotes they stay together. A value that is put
 * in stays as it is, and a list is as many words: cmd`chat ${text} --system "Be brief." ${flags}`.
 */
export function cmd({ raw }: TemplateStringsArray, ...values: readonly unknown[]): string[] {
  const line = raw.reduce((text, piece, at) => `${text}\0${at - 1}\0${piece}`);
  const valueAt = (_: string, at: string) => String(values[Number(at)]);
  return [...line.matchAll(/(?:"[^"]*"|[^\s"])+/g)].flatMap(([word]) => {
    const list = values[Number(/^\0(\d+)\0$/.exec(word)?.[1] ?? Number.NaN)];
    return Array.isArray(list) ? list.map(String) : [word.replaceAll('"', '').replace(/\0(\d+)\0/g, valueAt)];
  });
}
