const escapeForRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The parameters of a path that fits a row's pattern (`/tasks/{task_id}`); undefined where it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const source = pattern
    .split(/(\{\w+\})/)
    .map((part) => (/^\{\w+\}$/.test(part) ? `(?<${part.slice(1, -1)}>[^/]+?)` : escapeForRegExp(part)))
    .join('');
  const match = new RegExp(`^${source}$`).exec(path);
  if (!match) return undefined;
  try {
    return Object.fromEntries(
      Object.entries(match.groups ?? {}).map(([name, raw]) => [name, decodeURIComponent(raw)]),
    );
  } catch {
    return undefined;
  }
}
