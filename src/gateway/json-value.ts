// Helpers for a value of a reply or a body whose shape has not been checked.

export type Fields = Readonly<Record<string, unknown>>;

/** True for an object with fields: neither null nor a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object's fields; an empty object for any other value. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Merges `fields` into `own`, a value of --body. If `own` is no object, it stays, so that the schema refuses it. */
export const fieldsOver = (own: unknown, fields: Fields): unknown =>
  Object.keys(fields).length === 0 || (own !== undefined && !isObject(own)) ? own : { ...own, ...fields };

/** Replaces `own`, a value of --body, with `list`. If `own` is not a list, it stays, so that the schema refuses it. */
export const listOver = (own: unknown, list: readonly unknown[]): unknown =>
  own === undefined || (Array.isArray(own) && list.length > 0) ? list : own;

/** Puts a `model` of --body that is not text back, unless a flag replaces it, so that the schema refuses it. */
export const withOddModel = (body: Fields, model: unknown, typed: Fields = {}) =>
  model === undefined || typeof model === 'string' || typed.model !== undefined ? body : { ...body, model };
