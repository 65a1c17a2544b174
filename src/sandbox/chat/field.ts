/** The value at a path of a JSON value whose shape is not known; undefined where the path does not lead on. */
export function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

export const textField = (value: unknown, ...path: readonly (string | number)[]): string | undefined => {
  const found = field(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const listField = (value: unknown, ...path: readonly (string | number)[]): readonly unknown[] => {
  const found = field(value, ...path);
  return Array.isArray(found) ? found : [];
};
