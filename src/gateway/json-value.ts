// A value of a reply or a body whose shape nobody has checked.

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object with fields: neither null nor a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object's fields; none for anything else. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** `fields` laid over `own`, a value of --body; what is no object stays, for the schema to refuse. */
export const fieldsOver = (own: unknown, fields: Fields): unknown =>
  Object.keys(fields).length === 0 || (own !== undefined && !isObject(own)) ? own : { ...own, ...fields };

/** The `list` made of `own`, a value of --body, and more; an `own` that is no list stays, for the schema to refuse. */
export const listOver = (own: unknown, list: readonly unknown[]): unknown =>
  own === undefined || (Array.isArray(own) && list.length > 0) ? list : own;

/** `body` with `model`, that of --body, where it is no text and no flag replaces it: the schema says what is wrong with it. */
export const withOddModel = (body: Fields, model: unknown, typed: Fields = {}) =>
  model === undefined || typeof model === 'string' || typed.model !== undefined ? body : { ...body, model };
